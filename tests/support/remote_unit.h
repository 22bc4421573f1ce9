/* A store of two vaults in memory, for vault/remote. */
#ifndef MI_TESTS_SUPPORT_REMOTE_UNIT_H
#define MI_TESTS_SUPPORT_REMOTE_UNIT_H

#include "tests/support/unit.h"

#include "vault/query/connection.h"

#include <stdio.h>
#include <stdlib.h>

#define SESSIONS 200
#define MESSAGES 3000
#define BODY 30000 /* bytes */
#define BACK 500   /* an answer comes this many messages after its request */

struct store {
    int sessions, messages;
    int asked, fails_at; /* fails_at: this call of `read` fails; 0: none */
    int error;
    int bodies; /* asked for with bodies */
    int scans;  /* messages were asked for */
    int named;  /* sessions asked for by their name */
    bool closed;
};

static void uid_of(int i, char ret[27])
{
    snprintf(ret, 27, "01M82W32%018d", i);
}

static struct cell number(int64_t v)
{
    return (struct cell){.type = CELL_INT, .number = v};
}

static struct cell text(const char *v)
{
    return (struct cell){.type = CELL_TEXT, .text = slice_of(v)};
}

static bool before(const char *uid, struct slice end)
{
    char text[64] = {0};
    assert_true(end.n < sizeof text);
    memcpy(text, end.p, end.n);
    return strcmp(uid, text) < 0;
}

/* The ids in each of the two vaults are 1, 2, …; servers are `even` and `odd`. */
static int read_sessions(struct store *s, const struct remote_ask *ask, remote_row_fn fn,
                         void *fn_ctx)
{
    int64_t n = 0;
    s->named += ask->name.p != NULL;
    for (int k = 0; k < s->sessions && n < ask->rows; k++) {
        int i = ask->backwards ? s->sessions - 1 - k : k;
        const char *name = i % 2 == 0 ? "even" : "odd";
        char uid[27];
        uid_of(i, uid);
        struct slice u = slice_of(uid);
        if ((ask->first.p != NULL && before(uid, ask->first)) ||
            (ask->before.p != NULL && !before(uid, ask->before)) ||
            (ask->name.p != NULL && !slice_is(ask->name, name)) ||
            (ask->number != 0 && ask->number != i / 2 + 1))
            continue;
        struct cell cell[REMOTE_CELLS_MAX] = {text(i % 2 == 0 ? "VAULT0" : "VAULT1"),
                                              {.type = CELL_TEXT, .text = u},
                                              number(i / 2 + 1),
                                              text(name),
                                              text("[]")};
        cell[10] = number(1000 * i);
        cell[14] = number(1);
        cell[15] = text("host");
        cell[16] = text("full");
        cell[17] = text("1.0");
        cell[23] = number(0);
        n++;
        int st = fn(fn_ctx, cell);
        if (st < 0)
            return st;
    }
    return 0;
}

/* Message seq is a request, and an answer to message seq - BACK from there on. */
static int read_messages(struct store *s, const struct remote_ask *ask, remote_row_fn fn,
                         void *fn_ctx)
{
    int64_t n = 0, sizes = 0;
    s->bodies += ask->bodies;
    s->scans++;
    for (int64_t k = 1; k <= s->messages && n < ask->rows && (!ask->bodies || sizes < REMOTE_BYTES);
         k++) {
        int64_t seq = ask->backwards ? s->messages + 1 - k : k;
        if (seq < ask->from || seq > ask->to)
            continue;
        static char body[BODY];
        char method[24];
        snprintf(method, sizeof method, "m%lld", (long long)seq);
        (void)snprintf(body, sizeof body, "{\"seq\":%lld}", (long long)seq);
        bool answer = seq > BACK;
        struct cell cell[REMOTE_CELLS_MAX] = {number(seq),
                                              number(10 * seq),
                                              text(answer ? "s2c" : "c2s"),
                                              text("peer"),
                                              text(answer ? "result" : "request"),
                                              text("1"),
                                              {.type = CELL_NULL}};
        if (!answer)
            cell[6] = text(method);
        if (ask->bodies)
            cell[8] = (struct cell){.type = CELL_TEXT, .text = {body, BODY}};
        cell[11] = number(BODY);
        cell[12] = number(0);
        cell[13] = text("forwarded");
        if (answer)
            cell[14] = number(seq - BACK);
        n++;
        sizes += BODY;
        int st = fn(fn_ctx, cell);
        if (st < 0)
            return st;
    }
    return 0;
}

/* Sessions have different numbers of calls; some have none, and some more than a page. Every second message is a request. The
 * last call of an odd session is open. */
static int calls_n(int session)
{
    return session % 10 == 7 ? REMOTE_ROWS + 10 * session : session % 10;
}

