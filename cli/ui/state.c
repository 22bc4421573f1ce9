/* state.c - small functions that several files use. */
#include "cli/ui/ui.h"

#include <stdarg.h>
#include <stdio.h>

struct query_session *ui_get_chosen_session(const struct ui *u)
{
    return u->session != NULL ? &u->session->session : NULL;
}

/* ---- messages ---- */

static void MI_FORMAT(3, 0)
    set_status_message(struct ui *u, bool alarm, const char *fmt, va_list ap)
{
    /* large enough for a message with a path that the user has typed */
    char text[PROMPT_MAX + 600];
    buf_clear(&u->message);
    if (vsnprintf(text, sizeof text, fmt, ap) > 0)
        buf_adds(&u->message, text);
    u->alarm = alarm;
    u->dirty = true;
}

void ui_say(struct ui *u, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_status_message(u, false, fmt, ap);
    va_end(ap);
}

void ui_say_error(struct ui *u, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    set_status_message(u, true, fmt, ap);
    va_end(ap);
}
