#include "cli/doctor/checks.h"

#include "base/json_out.h"

#include <stdarg.h>
#include <stdio.h>

#define TEXT_MAX 8192
#define INDENT 21 /* columns before the text */

static void add_json(struct doctor *d, const char *check, const char *remedy, const char *text)
{
    struct json_out j = json_out_to(&d->out.b);
    json_out_object(&j, NULL);
    json_out_str(&j, "type", "check");
    json_out_str(&j, "check", check);
    json_out_str(&j, "state", remedy != NULL ? "found" : "ok");
    json_out_str(&j, "text", text);
    json_out_str(&j, "remedy", remedy);
    json_out_end(&j);
    out_end_line(&d->out);
}

static void add(struct doctor *d, const char *check, const char *remedy, const char *text)
{
    struct out *o = &d->out;
    if (d->json) {
        add_json(d, check, remedy, text);
        return;
    }
    out_words(o, remedy != NULL ? OUT_RED : OUT_GREEN, remedy != NULL ? "found" : "ok   ");
    out_printf(o, "  %-13s ", check);
    size_t from = o->b.n;
    out_text(o, slice_of(text));
    out_fill_line(o, from, INDENT);
    if (remedy == NULL)
        return;
    out_printf(o, "%*sto do: ", INDENT, "");
    out_style(o, OUT_BOLD);
    from = o->b.n;
    out_text(o, slice_of(remedy));
    out_fill_line(o, from, INDENT + 7);
    out_style(o, OUT_PLAIN);
}

void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    add(d, check, NULL, text);
}

void doctor_found(struct doctor *d, const char *check, const char *remedy, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    d->found++;
    add(d, check, remedy, text);
}
