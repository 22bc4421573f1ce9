/* central.c - `ui --from`: waits for the answers of a store, and knows the functions that a store
 * does not support.
 *
 * A request to a store takes as long as the network and the server need. Keys that are pressed
 * meanwhile are handled later; only Q and Control-C end ui at once. After WAIT_SHOWN_US, the last
 * line says that ui waits for the store. After a key is pressed, ui sends no further request for a
 * reading that only draws the screen, or that loads a session which the cursor only passes. If the
 * store reports an error, the last lines show the error. Every STORE_MS, ui asks the store for
 * changes, and reads the chosen session again. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/look/follow/watch.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#define WAIT_SHOWN_US 500000

static struct ui *waiting; /* the ui whose screen is open; NULL: none */

bool central_has_pending_key(const struct ui *u)
{
    struct pollfd p = {STDIN_FILENO, POLLIN, 0};
    return u->store.keys_n > 0 || poll(&p, 1, 0) > 0;
}

static bool central_on_query_begin(void)
{
    if (waiting == NULL)
        return false;
    struct central *s = &waiting->store;
    s->asked_us = clock_mono_us();
    s->gave_up = s->gives_up && central_has_pending_key(waiting);
    return s->gave_up || waiting->quit;
}

static bool central_read_keys_during_query(void)
{
    char text[80];
    struct press p;
    struct ui *u = waiting;
    if (u == NULL)
        return watch_is_stopped();
    struct central *s = &u->store;
    int64_t waited_us = clock_mono_us() - s->asked_us;
    while (screen_read_input(&p)) {
        if (s->keys_n < STORE_KEYS)
            s->key[s->keys_n++] = p;
        u->quit |= u->asking == ASK_NOTHING && !p.pasted && keys_find_action(p.key) == ACTION_QUIT;
    }
    if (waited_us > WAIT_SHOWN_US) {
        snprintf(text, sizeof text, "waiting for the store: %lld s (Q quits)",
                 (long long)(waited_us / 1000000));
        screen_show_notice(text);
        u->dirty = true;
    }
    return u->quit || watch_is_stopped();
}

void central_register_wait_callbacks(void)
{
    session_set_store_wait_hooks(
        (struct session_wait){central_on_query_begin, central_read_keys_during_query});
}

void central_set_screen(struct ui *u)
{
    waiting = u;
}

void central_stop_waiting(void)
{
    waiting = NULL;
}

bool central_next_pending_key(struct ui *u, struct press *ret)
{
    struct central *s = &u->store;
    if (s->keys_n == 0)
        return false;
    *ret = s->key[0];
    memmove(s->key, s->key + 1, --s->keys_n * sizeof s->key[0]);
    return true;
}

bool central_clear_interruption(struct ui *u)
{
    bool yes = u->store.gave_up;
    u->store.gave_up = false;
    u->dirty |= yes;
    return yes;
}

void central_note_success(struct ui *u)
{
    if (u->store.failed_us == 0)
        return;
    u->store.failed_us = 0;
    buf_clear(&u->message);
    u->alarm = false;
}

bool central_must_wait_to_retry(const struct ui *u)
{
    return u->store.failed_us != 0 && clock_mono_us() - u->store.failed_us < STORE_MS * 1000;
}

const char *central_explain_unavailable(const struct ui *u, enum action x)
{
    if (u->sessions.store == NULL)
        return NULL;
    switch (x) {
    case ACTION_SERVERS:
    case ACTION_LISTS:
        return "a store does not know which servers run: use ui on the machine that runs them";
    case ACTION_PROBLEMS:
    case ACTION_DONE:
        return "a store has no escalations: they are on the machine that records";
    case ACTION_SEND:
    case ACTION_SEND_EDITED:
        return "requests in a store cannot be sent again from here: use ui or send on the machine "
               "that recorded them";
    default:
        return NULL;
    }
}
