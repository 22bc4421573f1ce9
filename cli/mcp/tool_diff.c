/* tool_diff.c - the MCP tool `diff`. */
#include "cli/mcp/tool_rows.h"

#include "base/text.h"
#include "base/units.h"
#include "cli/diff/forms.h"
#include "cli/frame/session.h"
#include "replay/source/recording.h"

#include <stdlib.h>

/* No further difference is added to the JSON of a row if its differences have this many bytes, or
 * to the text of a row if the whole text has this many bytes. */
#define ROW_BYTES ((size_t)2 << 10)

/* names of the two sessions in the text of the result */
static const char *const names[DIFF_SIDES] = {"base", "session"};

struct comparing {
    struct rows rows;
    struct source *source[DIFF_SIDES]; /* owned */
    int64_t id[DIFF_SIDES];            /* the ids of the sessions */
    struct diff_rules rules;
    struct diff *diff;     /* owned */
    struct result *result; /* owned */
};

/* ---- the sessions ---- */

static int open_compared_session(struct comparing *x, enum diff_side side,
                                 const struct query_session *s)
{
    struct tool_call *c = x->rows.c;
    x->id[side] = s->id;
    return source_open_session(&x->source[side], c->q, s, &c->error);
}

/* Finds the newest finished session that has the same server as this session and is older. */
static int find_previous_session_to_diff(struct tool_call *c, int64_t id, struct query_session *ret)
{
    struct query_session s;
    struct buf name = {0};
    int st = tool_find_session(c, id, &s);
    if (st == 0) {
        buf_slice_add(&name, s.name);
        st = name.failed ? MI_ENOMEM
                         : source_pick_session(c->q, buf_str(&name), id, session_is_running, ret,
                                               &c->error);
    }
    if (st == MI_ENOENT) {
        buf_clear(&c->error);
        buf_adds(
            &c->error,
            "the server of this session has no earlier finished session: pass a session as base");
    }
    buf_close(&name);
    return st;
}

/* The texts of a session become invalid with the next look-up, so each session is opened at
 * once. */
static int open_compared_sessions(struct comparing *x)
{
    struct tool_call *c = x->rows.c;
    struct query_session s;
    int64_t base = tool_get_number_argument(c, "base", 0);
    int st = base != 0 ? tool_find_session(c, base, &s)
                       : find_previous_session_to_diff(c, c->filter.session_id, &s);
    if (st == 0)
        st = open_compared_session(x, DIFF_A, &s);
    if (st == 0)
        st = tool_find_session(c, c->filter.session_id, &s);
    return st < 0 ? st : open_compared_session(x, DIFF_B, &s);
}

/* ---- rules ---- */

static bool mcp_diff_selects_call(void *ctx, struct slice method, struct slice target)
{
    const struct tool_call *c = ctx;
    return filter_matches_call(&c->filter, method, target);
}

static int mcp_diff_read_rules(struct comparing *x)
{
    struct tool_call *c = x->rows.c;
    struct json_value list = tool_get_argument(c, "ignore"), v;
    struct slice key;
    int st = 0;
    x->rules.canon.across = true;
    x->rules.takes = mcp_diff_selects_call;
    x->rules.ctx = c;
    for (struct json_walk w = json_walk_begin(list); st == 0 && json_walk_next(&w, &key, &v);) {
        struct buf pointer = {0};
        json_unescape(&pointer, json_string_raw(v));
        st = pointer.failed
                 ? MI_ENOMEM
                 : pointers_add(&x->rules.canon.ignore, "", buf_slice(&pointer), &c->error);
        buf_close(&pointer);
    }
    return st == MI_EFULL ? MI_EINVAL : st;
}

/* ---- rows ---- */

static void mcp_diff_add_call(struct buf *b, const struct result *r, enum diff_side side)
{
    const struct diff_call *call = &r->call[side];
    if (!r->has[side])
        return;
    buf_printf(b, ", in the %s seq %llu %s", names[side], (unsigned long long)call->seq,
               call_status_name(call->status));
    if (call->took_us >= 0)
        buf_printf(b, " in %s", units_format_duration(call->took_us).s);
}

static void add_difference(struct buf *b, const struct result *r, const struct result_difference *d)
{
    buf_printf(b, "\n  %s ", result_name_of_diff_part(d->part));
    append_quoted_text_or_dash(b, result_get_stored_text(r, d->pointer), SHOWN_BRIEF);
    if (d->entry.exists) {
        buf_printf(b, " of the %s ", result_entry_kind(r, d));
        append_quoted_text_or_dash(b, result_get_stored_text(r, d->entry), SHOWN_NAME);
    }
    for (int i = 0; i < DIFF_SIDES; i++) {
        buf_printf(b, ", %s: ", names[i]);
        append_quoted_text_or_dash(b, result_get_stored_text(r, d->value[i]), EXCERPT_MAX);
    }
}

