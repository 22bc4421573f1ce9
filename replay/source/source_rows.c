#include "replay/source/source_rows.h"

#include "base/grow.h"
#include "redact/sanitizer.h"

#include <stdlib.h>

uint64_t source_seq_in_session(uint64_t place)
{
    return place & (PLACE_PROBE - 1);
}

void source_close(struct source *s)
{
    if (s == NULL)
        return;
    free(s->rows);
    buf_close(&s->text);
    buf_close(&s->info_text);
    buf_close(&s->error);
    buf_close(&s->form);
    redact_close(s->redact);
    free(s);
}

static int compare_position_with_row(const void *key, const void *row)
{
    uint64_t a = *(const uint64_t *)key;
    uint64_t b = ((const struct source_row *)row)->m.place;
    return a < b ? -1 : a > b;
}

const struct source_row *source_find_row_at(const struct source *s, uint64_t place)
{
    return s->rows_n > 0
               ? bsearch(&place, s->rows, s->rows_n, sizeof *s->rows, compare_position_with_row)
               : NULL;
}

/* ---- messages ---- */

/* Returns false if a row of this kind is not an MCP message. */
static bool rpc_kind_of_row(enum row_kind kind, enum rpc_kind *ret)
{
    static const enum rpc_kind kinds[] = {RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR};
    for (size_t i = 0; i < MI_COUNT(kinds); i++) {
        if (row_kind_of_rpc(kinds[i]) != kind)
            continue;
        *ret = kinds[i];
        return true;
    }
    return false;
}

static void source_add_text(struct buf *b, struct slice text, size_t *ret_at, size_t *ret_n)
{
    *ret_at = b->n;
    *ret_n = text.n;
    buf_slice_add(b, text);
}

/* Returns the status of an answer. A hand-written cassette has no findings; there, isError of the
 * result decides whether the tool failed. */
static enum call_status status_of_answer(const struct query_message *m)
{
    struct rpc rpc;
    if (m->kind != KIND_RESULT && m->kind != KIND_ERROR)
        return CALL_UNKNOWN;
    enum call_status status = query_get_call_status(m);
    if (status == CALL_OK && m->body.p != NULL &&
        memmem(m->body.p, m->body.n, "isError", 7) != NULL && rpc_read(m->body, &rpc) == 0 &&
        rpc.is_error.type == JSON_TRUE)
        return CALL_TOOL_ERROR;
    return status;
}

bool source_add_row(struct source *s, const struct query_message *m, uint64_t place_base)
{
    struct source_row r = {0};
    bool from_client = m->direction == ROW_C2S;
    r.m.is_stderr = m->kind == KIND_STDERR;
    if (m->direction == ROW_DIRECTION_UNKNOWN ||
        (!r.m.is_stderr && !rpc_kind_of_row(m->kind, &r.m.kind)))
        return true;
    if (r.m.is_stderr) /* a line of stderr is always from the server */
        from_client = false;
    else if (from_client ? m->origin != ROW_PEER : m->action != ROW_FORWARDED)
        return true;
    r.m.place = place_base + (uint64_t)m->seq;
    r.m.request_place = m->request_seq != 0 ? place_base + (uint64_t)m->request_seq : 0;
    r.m.t_us = m->t_us;
    r.m.from_client = from_client;
    r.m.in_batch = m->batch_seq != 0;
    r.m.status = status_of_answer(m);
    r.has_id = m->rpc_id.p != NULL;
    r.has_body = m->body.p != NULL;
    r.m.lost = !r.has_body && !m->is_large;
    if (r.has_id)
        source_add_text(&s->text, m->rpc_id, &r.id_at, &r.id_n);
    if (r.has_body)
        source_add_text(&s->text, m->body, &r.body_at, &r.body_n);
    if (!GROW(s->rows, s->rows_n, s->rows_cap))
        return false;
    s->rows[s->rows_n++] = r;
    return !s->text.failed;
}

static bool word_is_in_list(struct slice word, const char *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (slice_is(word, list[i]))
            return true;
    return false;
}

/* ---- the session ---- */

static int open_redact_rules(struct source *s, const struct query_session *session,
                             struct buf *error)
{
    struct buf now = {0};
    if (session->redact_rules.p == NULL)
        return 0;
    int st = redact_open_rules(&s->redact, session->redact_rules, error);
    if (st < 0)
        return st;
    redact_write_rules(s->redact, &now);
    s->redact_old = !slice_eq(buf_slice(&now), session->redact_rules);
    s->redact_content =
        session->record_level.p != NULL && slice_is(session->record_level, "standard");
    st = now.failed ? MI_ENOMEM : 0;
    buf_close(&now);
    return st;
}

int source_copy_session_info(struct source *s, const struct query_session *session,
                             struct buf *error)
{
    struct source_info *in = &s->info;
    if (session->record_level.p != NULL && slice_is(session->record_level, "minimal")) {
        buf_adds(error, "the session was recorded with --record minimal, without message bodies, "
                        "and cannot be replayed; record the server again with --record standard");
        return MI_EINVAL;
    }
    if (!buf_reserve(&s->info_text, fields_text_bytes(&fields_of_session, session) + 1))
        return MI_ENOMEM;
    memcpy(in, session, sizeof(struct session_record));
    fields_copy_texts(&fields_of_session, in, s->info_text.p);
    /* Values of end_reason that mean: the client, or the proxy, has ended the session. Every other
     * end_reason means that the server has ended it. */
    static const char *const client[] = {"client-closed", "signal"};
    static const char *const proxy[] = {"killed", "out-of-memory", "record-error"};
    in->cut_off = word_is_in_list(in->end_reason, proxy, MI_COUNT(proxy));
    in->server_ended = in->end_reason.p != NULL && !in->cut_off &&
                       !word_is_in_list(in->end_reason, client, MI_COUNT(client));
    return open_redact_rules(s, session, error);
}
