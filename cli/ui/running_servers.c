/* running_servers.c - the view of all running servers: what each of them is doing now. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "vault/store/running.h"

#include <stdio.h>
#include <stdlib.h>

#define RECENT_MINUTES 5
#define REFRESH_US 1000000

struct server {
    int64_t session, started_at_us;
    char name[80];
    pid_t pid;
    const char *state;           /* by the last event that says one */
    int64_t event, restarts;     /* the last event that was read */
    int64_t open, open_since_us; /* pending calls of the client; the start of the oldest */
    int64_t open_from;           /* all calls before this one have ended */
    int64_t calls, failed;       /* of the last minutes */
};

struct servers {
    struct server *server; /* owned; newest first */
    size_t n;
    struct cursor cursor;     /* its key is a session */
    int64_t read_us, version; /* when it was read, and that version of the vault */
};

/* ---- reading ---- */

static bool on_recent(void *ctx, const struct query_call *c)
{
    struct server *s = ctx;
    if (c->started_at_us < clock_wall_us() - RECENT_MINUTES * 60 * INT64_C(1000000))
        return false; /* as all that follow */
    s->calls++;
    s->failed += call_status_failed(c->status);
    return true;
}

static bool on_open(void *ctx, const struct query_call *c)
{
    struct server *s = ctx;
    if (s->open++ == 0) {
        s->open_since_us = c->started_at_us;
        s->open_from = c->request_seq;
    }
    return true;
}

static int read_calls(struct query *q, struct server *s)
{
    struct filter session = FILTER_ANY;
    struct call_question recent = {.filter = &session, .newest_first = true},
                         open = {.filter = &session};
    session.session_id = s->session;
    s->open = s->calls = s->failed = 0;
    int st = query_calls_of(q, &recent, on_recent, s);
    session.statuses = 1u << CALL_OPEN;
    open.from = query_call_id(s->session, s->open_from);
    return st == 0 ? query_calls_of(q, &open, on_open, s) : st;
}

static int read_events(struct query *q, struct server *s)
{
    static const struct {
        const char *kind, *state;
    } states[] = {
        {"spawn", "running"}, {"alive", "running"},      {"asked", "silent"}, {"hang", "hangs"},
        {"kill", "stopping"}, {"restart", "restarting"}, {"exit", "exited"},
    };
    struct page_row *page = NULL;
    int st = page_events(q, NULL, s->session, s->event, &page);
    for (const struct page_row *e = page; e != NULL; e = e->next) {
        s->event = e->event.id;
        s->restarts += slice_is(e->event.kind, "restart");
        for (size_t i = 0; i < MI_COUNT(states); i++)
            if (slice_is(e->event.kind, states[i].kind))
                s->state = states[i].state;
    }
    page_free(page);
    return st;
}

static struct server *find_server(struct servers *l, int64_t session)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->server[i].session == session)
            return &l->server[i];
    return NULL;
}

static int read_server(struct ui *u, const struct running_row *row, struct server *s)
{
    const struct server *before = find_server(u->servers, row->session_id);
    *s = (struct server){
        .session = row->session_id, .state = "starting", .event = INT64_MIN, .open_from = 1};
    if (before != NULL)
        *s = *before;
    s->started_at_us = row->started_at_us;
    s->pid = row->r.server_pid;
    snprintf(s->name, sizeof s->name, "%s", row->name);
    int st = read_calls(u->q, s);
    return st == 0 ? read_events(u->q, s) : st;
}

/* Reads the servers again if the vault has changed, or a second has passed. */
static int read_servers(struct ui *u)
{
    struct servers *l = u->servers;
    struct running_list rows;
    struct buf error = {0};
    int64_t now_us = clock_mono_us();
    if (l->server != NULL && l->version == u->version && now_us - l->read_us < REFRESH_US)
        return 0;
    int st = running_open(&rows, u->vault, &error);
    buf_close(&error);
    if (st < 0)
        return st;
    struct server *server = calloc(rows.n + 1, sizeof *server);
    size_t n = 0;
    for (size_t i = rows.n; server != NULL && st == 0 && i > 0; i--)
        if (running_look(&rows, &rows.row[i - 1]) == SESSION_LIVE)
            st = read_server(u, &rows.row[i - 1], &server[n++]);
    running_close(&rows);
    free(l->server);
    *l = (struct servers){server, n, l->cursor, now_us, u->version};
    return server != NULL ? st : MI_ENOMEM;
}

