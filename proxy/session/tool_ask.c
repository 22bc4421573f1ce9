#include "proxy/session/tool_ask.h"

#include "base/log.h"
#include "proxy/session/tool_report.h"
#include "wire/json/text.h"
#include "wire/mcp/own.h"
#include "wire/rpc_id.h"
#include "wire/rpc_out.h"

#include <stdlib.h>

void tool_ask_free_line(struct tool_ask_line *l)
{
    chunk_release(l->chunk);
    free(l);
}

void tool_ask_close(struct tool_gate *g)
{
    for (struct tool_ask_line *l = g->first, *next; l != NULL; l = next) {
        next = l->next;
        tool_ask_free_line(l);
    }
    tool_hints_clear(&g->hints);
    tool_hints_clear(&g->asked);
    buf_close(&g->failure);
    *g = (struct tool_gate){0};
}

/* ---- requesting the list -------------------------------------------------------------------- */

void tool_ask_end_with_failure(struct traffic *t, const char *why)
{
    struct tool_gate *g = &t->gate;
    if (!g->asking)
        return;
    log_warn("the list of tools is not known, so calls are refused: server=%s %s", t->server, why);
    buf_clear(&g->failure);
    buf_adds(&g->failure, why);
    tool_hints_clear(&g->asked);
    g->asking = false;
    g->id = 0;
    g->retry_us = journal_now_us(t->journal) + TOOL_ASK_RETRY_US;
}

static void request_tools_page(struct traffic *t, struct slice cursor)
{
    struct tool_gate *g = &t->gate;
    struct buf b = {0}, meta = {0};
    struct json_out j = json_out_to(&b);
    handshake_begin_request(&t->handshake, &j, "tools/list");
    json_out_object(&j, "params");
    if (g->modern) {
        own_write_request_meta(&meta);
        json_out_raw(&j, "_meta", buf_slice(&meta));
    }
    if (cursor.p != NULL)
        json_out_raw(&j, "cursor", cursor);
    rpc_out_end(&j);
    g->id = t->handshake.last_id;
    if (b.failed || meta.failed ||
        message_record_and_stage(t, ROW_C2S, &t->out[ROW_C2S], buf_slice(&b)) == 0)
        tool_ask_end_with_failure(t, "out of memory");
    buf_close(&b);
    buf_close(&meta);
}

static void request_first_tools_page(struct traffic *t)
{
    struct tool_gate *g = &t->gate;
    g->changed = false;
    g->cursor = 0;
    g->pages = 0;
    g->asked_cut = (struct tool_cut){0};
    tool_hints_clear(&g->asked);
    request_tools_page(t, (struct slice){0});
}

void tool_ask_send_list_request(struct traffic *t, bool modern)
{
    struct tool_gate *g = &t->gate;
    const struct deadlines *rules = t->timers.rules;
    int64_t us = rules != NULL
                     ? deadline_of_request(rules, 0, slice_of("tools/list"), (struct slice){0})
                     : 0;
    if (us <= 0 || us > TOOL_ASK_US)
        us = TOOL_ASK_US;
    g->asking = true;
    g->modern = modern;
    g->rounds = 1;
    g->until_us = journal_now_us(t->journal) + us;
    request_first_tools_page(t);
}

static void save_tool_hint(void *ctx, struct slice name, bool read_only, enum tool_fate fate)
{
    (void)fate;
    tool_hints_add(ctx, name, read_only);
}

/* Notes the tools of a page, and requests the next page. */
static void tool_ask_store_tools_of_page(struct traffic *t, const struct rpc *m)
{
    struct tool_gate *g = &t->gate;
    struct changes unused = {0};
    struct tool_cut cut = {0};
    uint64_t next = tool_rule_hash_next_cursor(m->next_cursor);
    bool more = next != 0;
    int st = MI_ENOMEM;
    if (tool_hints_begin_page(&g->asked, g->cursor, next))
        st = tool_rule_remove_tools(g->rule, m->result, &unused, &cut, save_tool_hint, &g->asked);
    changes_close(&unused);
    g->asked_cut.listed += cut.listed;
    g->asked_cut.hidden += cut.hidden;
    if (st < 0) {
        tool_ask_end_with_failure(t, "out of memory");
    } else if (g->asked.overflow) {
        tool_ask_end_with_failure(t, "the server has too many tools");
    } else if (g->changed && g->rounds++ < TOOL_ASK_ROUNDS_MAX) {
        request_first_tools_page(t);
    } else if (g->changed) {
        tool_ask_end_with_failure(t, "the list of tools changed each time it was read");
    } else if (more && (next == g->cursor || ++g->pages >= TOOL_ASK_PAGES_MAX)) {
        tool_ask_end_with_failure(
            t, "the list of tools does not end: a cursor is repeated, or there are too many pages");
    } else if (more) {
        g->cursor = next;
        request_tools_page(t, m->next_cursor.text);
    } else {
        tool_hints_clear(&g->hints);
        g->hints = g->asked;
        g->cut = g->asked_cut;
        g->asked = (struct tool_hints){0};
        g->asking = false;
        tool_report_record_rule_effect(t, &g->cut);
    }
}

