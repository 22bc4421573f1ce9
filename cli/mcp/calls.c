/* calls.c - the tool list_calls. */
#include "cli/mcp/rows.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/frame/preview.h"
#include "cli/frame/session.h"

#include <stdlib.h>

#define KEPT (ROWS_LIMIT_MAX + 1)     /* calls of a session; one more than a page has */
#define LARGE_HEAD ((size_t)16 << 10) /* bytes of a large body that are read for its beginning */

/* A call with what its row needs. */
struct kept {
    struct query_call call; /* without method and target */
    char method[SHOWN_NAME + 1], target[SHOWN_NAME + 1];
    size_t method_n, target_n;
};

struct listing {
    struct rows rows;
    enum call_status status; /* CALL_UNKNOWN: any */
    const struct query_session *session;
    struct kept *
        kept; /* owned; 2 * KEPT, of the session; the first `sorted` of them are the newest so far */
    size_t n, sorted;
    struct buf large, brief; /* owned; scratch */
    int error;
};

static struct tool_call *call_of(struct listing *l)
{
    return l->rows.c;
}

/* ---- the newest calls of a session ---- */

static int newest_first(const void *a, const void *b)
{
    const struct kept *x = a, *y = b;
    return x->call.request_seq < y->call.request_seq ? 1 : -1;
}

static void sort_kept(struct listing *l)
{
    qsort(l->kept, l->n, sizeof *l->kept, newest_first);
    l->sorted = l->n = size_min(l->n, KEPT);
}

static size_t copy(char *to, struct slice text)
{
    struct slice head = text_head(text, SHOWN_NAME);
    if (head.n > 0)
        memcpy(to, head.p, head.n);
    return head.n;
}

static bool is_wanted(struct listing *l, const struct query_call *call)
{
    const struct filter *f = &call_of(l)->filter;
    const struct rows_place *first = &l->rows.first;
    if (first->session == l->session->id && first->n != 0 && call->request_seq > first->n)
        return false;
    if (l->sorted == KEPT && call->request_seq < l->kept[KEPT - 1].call.request_seq)
        return false;
    return filter_at(f, l->session->started_at_us + call->t_us) &&
           filter_call(f, call->method, call->target) &&
           (!f->failed || call_status_failed(call->status)) &&
           (l->status == CALL_UNKNOWN || l->status == call->status);
}

static bool on_call(void *ctx, const struct query_call *call)
{
    struct listing *l = ctx;
    if (!is_wanted(l, call))
        return true;
    if (l->n == 2 * KEPT)
        sort_kept(l);
    struct kept *k = &l->kept[l->n++];
    k->call = *call;
    k->method_n = copy(k->method, call->method);
    k->target_n = copy(k->target, call->target);
    return true;
}

/* ---- rows ---- */

static bool add_brief(void *ctx, const struct query_message *m)
{
    struct listing *l = ctx;
    const char *error;
    struct slice body;
    l->error =
        session_body(call_of(l)->q, l->session->uid, m, LARGE_HEAD, &l->large, &body, &error);
    if (body.p != NULL)
        preview_add(&l->brief, m, body, SHOWN_BRIEF);
    return false;
}

/* Adds the beginning of a message to both forms. */
static int add_body(struct listing *l, const char *name, int64_t seq)
{
    struct tool_call *c = call_of(l);
    buf_clear(&l->brief);
    if (seq == 0)
        return 0;
    int st = query_timeline(c->q, l->session->id, seq, seq, add_brief, NULL, l);
    struct slice brief = buf_slice(&l->brief);
    st = st == 0 ? l->error : st;
    if (st < 0 || brief.n == 0)
        return st;
    shown_member(&c->j, name, brief, SHOWN_BRIEF);
    buf_printf(&c->text, " %s ", name);
    shown_quoted(&c->text, brief, SHOWN_BRIEF);
    return l->brief.failed ? MI_ENOMEM : 0;
}

static int add_call(struct listing *l, const struct kept *k)
{
    struct tool_call *c = call_of(l);
    const struct query_call *x = &k->call;
    struct slice method = {k->method, k->method_n}, target = {k->target, k->target_n};
    int64_t at_us = l->session->started_at_us + x->t_us;
    char at[CLOCK_TEXT_MAX];
    clock_utc_text(at_us, at);
    json_out_int(&c->j, "session", l->session->id);
    json_out_int(&c->j, "seq", x->request_seq);
    shown_member(&c->j, "server", l->session->name.n > 0 ? l->session->name : slice_of("-"),
                 SHOWN_NAME);
    shown_member(&c->j, "method", method, SHOWN_NAME);
    shown_member(&c->j, "target", target, SHOWN_NAME);
    json_out_str(&c->j, "status", call_status_name(x->status));
    json_out_str(&c->j, "at", at);
    shown_ms(&c->j, "duration_ms", x->duration_us);
    json_out_int(&c->j, "request_bytes", x->request_size);
    json_out_int(&c->j, "answer_bytes", x->response_size);
    if (x->closing_seq != 0)
        json_out_int(&c->j, "answer_seq", x->closing_seq);

    buf_printf(&c->text, "session %lld seq %lld %s ", (long long)l->session->id,
               (long long)x->request_seq, at);
    shown_quoted(&c->text, l->session->name, SHOWN_NAME);
    buf_addc(&c->text, ' ');
    shown_quoted(&c->text, method, SHOWN_NAME);
    if (k->target_n > 0) {
        buf_addc(&c->text, ' ');
        shown_quoted(&c->text, target, SHOWN_NAME);
    }
    buf_printf(&c->text, " %s", call_status_name(x->status));
    if (x->duration_us >= 0) {
        buf_adds(&c->text, " in ");
        units_show_duration(&c->text, x->duration_us);
    }
    int st = add_body(l, "arguments", x->request_seq);
    return st < 0 ? st : add_body(l, "answer", x->closing_seq);
}

/* false: the page is full, or an error. */
static bool add_session(struct listing *l)
{
    bool more = true;
    sort_kept(l);
    for (size_t i = 0; l->error == 0 && more && i < l->n; i++) {
        if (rows_begin(&l->rows, l->session->id, l->kept[i].call.request_seq))
            l->error = add_call(l, &l->kept[i]);
        more = rows_end(&l->rows);
    }
    return more && l->error == 0;
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct listing *l = ctx;
    struct rows *r = &l->rows;
    if (rows_is_late(r, s->id, 0))
        return false;
    l->session = s;
    l->n = l->sorted = 0;
    l->error = query_calls(r->c->q, s->id, on_call, l);
    return l->error == 0 && tool_goes_on(r->c) && add_session(l);
}

int tool_list_calls(struct tool_call *c)
{
    const char *status = tool_text(c, "status");
    struct listing l = {.status = status != NULL ? value_of(&call_statuses, slice_of(status))
                                                 : CALL_UNKNOWN};
    int st = rows_open(&l.rows, c, "calls", ROWS_LIMIT);
    if (st < 0)
        return st;
    l.kept = calloc(2 * KEPT, sizeof *l.kept);
    if (l.kept == NULL)
        return MI_ENOMEM;
    c->filter.up_to_id = l.rows.first.session;
    st = query_sessions_of(c->q, &c->filter, FILTER_HOLDS, 0, on_session, &l);
    rows_close(&l.rows, "No matching call is recorded");
    free(l.kept);
    buf_close(&l.large);
    buf_close(&l.brief);
    return st < 0 ? st : l.error;
}
