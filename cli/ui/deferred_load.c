/* deferred_load.c - `ui --from`: loads the session under the cursor when no key is ready to be
 * read. Loads the session again after an error of the store. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/text.h"

/* Drops the data of the session, so that all of it is read again. */
static int deferred_load_drop_session(struct ui *u, int64_t id)
{
    int st = feed_choose_session(u, 0);
    u->session_cursor.key = id;
    u->store.chooses = id != 0;
    return st;
}

int deferred_load_selected_session(struct ui *u, bool now)
{
    struct central *s = &u->store;
    int64_t id = u->session_cursor.key;
    if (!s->chooses || (!now && (central_has_pending_key(u) || central_must_wait_to_retry(u))))
        return 0;
    s->chooses = false;
    s->gives_up = !now;
    int st = feed_choose_session(u, id);
    s->gives_up = false;
    u->dirty = true;
    return st < 0 && central_clear_interruption(u) ? deferred_load_drop_session(u, id) : st;
}

int deferred_load_handle_failure(struct ui *u, int st)
{
    struct buf text = {0};
    if (u->sessions.store == NULL || st != MI_ESTORE || u->quit)
        return u->quit && st == MI_ESTORE ? 0 : st;
    if (central_clear_interruption(u))
        return 0;
    text_append_visible(&text, slice_of(query_error(u->q)));
    buf_adds(&text, "; trying again");
    u->seek.on = false;
    u->store.failed_us = clock_mono_us();
    st = deferred_load_drop_session(u, u->session_cursor.key);
    /* Shows the error at once, because the next drawing may fail as well. */
    screen_show_notice(buf_str(&text));
    ui_say_error(u, "%s", buf_str(&text));
    buf_close(&text);
    return st;
}