bool tool_ask_handle_answer(struct traffic *t, const struct rpc *m)
{
    struct tool_gate *g = &t->gate;
    if (!g->asking || g->id == 0 || !handshake_is_proxy_request_id(&t->handshake, m->id, g->id))
        return false;
    g->id = 0;
    if (m->kind == RPC_ERROR)
        tool_ask_end_with_failure(t, "the server answered tools/list with an error");
    else if (m->in_result[FIELD_TOOLS] != JSON_ARRAY || tool_rule_find_list_fault(m) != NULL)
        tool_ask_end_with_failure(t, "the server answered tools/list without a list of tools");
    else
        tool_ask_store_tools_of_page(t, m);
    return true;
}

int64_t tool_ask_deadline_us(const struct traffic *t)
{
    bool may_be_in_pipe = (t->timers.paused & TIMERS_SERVER_NOT_READ) != 0;
    return t->gate.asking && !may_be_in_pipe ? t->gate.until_us : INT64_MAX;
}

void tool_ask_fail_if_timed_out(struct traffic *t, int64_t now_us)
{
    if (now_us >= tool_ask_deadline_us(t))
        tool_ask_end_with_failure(t, "the server did not answer tools/list in time");
}

void tool_ask_list_tools_again(struct traffic *t)
{
    struct tool_gate *g = &t->gate;
    tool_hints_clear(&g->hints);
    g->retry_us = 0;
    if (g->asking)
        request_first_tools_page(t);
}

/* ---- messages that wait --------------------------------------------------------------------- */

bool tool_ask_has_waiting_lines(const struct traffic *t)
{
    return t->gate.first != NULL;
}

bool tool_ask_has_waiting_call(const struct traffic *t, struct json_value id)
{
    uint64_t hash = rpc_id_hash_json(id);
    for (const struct tool_ask_line *l = t->gate.first; l != NULL; l = l->next)
        if (l->id == 0 || l->id == hash)
            return true;
    return false;
}

static bool tool_ask_add_waiting_line(struct tool_gate *g, const struct line *line, findings found,
                                      uint64_t id, int64_t now_us)
{
    struct tool_ask_line *l = calloc(1, sizeof *l);
    struct chunk *c = chunk_new(line->n + 1);
    if (l == NULL || c == NULL || g->lines_n == TOOL_ASK_LINES_MAX ||
        line->n > TOOL_ASK_BYTES_MAX - g->lines_bytes) {
        free(l);
        chunk_release(c);
        return false;
    }
    memcpy(c->data, line->p, line->n);
    *l = (struct tool_ask_line){.chunk = c, .n = line->n, .found = found, .id = id};
    l->t_us = now_us > 0 ? now_us : 1;
    if (g->last != NULL)
        g->last->next = l;
    else
        g->first = l;
    g->last = l;
    g->lines_n++;
    g->lines_bytes += l->n;
    return true;
}

bool tool_ask_queue_message(struct traffic *t, const struct message *x, findings found)
{
    bool named = x->m.id.type == JSON_STRING || x->m.id.type == JSON_NUMBER;
    if (tool_ask_add_waiting_line(&t->gate, x->line, found, named ? rpc_id_hash_json(x->m.id) : 0,
                                  journal_now_us(t->journal)))
        return true;
    tool_ask_end_with_failure(t, "too many messages of the client wait for the list of tools");
    return false;
}

struct tool_ask_line *tool_ask_get_next_ready_line(struct traffic *t)
{
    struct tool_gate *g = &t->gate;
    struct tool_ask_line *l = !g->asking ? g->first : NULL;
    g->arrived_us = l != NULL ? l->t_us : 0;
    if (l == NULL)
        return NULL;
    g->first = l->next;
    if (g->first == NULL)
        g->last = NULL;
    g->lines_n--;
    g->lines_bytes -= l->n;
    return l;
}
