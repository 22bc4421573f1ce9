/* tool_calls.c - the MCP tool `list_calls`. */
#include "cli/mcp/tool_rows.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/frame/preview.h"
#include "cli/frame/record_json.h"

#include <stdlib.h>

/* maximum number of bytes read of a large body to show its beginning */
#define LARGE_HEAD ((size_t)16 << 10)
/* maximum bytes stored of a text: more than SHOWN_MAX, so that a longer text is shown as cut */
#define KEPT (SHOWN_MAX + 4)

struct kept {
    struct query_call call;
    char server[KEPT], method[KEPT], target[KEPT]; /* the texts of `call` */
};

struct listing {
    struct rows rows;
    struct query_session session; /* the session of the row */
    struct kept *kept;            /* the calls; owned; room for one call more than a page */
    size_t n;
    struct buf large, brief; /* owned; scratch */
    int error;
};

/* ---- the calls of the page ---- */

static void mcp_calls_copy_text(struct slice *text, char *to)
{
    *text = text_prefix(*text, KEPT);
    if (text->n > 0)
        memcpy(to, text->p, text->n);
    text->p = text->p != NULL ? to : NULL;
}

static bool mcp_calls_on_call(void *ctx, const struct query_call *c)
{
    struct listing *l = ctx;
    struct kept *k = &l->kept[l->n++];
    k->call = *c;
    mcp_calls_copy_text(&k->call.server, k->server);
    mcp_calls_copy_text(&k->call.method, k->method);
    mcp_calls_copy_text(&k->call.target, k->target);
    return (int64_t)l->n <= l->rows.limit;
}

/* ---- rows ---- */

static bool add_body_preview(void *ctx, const struct query_message *m)
{
    struct listing *l = ctx;
    const char *error;
    struct slice body;
    l->error =
        session_read_body(l->rows.c->q, l->session.uid, m, LARGE_HEAD, &l->large, &body, &error);
    if (body.p != NULL)
        preview_add_message(&l->brief, m, body, SHOWN_BRIEF);
    return false;
}

/* Adds the beginning of a message to the text and to the JSON of the answer. */
static int mcp_calls_add_body(struct listing *l, const char *name, int64_t seq)
{
    struct tool_call *c = l->rows.c;
    buf_clear(&l->brief);
    if (seq == 0)
        return 0;
    int st = query_timeline(c->q, l->session.id, seq, seq, add_body_preview, NULL, l);
    struct slice brief = buf_slice(&l->brief);
    st = st == 0 ? l->error : st;
    if (st < 0 || brief.n == 0)
        return st;
    json_out_text(&c->j, name, brief);
    buf_printf(&c->text, " %s ", name);
    append_quoted_text_or_dash(&c->text, brief, SHOWN_BRIEF);
    return l->brief.failed ? MI_ENOMEM : 0;
}

static int mcp_calls_add_call(struct listing *l, const struct query_call *x)
{
    struct tool_call *c = l->rows.c;
    record_json_add_call_members(&c->j, x);
    buf_printf(&c->text, "session %lld seq %lld %s ", (long long)x->session_id,
               (long long)x->request_seq, clock_format_utc(x->started_at_us).s);
    append_quoted_text_or_dash(&c->text, x->server, SHOWN_NAME);
    append_quoted_method_and_target(&c->text, x->method, x->target);
    buf_printf(&c->text, " %s", call_status_name(x->status));
    if (x->duration_us >= 0)
        buf_printf(&c->text, " in %s", units_format_duration(x->duration_us).s);
    if (x->operation_seq != 0)
        buf_printf(&c->text, ", continues %lld", (long long)x->operation_seq);
    int st =
        l->session.id != x->session_id ? query_session_by_id(c->q, x->session_id, &l->session) : 0;
    if (st == 0)
        st = mcp_calls_add_body(l, "arguments", x->request_seq);
    return st < 0 ? st : mcp_calls_add_body(l, "answer", x->closing_seq);
}

static int add_calls(struct listing *l)
{
    bool more = true;
    int st = 0;
    for (size_t i = 0; st == 0 && more && i < l->n; i++) {
        const struct query_call *x = &l->kept[i].call;
        if (rows_begin_row(&l->rows, x->session_id, x->request_seq))
            st = mcp_calls_add_call(l, x);
        more = rows_end_row(&l->rows);
    }
    return st;
}

int tool_list_calls(struct tool_call *c)
{
    const char *status = tool_get_text_argument(c, "status");
    /* order of the calls: "newest", "slowest" or "largest" */
    const char *sort = tool_get_text_argument(c, "sort");
    struct listing l = {.n = 0};
    struct call_question x = {.filter = &c->filter,
                              .sort = sort == NULL || sort[0] == 'n' ? CALLS_UNSORTED
                                      : sort[0] == 's'               ? CALLS_SLOWEST
                                                                     : CALLS_LARGEST};
    int64_t total;
    bool all;
    int st = rows_open(&l.rows, c, "calls", ROWS_LIMIT);
    if (st < 0)
        return st;
    if (status != NULL)
        c->filter.statuses = 1u << value_find_by_word(&call_statuses, slice_of(status));
    x.newest_first = x.sort == CALLS_UNSORTED;
    x.skip = l.rows.before;
    x.limit = l.rows.limit + 1;
    if (x.newest_first && l.rows.first.session != 0) {
        c->filter.up_to_id = l.rows.first.session;
        x.up_to = query_call_id(l.rows.first.session, l.rows.first.n);
    }
    l.kept = calloc((size_t)l.rows.limit + 1, sizeof *l.kept);
    if (l.kept == NULL)
        return MI_ENOMEM;
    st = query_calls_of(c->q, &x, mcp_calls_on_call, &l);
    if (st == 0)
        st = add_calls(&l);
    c->filter.up_to_id = x.up_to = 0;
    if (st == 0 && rows_page_is_full(&l.rows)) {
        st = query_count_calls(c->q, &x, ROWS_COUNT_US, &total, &all);
        rows_set_total(&l.rows, total, all);
    }
    rows_close(&l.rows, "No matching call is recorded");
    free(l.kept);
    buf_close(&l.large);
    buf_close(&l.brief);
    return st < 0 ? st : l.error;
}
