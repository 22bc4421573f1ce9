/* copy.c - copies the selection to the clipboard, or passes it to other programs. */
#include "cli/ui/ui.h"

/* Appends the selected text to b, and a name for the text (the UID, a message, a value) to `name`.
 * If nothing is selected, shows the reason in the message line and returns false. */
static bool append_selected_text(struct ui *u, enum detail_copy what, struct buf *b,
                                 struct buf *name)
{
    struct shown *s = &u->shown;
    if (ui_get_chosen_session(u) == NULL)
        return false;
    if (u->focus == PANE_SESSIONS) {
        buf_adds(name, "the UID");
        buf_slice_add(b, ui_get_chosen_session(u)->uid);
    } else if (u->focus == PANE_LIST) {
        bool shown = show_selected_row(u, s->columns != 0 ? s->columns : 80) == 0, message;
        message = shown && s->subject.messages_n > 0;
        buf_adds(name, message ? "the message" : "the event");
        if (shown)
            buf_slice_add(b, message ? s->message[0].body : s->subject.post_mortem);
    } else if (s->doc == NULL || detail_copy(s->doc, s->at, what, b) < 0) {
        ui_say_error(u, "this line has nothing to copy with this key");
    } else if (what == DETAIL_COPY_BODY) {
        buf_printf(name, "message %lld", (long long)detail_seq_at_line(s->doc, s->at));
    } else {
        buf_adds(name, what == DETAIL_COPY_VALUE ? "the value" : "the pointer");
    }
    if (b->n == 0 && u->message.n == 0)
        ui_say_error(u, "this line has no text to copy");
    return b->n > 0;
}

void copy_selected_text(struct ui *u, enum detail_copy what)
{
    struct buf b = {0}, name = {0};
    bool found = append_selected_text(u, what, &b, &name);
    if (found &&
        (outside_copy_with_tmux(u, buf_slice(&b)) || screen_copy_to_clipboard(buf_slice(&b))))
        ui_say(u, "copied %s, %zu bytes", buf_str(&name), b.n);
    else if (found)
        ui_say_error(u, "%zu bytes are more than a terminal accepts (%zu); the key e writes a file",
                     b.n, SCREEN_COPY_MAX);
    buf_close(&b);
    buf_close(&name);
}

void show_selected_text_in_pager(struct ui *u, const char *command)
{
    struct buf b = {0}, name = {0};
    if (append_selected_text(u, DETAIL_COPY_VALUE, &b, &name))
        outside_show_text(u, buf_slice(&b), command);
    buf_close(&b);
    buf_close(&name);
}
