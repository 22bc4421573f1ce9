#include "proxy/session/tool_gate.h"

#include "base/json_out.h"
#include "base/log.h"
#include "base/text.h"
#include "proxy/session/answer.h"
#include "proxy/session/answer_repair.h"
#include "proxy/session/request.h"
#include "proxy/session/tool_ask.h"
#include "proxy/session/tool_report.h"
#include "wire/json/text.h"
#include "wire/mcp/tool_call.h"

/* Most bytes of names in an event; further names are only counted. */
#define NAMES_RECORDED ((size_t)128 << 10)

/* ---- calls ---------------------------------------------------------------------------------- */

static void refuse_tool_call(struct traffic *t, struct message *x, enum tool_verdict v,
                             const char *why)
{
    enum finding found = tool_call_finding_of_verdict(v);
    x->m.findings |= FINDING(found);
    log_warn("rejected: server=%s %s", t->server, why);
    if (x->m.kind == RPC_REQUEST) {
        answer_reject_message(t, x, RPC_INVALID_PARAMS, why, finding_name(found));
        return;
    }
    message_record(t, x, row_kind_of_rpc(x->m.kind), ROW_REFUSED);
    if (x->m.kind != RPC_NOTIFICATION)
        answer_server_with_error(t, x);
}

bool tool_gate_admits_message(struct traffic *t, struct message *x)
{
    struct tool_gate *g = &t->gate;
    struct buf name = {0}, why = {0};
    const char *fault;
    enum tool_verdict v = tool_call_get_verdict(g->rule, &g->hints, &x->m, &name, &fault);
    if (v != TOOL_CALL_KEPT) {
        tool_call_explain_refusal(g->rule, v, fault, buf_slice(&name), buf_str(&g->failure), &why);
        refuse_tool_call(t, x, v, why.failed ? "unknown tool" : buf_str(&why));
    }
    buf_close(&name);
    buf_close(&why);
    return v == TOOL_CALL_KEPT;
}

static enum tool_verdict judge_tool_call(const struct tool_gate *g, const struct rpc *m)
{
    struct buf name = {0};
    const char *fault;
    enum tool_verdict v = tool_call_get_verdict(g->rule, &g->hints, m, &name, &fault);
    buf_close(&name);
    return v;
}

/* Returns true if m is or contains a call of a tool whose hint is not known. *ret_modern: the call
 * is of revision 2026-07-28. */
static bool has_call_with_unknown_hint(const struct tool_gate *g, const struct rpc *m,
                                       bool *ret_modern)
{
    struct slice key;
    struct json_value v;
    struct rpc one;
    *ret_modern = rpc_is_modern(m);
    if (m->kind != RPC_BATCH)
        return judge_tool_call(g, m) == TOOL_CALL_UNKNOWN;
    struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, m->text});
    while (json_walk_next(&w, &key, &v))
        if (rpc_read(v.text, &one) == 0 && one.kind != RPC_BATCH &&
            judge_tool_call(g, &one) == TOOL_CALL_UNKNOWN)
            return true;
    return false;
}

bool tool_gate_must_delay_message(struct traffic *t, const struct message *x)
{
    struct tool_gate *g = &t->gate;
    bool modern;
    if (g->arrived_us != 0 || !g->rule->read_only || t->out[ROW_C2S].broken)
        return false;
    if (!g->asking && journal_now_us(t->journal) >= g->retry_us &&
        has_call_with_unknown_hint(g, &x->m, &modern))
        tool_ask_send_list_request(t, modern);
    if (!g->asking)
        return false;
    struct json_value cancelled = request_get_id_to_cancel(&x->m);
    if (cancelled.type != JSON_NONE)
        return tool_ask_has_waiting_call(t, cancelled);
    return x->m.kind == RPC_BATCH || rpc_method_is(&x->m, "tools/call");
}

/* ---- lists ---------------------------------------------------------------------------------- */

/* State while the tools of a page are noted. */
struct listing {
    struct tool_gate *g;
    struct json_out j; /* receives the names of hidden tools */
    size_t bytes;      /* total bytes of the names in `j` */
    bool belongs;      /* the page belongs to the list that g->hints was read from */
};

static void tool_gate_on_named_tool(void *ctx, struct slice name, bool read_only,
                                    enum tool_fate fate)
{
    struct listing *l = ctx;
    if (l->belongs && l->g->rule->read_only)
        tool_hints_add(&l->g->hints, name, read_only);
    if (fate == TOOL_KEPT || l->bytes + name.n > NAMES_RECORDED)
        return;
    l->bytes += name.n;
    json_out_text(&l->j, NULL, name);
}

/* Notes the tools of a page, and adds to *c the changes that remove hidden tools from the page.
 * seq: seq of the page's message. Returns 0 or MI_ENOMEM. */
static int tool_gate_filter_tools_page(struct traffic *t, const struct rpc *m, uint64_t cursor,
                                       uint64_t seq, struct changes *c)
{
    struct tool_gate *g = &t->gate;
    struct buf detail = {0};
    struct tool_cut cut;
    uint64_t next = tool_rule_hash_next_cursor(m->next_cursor);
    struct listing l = {.g = g, .j = json_out_to(&detail)};
    l.belongs = tool_hints_begin_page(&g->hints, cursor, next);
    json_out_object(&l.j, NULL);
    json_out_uint(&l.j, "seq", seq);
    json_out_text(&l.j, "rule", buf_slice(&g->rule->text));
    json_out_array(&l.j, "hidden");
    int st = tool_rule_remove_tools(g->rule, m->result, c, &cut, tool_gate_on_named_tool, &l);
    json_out_end(&l.j);
    json_out_uint(&l.j, "hidden_n", cut.hidden);
    json_out_uint(&l.j, "listed_n", cut.listed);
    json_out_end(&l.j);
    if (st == 0 && cut.hidden > 0)
        journal_append_event(t->journal, "tools-hidden", detail.failed ? NULL : buf_str(&detail));
    buf_close(&detail);
    if (cursor == 0)
        g->cut = (struct tool_cut){0};
    g->cut.listed += l.belongs ? cut.listed : 0;
    g->cut.hidden += l.belongs ? cut.hidden : 0;
    if (st == 0 && l.belongs && next == 0)
        tool_report_record_rule_effect(t, &g->cut);
    return st;
}

