/* tool_search.c - the MCP tool `search`. */
#include "cli/mcp/tool_rows.h"

#include "base/clock.h"
#include "cli/frame/session.h"
#include "cli/look/search/find_messages.h"
#include "cli/look/search/search_match.h"

#define MATCHES 10 /* rows of a page if the argument `limit` is missing */
#define BEFORE 100 /* bytes of context shown before a match */
#define AFTER 200  /* bytes of context shown after a match */

/* Adds a line such as: session 7 seq 12 2026-01-31T23:59:59.000Z "files" result of "tools/call"
 * "read_file", ok: "… not found …" */
static void mcp_search_add_text(struct tool_call *c, const struct search_match *f)
{
    const struct query_message *m = f->message;
    enum call_status status = session_status_of_message(m);
    struct slice method = session_method_of_message(m), target = session_target_of_message(m);
    buf_printf(&c->text, "session %lld seq %lld %s ", (long long)f->session_id, (long long)m->seq,
               clock_format_utc(f->started_at_us + m->t_us).s);
    append_quoted_text_or_dash(&c->text, slice_of(f->server), SHOWN_NAME);
    buf_printf(&c->text, " %s", row_kind_name(m->kind));
    if (method.n > 0) {
        buf_adds(&c->text, session_message_is_answer(m) ? " of" : "");
        append_quoted_method_and_target(&c->text, method, target);
    }
    if (status != CALL_UNKNOWN)
        buf_printf(&c->text, ", %s", call_status_name(status));
    buf_adds(&c->text, ": ");
    append_quoted_text_or_dash(&c->text, search_match_get_context(f, BEFORE, AFTER),
                               BEFORE + 2 * AFTER);
}

static bool mcp_search_on_match(void *ctx, const struct search_match *f)
{
    struct rows *r = ctx;
    if (rows_begin_row(r, f->session_id, f->message->seq)) {
        search_match_add_json_members(&r->c->j, f);
        mcp_search_add_text(r->c, f);
    }
    return rows_end_row(r);
}

/* Sets the texts and fields of the question. Returns MI_EINVAL if there is nothing to search
 * for. */
static int read_search_arguments(struct tool_call *c, struct question *x)
{
    const char *text = tool_get_text_argument(c, "text"),
               *status = tool_get_text_argument(c, "status"),
               *kind = tool_get_text_argument(c, "kind");
    if (text == NULL && status == NULL && kind == NULL && !filter_has_call_conditions(&c->filter)) {
        buf_adds(&c->error,
                 "nothing to search for: give text, tool, method, status, kind, failed or slow");
        return MI_EINVAL;
    }
    x->filter = c->filter;
    bool ok = (status == NULL || question_set_field(x, QUESTION_STATUS, status)) &&
              (kind == NULL || question_set_field(x, QUESTION_KIND, kind));
    if (!ok) { /* cannot happen, because the inputSchema allows only valid words */
        buf_adds(&c->error, "invalid status or kind");
        return MI_EINVAL;
    }
    int st = text != NULL ? question_add_text(x, text, tool_get_flag_argument(c, "exact")) : 0;
    if (st == 0)
        question_combine_conditions(x);
    return st;
}

int answer_search_messages(struct tool_call *c)
{
    struct rows r;
    struct question x;
    int st = rows_open(&r, c, "matches", MATCHES);
    if (st < 0)
        return st;
    st = question_initialize(&x);
    if (st == MI_ESTORE) {
        buf_adds(&c->error, "cannot search: SQLite was built without FTS5");
        st = MI_EINVAL;
    }
    if (st == 0)
        st = read_search_arguments(c, &x);
    x.newest_session = r.first.session;
    x.newest_seq = r.first.n;
    if (st == 0)
        st = find_messages(c->q, &x, 0, mcp_search_on_match, &r);
    rows_close(
        &r,
        "Nothing was found: whole words are searched; put a * after a word to find longer words");
    question_close(&x);
    return st;
}