/* Appends a row such as: changed "tools/call" "read", in the base seq 3 ok in 1.00ms, in the
 * session seq 3 ok in 2.00ms. The differences follow, each on a line. */
static void mcp_diff_add_row_text(struct buf *b, const struct result *r)
{
    const struct diff_call *call = result_get_call_for_row_name(r);
    size_t from = b->n, n = 0;
    buf_adds(b, result_name_of_change(r->change));
    append_quoted_method_and_target(b, call->method, call->target);
    mcp_diff_add_call(b, r, DIFF_A);
    mcp_diff_add_call(b, r, DIFF_B);
    buf_adds(b, r->look.unread ? ", answers not compared: one of them was not recorded" : "");
    if (r->params.n > 0) {
        buf_addc(b, ' ');
        append_quoted_text_or_dash(b, r->params, SHOWN_BRIEF);
    }
    for (; n < r->listed && b->n - from < ROW_BYTES; n++)
        add_difference(b, r, &r->difference[n]);
    if (r->look.differences > n)
        buf_printf(b, "\n  and %llu more differences",
                   (unsigned long long)(r->look.differences - n));
}

static int compare_rows(struct comparing *x)
{
    struct tool_call *c = x->rows.c;
    uint32_t n = diff_count_rows(x->diff);
    for (uint32_t i = (uint32_t)x->rows.first.n; i < n; i++) {
        if (rows_should_end_page(&x->rows, 1, i))
            break;
        int st = result_compare_row(x->result, x->diff, i);
        if (st < 0)
            return st;
        if ((x->result->change == RESULT_SAME && !x->result->look.unread) ||
            (c->filter.failed && !result_has_failed_call(x->result)) ||
            (c->filter.slow_us > 0 && !result_has_slow_call(x->result, c->filter.slow_us)))
            continue;
        /* A cursor needs a session and a number. A row of a comparison has no session of its own,
         * so it gets session 1 and its index `i`, which is not a seq. */
        if (rows_begin_row(&x->rows, 1, i)) {
            diff_json_add_row(&c->j, x->result, ROW_BYTES);
            if (x->result->params.n > 0)
                json_out_text(&c->j, "arguments", text_prefix(x->result->params, SHOWN_BRIEF));
            mcp_diff_add_row_text(&c->text, x->result);
        }
        if (!rows_end_row(&x->rows))
            break;
    }
    return 0;
}

/* Adds both sessions, and the facts in which they differ, such as the version of the server. */
static void add_compared_sessions(struct comparing *x)
{
    struct tool_call *c = x->rows.c;
    struct diff_name name[DIFF_SIDES];
    struct diff_fact f;
    for (int i = 0; i < DIFF_SIDES; i++) {
        name[i] = (struct diff_name){source_info(x->source[i])->uid, x->id[i]};
        buf_printf(&c->text, "%s: session %lld, calls %lu\n", names[i], (long long)x->id[i],
                   (unsigned long)diff_count_calls(x->diff, (enum diff_side)i));
    }
    diff_json_add_both_recordings(&c->j, x->diff, name);
    for (size_t i = 0; diff_get_session_difference(x->diff, i, &f); i++) {
        buf_printf(&c->text, "%s:", f.name);
        for (int side = 0; side < DIFF_SIDES; side++) {
            buf_printf(&c->text, " %s ", names[side]);
            append_quoted_text_or_dash(&c->text, f.value[side], SHOWN_NAME);
        }
        buf_addc(&c->text, '\n');
    }
}

static int mcp_diff_compare_sessions(struct comparing *x)
{
    struct tool_call *c = x->rows.c;
    int st = diff_open(&x->diff, x->source[DIFF_A], x->source[DIFF_B], &x->rules, &c->error);
    if (st < 0)
        return st;
    add_compared_sessions(x);
    st = rows_open(&x->rows, c, "rows", ROWS_LIMIT);
    if (st < 0)
        return st;
    st = compare_rows(x);
    rows_close(&x->rows, "No call differs");
    if (st < 0)
        buf_adds(&c->error, diff_error(x->diff));
    return st;
}

int answer_diff_sessions(struct tool_call *c)
{
    struct comparing x = {.rows.c = c, .result = calloc(1, sizeof *x.result)};
    int st = x.result != NULL ? mcp_diff_read_rules(&x) : MI_ENOMEM;
    if (st == 0)
        st = open_compared_sessions(&x);
    if (st == 0)
        st = mcp_diff_compare_sessions(&x);
    diff_close(x.diff);
    if (x.result != NULL)
        result_close(x.result);
    free(x.result);
    for (int i = 0; i < DIFF_SIDES; i++)
        source_close(x.source[i]);
    pointers_close(&x.rules.canon.ignore);
    return st < 0 && st != MI_ENOMEM && c->error.n > 0 ? MI_EINVAL : st;
}