/* ---- drawing ---- */

static const struct column columns[] = {
    {"pid", 9, 60, COLUMN_NUMBER, CELLS_PLAIN},
    {"state", 11, 0, COLUMN_TEXT, CELLS_GOOD},
    {"open", 5, 0, COLUMN_NUMBER, CELLS_WAIT},
    {"since", 8, 50, COLUMN_DURATION, CELLS_WAIT},
    {"calls", 6, 40, COLUMN_NUMBER, CELLS_NUMBER},
    {"failed", 7, 32, COLUMN_NUMBER, CELLS_BAD},
    {"restarts", 9, 70, COLUMN_NUMBER, CELLS_BAD},
    {"up", 8, 76, COLUMN_DURATION, CELLS_DIM},
    {0},
};

static void server_cells(struct ui *u, const struct server *s)
{
    int64_t now_us = clock_wall_us();
    const struct column_value values[] = {
        {.n = s->pid},
        {0, slice_of(s->state), strcmp(s->state, "running") == 0 ? CELLS_GOOD : CELLS_BAD},
        {.n = s->open},
        {.n = s->open > 0 ? now_us - s->open_since_us : -1},
        {.n = s->calls},
        {.n = s->failed},
        {.n = s->restarts},
        {.n = now_us - s->started_at_us},
    };
    draw_columns(u, columns, slice_of(s->name), values);
}

static size_t server_place(const struct servers *l)
{
    size_t i = 0;
    while (i < l->n && l->server[i].session != l->cursor.key)
        i++;
    return i < l->n ? i : 0;
}

static int draw_servers(struct ui *u, const struct area *a)
{
    struct servers *l = u->servers;
    int st = read_servers(u);
    if (st < 0)
        return st;
    size_t at = server_place(l), height = a->height - LIST_HEAD;
    size_t top = cursor_top(&l->cursor, l->n, at, height);
    u->ticks = true;
    draw_caption(u, a, u->focus, "%zu running server%s; calls of the last %d minutes", l->n,
                 l->n == 1 ? "" : "s", RECENT_MINUTES);
    for (size_t i = 0; i <= height && top + i <= l->n; i++) { /* the titles first */
        cells_begin(&u->cells, 0, a->width, u->ascii);
        cells_blank(&u->cells, 1);
        if (i == 0)
            draw_columns(u, columns, slice_of("server"), NULL);
        else
            server_cells(u, &l->server[top + i - 1]);
        draw_line(u, a, 1 + i, i > 0 && top + i - 1 == at ? SCREEN_CHOSEN : SCREEN_NORMAL);
    }
    return 0;
}

/* ---- keys ---- */

static int servers_move(struct ui *u, enum motion m, int by)
{
    struct servers *l = u->servers;
    size_t to = move_cursor(&l->cursor, l->n, server_place(l), m, by);
    l->cursor.key = to < l->n ? l->server[to].session : 0;
    return 0;
}

static int servers_key(struct ui *u, enum action x)
{
    const struct servers *l = u->servers;
    if (x != ACTION_OPEN)
        return VIEW_UNKNOWN;
    if (l->n == 0)
        return 0;
    int64_t id = l->server[server_place(l)].session;
    stack_open_main(u, PANE_LIST);
    int st = u->filtered ? feed_filter(u, "") : 0;
    return st == 0 ? feed_choose(u, id) : st;
}

static void servers_close(struct ui *u)
{
    free(u->servers->server);
    free(u->servers);
    u->servers = NULL;
}

int servers_open(struct ui *u)
{
    stack_drop(u, &servers_view);
    u->servers = calloc(1, sizeof *u->servers);
    if (u->servers == NULL)
        return MI_ENOMEM;
    stack_open(u, &servers_view);
    return 0;
}

static const struct hint hints[] = {{ACTION_OPEN, "its calls"}, {ACTION_NONE, NULL}};

const struct view_ops servers_view = {
    .draw = draw_servers,
    .move = servers_move,
    .key = servers_key,
    .close = servers_close,
    .hints = {hints},
};
