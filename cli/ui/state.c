/* state.c - parts of the state that several files need. */
#include "cli/ui/ui.h"

#include <stdarg.h>
#include <stdio.h>

struct query_session *ui_session(const struct ui *u)
{
    return u->session != NULL ? &u->session->session : NULL;
}

/* ---- messages ---- */

static void MI_FORMAT(3, 0) say(struct ui *u, bool alarm, const char *fmt, va_list ap)
{
    char text[PROMPT_MAX + 600]; /* it may have a path that was typed */
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
    say(u, false, fmt, ap);
    va_end(ap);
}

void ui_complain(struct ui *u, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(u, true, fmt, ap);
    va_end(ap);
}

/* ---- the selected row of the list ---- */

size_t list_place(const struct ui *u)
{
    size_t n = listing_n(&u->listing);
    if (n == 0)
        return 0;
    if (u->list_cursor.follows)
        return n - 1;
    return size_min(listing_place(&u->listing, u->list_cursor.key), n - 1);
}

bool list_row(const struct ui *u, struct listed *ret)
{
    if (listing_n(&u->listing) == 0)
        return false;
    *ret = listing_row(&u->listing, list_place(u));
    return true;
}

void list_go(struct ui *u, size_t place)
{
    size_t n = listing_n(&u->listing);
    if (n == 0)
        return;
    place = size_min(place, n - 1);
    u->list_cursor.key = listing_row(&u->listing, place).seq;
    u->list_cursor.follows = place == n - 1;
    u->dirty = true;
}
