/* ui.c - `mcp-interposer ui`: shows recorded sessions on the whole screen, live. */
#include "cli/ui/ui.h"

#include "cli/frame/filter.h"
#include "cli/ui/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/frame/recording.h"
#include "cli/look/follow/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define PICTURE_MS 50 /* pause between two drawings: at most 20 drawings a second */
#define STALE_MS 250  /* pause between two drawings while older messages are being read */
#define TICK_MS 1000  /* pause between two drawings while durations of open calls grow */

static const struct opt table_of_options[] = {
    OPT_REQUESTS,
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Shows sessions, their calls or messages, and the details of a call or a message,\n"
    "and follows what is being recorded. The key ? lists all keys; Q quits.\n"
    COMMAND_SESSION_HELP
    "FILE is a recording, as for `import`; its name must contain a `/` or a `.`. FILE\n"
    "is not imported. Without a terminal, use `show`, `tail` and `stats`.\n"
    "A store (--from) is asked every 2 seconds. A store has no running servers and no\n"
    "escalations, and its calls cannot be sent again.\n";
/* clang-format on */

/* ---- the loop ---- */

/* Draws the screen if something has changed, and if enough time has passed since the last drawing.
 * *ret_ms: longest time to wait until the next drawing. */
static int draw_screen_if_changed(struct ui *u, int64_t *drawn_us, int *ret_ms)
{
    int64_t since_ms = (clock_mono_us() - *drawn_us) / 1000;
    *ret_ms = u->ticks ? TICK_MS : WATCH_IDLE_MS;
    if (u->ticks && since_ms >= TICK_MS)
        u->dirty = true;
    if (u->stale && since_ms >= STALE_MS)
        u->dirty = true;
    else if (u->stale && !u->dirty)
        *ret_ms = (int)(STALE_MS - since_ms);
    if (!u->dirty)
        return 0;
    if (since_ms < PICTURE_MS) {
        *ret_ms = (int)(PICTURE_MS - since_ms);
        return 0;
    }
    u->dirty = u->stale = u->ticks = false;
    *drawn_us = clock_mono_us();
    u->store.gives_up = true;
    int st = draw_screen(u);
    u->store.gives_up = false;
    return st;
}

/* Opens the vault if it did not exist when the command started, and exists now. */
static int ui_open_new_vault(struct ui *u)
{
    struct query *q = NULL;
    struct buf error = {0};
    if (query_is_stored(u->q) || query_is_store(u->q))
        return 0;
    int st = query_open(&q, u->vault, &error);
    buf_close(&error);
    if (st == MI_ENOENT)
        return 0;
    if (st < 0)
        return st;
    query_close(u->q);
    u->q = q;
    u->version = -1;
    return 0;
}

/* Handles keys and reads data between two drawings. `looks` is true if the vault may have changed.
 * Sets *more if older data is left to read, and *changes if new data is left to read. */
static int ui_handle_keys_and_read_data(struct ui *u, bool looks, bool *more, bool *changes)
{
    struct press p;
    int st = 0;
    if (screen_resized != 0)
        u->dirty = true;
    while (st == 0 && !u->quit && (central_next_pending_key(u, &p) || screen_read_input(&p)))
        st = act_on_press(u, &p);
    if (st == 0)
        st = deferred_load_selected_session(u, false);
    if (st < 0 || central_must_wait_to_retry(u))
        return st;
    if (looks)
        st = ui_open_new_vault(u);
    if (st == 0 && looks)
        st = feed_read_changes(u, changes);
    if (st == 0 && u->sessions.store == NULL)
        st = problems_update_count(u);
    if (st == 0 && u->seek.on)
        st = seek_run_step(u);
    if (st == 0 && compare_is_incomplete(u))
        st = compare_read_next_rows(u);
    u->uncounted = false;
    if (st == 0)
        st = feed_read_step(u, more);
    *more |= u->seek.on || compare_is_incomplete(u);
    return st;
}

static int ui_run_loop(struct ui *u, struct watch *w)
{
    int64_t drawn_us = clock_mono_us() - PICTURE_MS * 1000;
    bool store = query_is_store(u->q), more = true, changes = false;
    int st = 0, ms;
    u->dirty = true;
    while (st == 0 && !u->quit) {
        st = deferred_load_handle_failure(u, draw_screen_if_changed(u, &drawn_us, &ms));
        if (st < 0 || u->quit)
            break;
        ms = central_must_wait_to_retry(u)                            ? STORE_MS
             : u->store.keys_n > 0 || more || changes || u->uncounted ? 1
                                                                      : ms;
        enum watch_result r = store ? watch_wait_for_input(w, ms) : watch_wait_for_change(w, ms);
        if (r == WATCH_END)
            break;
        st = deferred_load_handle_failure(
            u, ui_handle_keys_and_read_data(u, r == WATCH_LOOK, &more, &changes));
    }
    return st;
}

/* ---- opening ---- */

static int ui_open_vault(struct ui *u, const char *ref)
{
    struct buf error = {0};
    if (!recording_is_file(ref)) {
        central_register_wait_callbacks();
        return session_vault_open(u->settings, &u->q);
    }
    u->file = ref;
    int st = cassette_vault_create(ref, &u->vault, &error);
    if (st == 0)
        st = query_open(&u->q, u->vault, &error);
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    buf_close(&error);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

/* Chooses the session that ref names; if ref is NULL, the newest session. */
static int ui_choose_session(struct ui *u, const char *ref)
{
    struct query_session s;
    int st = query_read_change_counter(u->q, &u->version);
    if (st == 0)
        st = feed_set_filter(u, "");
    if (st < 0 || (ref == NULL && u->sessions.n == 0) || u->file != NULL)
        return st;
    st = query_session(u->q, ref, &s);
    if (st < 0)
        return st;
    st = feed_choose_session(u, s.id);
    u->focus = ref != NULL ? PANE_LIST : PANE_SESSIONS;
    return st;
}

static void ui_close(struct ui *u)
{
    while (u->layers_n > 0)
        stack_close(u);
    show_close(u);
    pair_view_close(u);
    tool_list_close(&u->tools);
    sessions_close(&u->sessions);
    narrowing_close(u);
    page_free(u->session);
    listing_close(&u->listing);
    events_close(u);
    row_cache_close(&u->rows);
    question_close(&u->question);
    buf_close(&u->large);
    buf_close(&u->searched);
    buf_close(&u->message);
    buf_close(&u->scratch);
    cells_close(&u->cells);
    for (size_t i = 0; i < ASKINGS; i++)
        prompt_history_clear(&u->history[i]);
    query_close(u->q);
    if (u->file != NULL && u->vault != NULL)
        cassette_vault_remove(u->vault);
    free(u->vault);
}

static int ui_show_screen(struct ui *u)
{
    struct watch w;
    watch_open(&w, query_vault(u->q));
    w.input = STDIN_FILENO;
    central_set_screen(u);
    w.alarm = &screen_resized;
    u->ascii = screen_is_ascii();
    int st = ui_run_loop(u, &w);
    watch_close(&w);
    central_stop_waiting();
    screen_close();
    return st < 0 ? session_report_query_error(u->q, st) : EXIT_FINE;
}

static int ui_run(const struct settings *s)
{
    struct ui *u = calloc(1, sizeof *u);
    struct buf error = {0};
    const char *ref = s->operands[0];
    if (u == NULL)
        return EXIT_TROUBLE;
    struct sigaction a = {.sa_handler = SIG_DFL};
    /* if SIGCHLD is ignored, waitpid() cannot tell how a command ended */
    sigaction(SIGCHLD, &a, NULL);
    u->settings = s;
    u->requests = settings_is_on(s, "requests");
    stack_open(u, &main_view);
    int status = ui_open_vault(u, ref);
    if (status == EXIT_FINE) {
        int st = ui_choose_session(u, u->file == NULL ? ref : NULL);
        status = st < 0 ? session_report_query_error(u->q, st) : EXIT_FINE;
    }
    if (status == EXIT_FINE && u->vault == NULL)
        u->vault = strdup(query_vault(u->q));
    if (status == EXIT_FINE && screen_open(&error) < 0) {
        log_error("%s", buf_str(&error));
        status = EXIT_USAGE;
    }
    if (status == EXIT_FINE)
        status = ui_show_screen(u);
    ui_close(u);
    buf_close(&error);
    free(u);
    return status;
}

const struct command command_ui = {
    .name = "ui",
    .summary = "browse sessions and calls on the whole screen, live",
    .usage = "[OPTIONS] [SESSION|FILE]",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = ui_run,
};
