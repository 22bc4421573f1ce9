/* calls.c - the tool list_calls. */
#include "cli/mcp/rows.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/frame/preview.h"
#include "cli/frame/session.h"

#include <stdlib.h>

#define LARGE_HEAD ((size_t)16 << 10) /* bytes of a large body that are read for its beginning */

struct kept_name {
    char text[SHOWN_NAME + 1];
    size_t n;
};

/* A call with what its row needs. */
struct kept {
    struct query_call call; /* without texts */
    struct kept_name server, method, target;
};

struct listing {
    struct rows rows;
    struct query_session session; /* of the row */
    struct kept *kept;            /* owned; one more than a page has */
    size_t n;
    struct buf large, brief; /* owned; scratch */
    int error;
};

static struct tool_call *call_of(struct listing *l)
{
    return l->rows.c;
}

/* ---- the calls of the page ---- */

static struct kept_name keep_name(struct slice text)
{
    struct slice head = text_head(text, SHOWN_NAME);
    struct kept_name name = {.n = head.n};
    if (head.n > 0)
        memcpy(name.text, head.p, head.n);
    return name;
}

static struct slice name_of(const struct kept_name *name)
{
    return (struct slice){name->text, name->n};
}

static bool on_call(void *ctx, const struct query_call *c)
{
    struct listing *l = ctx;
    l->kept[l->n++] = (struct kept){
        .call = *c,
        .server = keep_name(c->server),
        .method = keep_name(c->method),
        .target = keep_name(c->target),
    };
    return (int64_t)l->n <= l->rows.limit;
}

/* ---- rows ---- */

static bool add_brief(void *ctx, const struct query_message *m)
{
    struct listing *l = ctx;
    const char *error;
    struct slice body;
    l->error = session_body(call_of(l)->q, l->session.uid, m, LARGE_HEAD, &l->large, &body, &error);
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
    int st = query_timeline(c->q, l->session.id, seq, seq, add_brief, NULL, l);
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
    char at[CLOCK_TEXT_MAX];
    clock_utc_text(x->started_at_us, at);
    json_out_int(&c->j, "session", x->session_id);
    json_out_int(&c->j, "seq", x->request_seq);
    shown_member(&c->j, "server", k->server.n > 0 ? name_of(&k->server) : slice_of("-"),
                 SHOWN_NAME);
    shown_member(&c->j, "method", name_of(&k->method), SHOWN_NAME);
    shown_member(&c->j, "target", name_of(&k->target), SHOWN_NAME);
    json_out_str(&c->j, "status", call_status_name(x->status));
    json_out_str(&c->j, "at", at);
    shown_ms(&c->j, "duration_ms", x->duration_us);
    json_out_int(&c->j, "request_bytes", x->request_size);
    json_out_int(&c->j, "answer_bytes", x->response_size > 0 ? x->response_size : 0);
    if (x->closing_seq != 0)
        json_out_int(&c->j, "answer_seq", x->closing_seq);

    buf_printf(&c->text, "session %lld seq %lld %s ", (long long)x->session_id,
               (long long)x->request_seq, at);
    shown_quoted(&c->text, name_of(&k->server), SHOWN_NAME);
    buf_addc(&c->text, ' ');
    shown_quoted(&c->text, name_of(&k->method), SHOWN_NAME);
    if (k->target.n > 0) {
        buf_addc(&c->text, ' ');
        shown_quoted(&c->text, name_of(&k->target), SHOWN_NAME);
    }
    buf_printf(&c->text, " %s", call_status_name(x->status));
    if (x->duration_us >= 0) {
        buf_adds(&c->text, " in ");
        units_show_duration(&c->text, x->duration_us);
    }
    int st =
        l->session.id != x->session_id ? query_session_by_id(c->q, x->session_id, &l->session) : 0;
    if (st == 0)
        st = add_body(l, "arguments", x->request_seq);
    return st < 0 ? st : add_body(l, "answer", x->closing_seq);
}

static int add_calls(struct listing *l)
{
    bool more = true;
    int st = 0;
    for (size_t i = 0; st == 0 && more && i < l->n; i++) {
        if (rows_begin(&l->rows, l->kept[i].call.session_id, l->kept[i].call.request_seq))
            st = add_call(l, &l->kept[i]);
        more = rows_end(&l->rows) && tool_goes_on(call_of(l));
    }
    return st;
}

int tool_list_calls(struct tool_call *c)
{
    const char *status = tool_text(c, "status");
    struct listing l = {.n = 0};
    struct call_question x = {.filter = &c->filter, .newest_first = true};
    int st = rows_open(&l.rows, c, "calls", ROWS_LIMIT);
    if (st < 0)
        return st;
    if (status != NULL)
        c->filter.statuses = 1u << value_of(&call_statuses, slice_of(status));
    c->filter.up_to_id = l.rows.first.session;
    if (l.rows.first.session != 0)
        x.up_to = query_call_id(l.rows.first.session, l.rows.first.n);
    l.kept = calloc((size_t)l.rows.limit + 1, sizeof *l.kept);
    if (l.kept == NULL)
        return MI_ENOMEM;
    st = query_calls_of(c->q, &x, on_call, &l);
    if (st == 0)
        st = add_calls(&l);
    rows_close(&l.rows, "No matching call is recorded");
    free(l.kept);
    buf_close(&l.large);
    buf_close(&l.brief);
    return st < 0 ? st : l.error;
}
