#include "cli/doctor.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX 8192

static void tell_json(struct doctor *d, const char *check, const char *remedy, const char *text)
{
    struct buf *b = &d->out.b;
    buf_adds(b, "{\"type\":\"check\",\"check\":");
    text_json(b, slice_of(check));
    buf_printf(b, ",\"state\":\"%s\",\"text\":", remedy != NULL ? "found" : "ok");
    text_json(b, slice_of(text));
    buf_adds(b, ",\"remedy\":");
    if (remedy != NULL)
        text_json(b, slice_of(remedy));
    else
        buf_adds(b, "null");
    buf_addc(b, '}');
    out_end_line(&d->out);
}

static void tell(struct doctor *d, const char *check, const char *remedy, const char *text)
{
    struct out *o = &d->out;
    if (d->json) {
        tell_json(d, check, remedy, text);
        return;
    }
    out_words(o, remedy != NULL ? OUT_RED : OUT_GREEN, remedy != NULL ? "found" : "ok   ");
    out_printf(o, "  %-12s ", check);
    out_text(o, slice_of(text));
    out_end_line(o);
    if (remedy == NULL)
        return;
    out_printf(o, "%20sto do: ", "");
    out_style(o, OUT_BOLD);
    out_text(o, slice_of(remedy));
    out_style(o, OUT_PLAIN);
    out_end_line(o);
}

void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    tell(d, check, NULL, text);
}

void doctor_found(struct doctor *d, const char *check, const char *remedy, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    d->found++;
    tell(d, check, remedy, text);
}