/* Returns true if the answer may belong to a tools/list. If two pending requests have the same id,
 * p is the older one, which may be the wrong one. */
static bool answer_may_list_tools(const struct traffic *t, const struct pending *p)
{
    if (json_key_is(p->method, "tools/list"))
        return true;
    for (const struct pending *q = t->open[ROW_C2S].open.oldest; q != NULL; q = q->next)
        if (json_key_is(q->method, "tools/list") && slice_eq(q->id, p->id))
            return true;
    return false;
}

/* Closes the connection because memory ran out. Returns false. */
static bool close_connection(struct traffic *t, enum row_direction dir)
{
    log_error("out of memory, closing the connection: server=%s", t->server);
    outbox_discard_after_error(&t->out[dir]);
    return false;
}

/* Replaces the text of x by a copy without the removed parts. */
static int copy_text_without_removed_parts(struct message *x, const struct changes *c)
{
    size_t n = changes_compute_changed_size(c, x->text);
    struct chunk *copy = chunk_new(n + 1);
    if (copy == NULL)
        return MI_ENOMEM;
    changes_apply_to_text(c, x->text, copy->data);
    return message_replace_text(x, copy, n);
}

bool tool_gate_accepts_answer(struct traffic *t, struct message *x, struct pending *p)
{
    const char *fault = answer_may_list_tools(t, p) ? tool_rule_find_list_fault(&x->m) : NULL;
    struct buf why = {0};
    if (fault == NULL)
        return true;
    x->m.findings |= FINDING(FIND_MALFORMED_ANSWER);
    buf_printf(&why, "the server's list of tools is invalid: %s", fault);
    answer_replace_rejected_answer(t, x, p, why.failed ? fault : buf_str(&why), "malformed-answer");
    buf_close(&why);
    return false;
}

bool tool_gate_remove_hidden_tools(struct traffic *t, struct message *x, const struct pending *p,
                                   uint64_t seq)
{
    struct changes c = {0};
    if (x->m.kind != RPC_RESULT || !answer_may_list_tools(t, p))
        return true;
    int st = tool_gate_filter_tools_page(t, &x->m, p->asked.cursor, seq, &c);
    if (st == 0 && c.n > 0 && x->batch_seq == 0)
        st = copy_text_without_removed_parts(x, &c);
    changes_close(&c);
    return st == 0 || close_connection(t, ROW_S2C);
}

void tool_gate_on_notification(struct traffic *t, const struct message *x)
{
    struct tool_gate *g = &t->gate;
    if (x->dir != ROW_S2C || !rpc_method_is(&x->m, "notifications/tools/list_changed"))
        return;
    tool_hints_clear(&g->hints);
    g->changed = true;
    g->retry_us = 0;
}

/* ---- batches -------------------------------------------------------------------------------- */

/* Returns true if a member of the server's batch answers a tools/list. */
static bool batch_member_lists_tools(struct traffic *t, const struct rpc *m)
{
    bool type_changed;
    if (m->kind != RPC_RESULT && m->kind != RPC_ERROR)
        return false;
    const struct pending *p = find_request_of_answer(t, ROW_S2C, m, &type_changed);
    return p != NULL && answer_may_list_tools(t, p);
}

/* A refused member is removed together with the comma before it. If no kept member precedes it, the
 * comma after it is removed instead. */
bool tool_gate_remove_refused_members(struct traffic *t, struct message *batch, size_t *ret_kept)
{
    struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, batch->m.text});
    struct slice key, nothing = {"", 0};
    struct json_value v;
    struct changes c = {0};
    /* start of the first refused member, if no kept member precedes it */
    const char *refused = NULL;
    const char *before = NULL; /* end of the member before the current one */
    struct rpc m;
    int st = 0;
    *ret_kept = 0;
    while (st == 0 && json_walk_next(&w, &key, &v)) {
        const char *end = v.text.p + v.text.n;
        struct tool_cut cut;
        bool json = rpc_read(v.text, &m) == 0;
        bool list = batch->dir == ROW_S2C && json && batch_member_lists_tools(t, &m);
        if (list ? tool_rule_find_list_fault(&m) != NULL
                 : batch->dir == ROW_C2S && json &&
                       judge_tool_call(&t->gate, &m) != TOOL_CALL_KEPT) {
            if (*ret_kept > 0)
                st = changes_add(&c, (struct slice){before, (size_t)(end - before)}, nothing);
            else if (refused == NULL)
                refused = v.text.p;
        } else {
            if ((*ret_kept)++ == 0 && refused != NULL)
                st =
                    changes_add(&c, (struct slice){refused, (size_t)(v.text.p - refused)}, nothing);
            if (st == 0 && list)
                st = tool_rule_remove_tools(t->gate.rule, m.result, &c, &cut, NULL, NULL);
        }
        before = end;
    }
    if (st == 0 && c.n > 0 && *ret_kept > 0)
        st = copy_text_without_removed_parts(batch, &c);
    changes_close(&c);
    return st == 0 || close_connection(t, batch->dir);
}