static int read_calls(const struct remote_ask *ask, remote_row_fn fn, void *fn_ctx)
{
    int64_t n = 0;
    for (size_t place = 0; place <= ask->more_n; place++) {
        struct slice uid = place == 0 ? ask->session : ask->more[place - 1];
        char digits[19] = {0};
        assert_int_equal(uid.n, 26);
        memcpy(digits, uid.p + 8, 18);
        int calls = calls_n(atoi(digits));
        for (int k = 1; k <= calls && n < ask->rows; k++) {
            int64_t seq = 2 * (ask->backwards ? calls + 1 - k : k) - 1;
            if (place == 0 && (seq < ask->from || seq > ask->to))
                continue;
            bool open = k == calls && atoi(digits) % 2 != 0;
            const struct cell cell[REMOTE_CELLS_MAX] = {number((int64_t)place),
                                                        number(seq),
                                                        number(seq + 1),
                                                        text("c2s"),
                                                        text("peer"),
                                                        text("tools/call"),
                                                        text(digits),
                                                        text(open ? "open" : "ok"),
                                                        {.type = CELL_NULL},
                                                        number(10 * seq),
                                                        number(10),
                                                        number(100),
                                                        number(200),
                                                        {.type = CELL_NULL}};
            n++;
            int st = fn(fn_ctx, cell);
            if (st < 0)
                return st;
        }
    }
    return 0;
}

/* What read_calls() has. Odd sessions have a message more, which is not a call. */
static int read_summaries(const struct remote_ask *ask, remote_row_fn fn, void *fn_ctx)
{
    assert_int_equal(ask->rows, 1 + ask->more_n);
    for (size_t place = 0; place <= ask->more_n; place++) {
        char digits[19] = {0};
        memcpy(digits, (place == 0 ? ask->session : ask->more[place - 1]).p + 8, 18);
        int i = atoi(digits), calls = calls_n(i), last = 2 * calls + i % 2;
        const struct cell cell[REMOTE_CELLS_MAX] = {number((int64_t)place),
                                                    number(last),
                                                    number(10 * last),
                                                    number(i % 3 == 0),
                                                    number(0),
                                                    number(calls - i % 2),
                                                    number(0),
                                                    number(0),
                                                    number(0),
                                                    number(0),
                                                    number(0),
                                                    number(0),
                                                    number(0),
                                                    number(i % 2)};
        int st = fn(fn_ctx, cell);
        if (st < 0)
            return st;
    }
    return 0;
}

static int read_store(void *ctx, const struct remote_ask *ask, remote_row_fn fn, void *fn_ctx)
{
    struct store *s = ctx;
    assert_true(ask->rows > 0 && ask->rows <= REMOTE_ROWS);
    if (++s->asked == s->fails_at)
        return s->error;
    if (ask->table == REMOTE_SESSIONS)
        return read_sessions(s, ask, fn, fn_ctx);
    if (ask->table == REMOTE_CALLS)
        return read_calls(ask, fn, fn_ctx);
    if (ask->table == REMOTE_SUMMARIES)
        return read_summaries(ask, fn, fn_ctx);
    return ask->table == REMOTE_MESSAGES ? read_messages(s, ask, fn, fn_ctx) : 0;
}

static int read_body(void *ctx, struct slice vault, struct slice session, int64_t seq, size_t max,
                     struct buf *ret)
{
    (void)ctx;
    buf_printf(ret, "%.*s %.*s %lld %zu", (int)vault.n, vault.p, (int)session.n, session.p,
               (long long)seq, max);
    return 0;
}

/* Each message of each session matches. */
static int search_store(void *ctx, const struct remote_words *ask, remote_row_fn fn, void *fn_ctx)
{
    struct store *s = ctx;
    int64_t n = 0;
    assert_string_equal(ask->match, "'red'");
    s->asked++;
    for (int i = s->sessions; i-- > 0;) {
        char uid[27];
        uid_of(i, uid);
        bool last = slice_is(ask->last, uid);
        if (before(uid, ask->first) || (!last && !before(uid, ask->last)))
            continue;
        for (int64_t seq = s->messages; seq > 0 && n < ask->rows; seq--) {
            const struct cell cell[] = {text(uid), number(seq)};
            if (last && seq >= ask->before)
                continue;
            n++;
            int st = fn(fn_ctx, cell);
            if (st < 0)
                return st;
        }
    }
    return 0;
}

static const char *error_of(void *ctx)
{
    (void)ctx;
    return "the line is cut";
}

static void close_store(void *ctx)
{
    ((struct store *)ctx)->closed = true;
}

static int several(void *ctx, bool *ret)
{
    *ret = ((struct store *)ctx)->sessions > 1;
    return 0;
}

static struct query *open_store(struct store *s)
{
    struct remote_store store = {s,        read_store, read_body, several, search_store,
                                 error_of, close_store};
    struct query *q = NULL;
    assert_int_equal(query_open_store(&q, &store, "store"), 0);
    return q;
}

#endif
