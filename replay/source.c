#include "replay/source.h"

#include "base/room.h"
#include "replay/source_inner.h"
#include "vault/cassette.h"
#include "vault/redact.h"

#include <stdlib.h>

uint64_t source_seq(uint64_t place)
{
    return place & (PLACE_PROBE - 1);
}

const struct source_info *source_info(const struct source *s)
{
    return &s->info;
}

const char *source_error(struct source *s)
{
    return buf_str(&s->error);
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

/* ---- what is kept of a recording ---- */

static bool read_kind(struct slice kind, enum rpc_kind *ret)
{
    static const enum rpc_kind kinds[] = {RPC_REQUEST, RPC_NOTIFICATION, RPC_RESULT, RPC_ERROR};
    for (size_t i = 0; i < MI_COUNT(kinds); i++) {
        if (!slice_is(kind, rpc_kind_name(kinds[i])))
            continue;
        *ret = kinds[i];
        return true;
    }
    return false;
}

static void keep_text(struct buf *b, struct slice text, size_t *ret_at, size_t *ret_n)
{
    *ret_at = b->n;
    *ret_n = text.n;
    buf_slice_add(b, text);
}

bool source_take(struct source *s, const struct query_message *m, uint64_t place_base)
{
    struct source_row r = {0};
    bool from_client = slice_is(m->direction, "c2s");
    r.m.is_stderr = slice_is(m->kind, "stderr");
    if (!r.m.is_stderr && !read_kind(m->kind, &r.m.kind))
        return true;
    if (r.m.is_stderr) /* of the server, whoever reads it */
        from_client = false;
    else if (from_client ? !slice_is(m->origin, "peer") : !slice_is(m->action, "forwarded"))
        return true;
    r.m.place = place_base + (uint64_t)m->seq;
    r.m.request_place = m->request_seq != 0 ? place_base + (uint64_t)m->request_seq : 0;
    r.m.t_us = m->t_us;
    r.m.from_client = from_client;
    r.m.in_batch = m->batch_seq != 0;
    r.has_id = m->rpc_id.p != NULL;
    r.has_body = m->body.p != NULL;
    r.m.lost = !r.has_body && !m->is_large;
    if (r.has_id)
        keep_text(&s->text, m->rpc_id, &r.id_at, &r.id_n);
    if (r.has_body)
        keep_text(&s->text, m->body, &r.body_at, &r.body_n);
    if (!ROOM(s->rows, s->rows_n, s->rows_cap))
        return false;
    s->rows[s->rows_n++] = r;
    return !s->text.failed;
}

/* Why the session ended is for the server to say, unless it was the client or we. */
static bool ended_by_server(struct slice reason)
{
    return reason.p != NULL && !slice_is(reason, "client-closed") && !slice_is(reason, "signal") &&
           !slice_is(reason, "record-error");
}

/* ---- the form in which it was kept ---- */

static int open_rules(struct source *s, const struct query_session *session, struct buf *error)
{
    struct buf now = {0};
    if (session->redact_rules.p == NULL)
        return 0;
    int st = redact_open_rules(&s->redact, session->redact_rules, error);
    if (st < 0)
        return st;
    redact_rules(s->redact, &now);
    s->redact_old = !slice_eq(buf_slice(&now), session->redact_rules);
    s->redact_content =
        session->record_level.p != NULL && slice_is(session->record_level, "standard");
    st = now.failed ? MI_ENOMEM : 0;
    buf_close(&now);
    return st;
}

int source_form(struct source *s, struct slice message, struct slice *ret)
{
    size_t n = 0;
    *ret = message;
    if (s->redact == NULL)
        return 0;
    int st = redact_message(s->redact, message, s->redact_content ? REDACT_CONTENT : REDACT_SECRETS,
                            &s->form, &n);
    if (st == 0 && n > 0)
        *ret = buf_slice(&s->form);
    return st;
}

bool source_form_is_old(const struct source *s)
{
    return s->redact_old;
}

/* ---- what it is about ---- */

int source_take_info(struct source *s, const struct query_session *session, struct buf *error)
{
    struct source_info *in = &s->info;
    const struct slice from[] = {session->uid, session->name, session->protocol_version,
                                 session->record_level, session->end_reason};
    struct slice *const to[] = {&in->uid, &in->name, &in->protocol_version, &in->record_level,
                                &in->end_reason};
    if (session->record_level.p != NULL && slice_is(session->record_level, "minimal")) {
        buf_adds(error, "it was recorded with --record minimal, without what was said, and cannot "
                        "be replayed; record it again with --record standard");
        return MI_EINVAL;
    }
    size_t n = 0;
    for (size_t i = 0; i < MI_COUNT(from); i++)
        n += from[i].n;
    if (!buf_room(&s->info_text, n + 64))
        return MI_ENOMEM;
    for (size_t i = 0; i < MI_COUNT(from); i++) {
        size_t at = s->info_text.n;
        buf_slice_add(&s->info_text, from[i]);
        *to[i] =
            from[i].p != NULL ? (struct slice){s->info_text.p + at, from[i].n} : (struct slice){0};
    }
    in->has_exit_status = session->has_exit_status;
    in->exit_status = session->exit_status;
    in->server_ended = ended_by_server(session->end_reason);
    return open_rules(s, session, error);
}

/* ---- reading ---- */

int source_next(struct source *s, struct source_message *ret)
{
    while (s->next == s->rows_n) {
        int st = s->q != NULL ? source_next_page(s) : MI_ENOENT;
        if (st < 0)
            return st;
    }
    const struct source_row *r = &s->rows[s->next++];
    *ret = r->m;
    if (r->has_id)
        ret->id = (struct slice){s->text.p + r->id_at, r->id_n};
    if (r->has_body)
        ret->body = (struct slice){s->text.p + r->body_at, r->body_n};
    return 0;
}

static int by_place(const void *key, const void *row)
{
    uint64_t a = *(const uint64_t *)key;
    uint64_t b = ((const struct source_row *)row)->m.place;
    return a < b ? -1 : a > b;
}

int source_body(struct source *s, uint64_t place, struct buf *b)
{
    if (s->q != NULL)
        return source_session_body(s, place, b);
    const struct source_row *r = NULL;
    if (s->rows_n > 0)
        r = bsearch(&place, s->rows, s->rows_n, sizeof *r, by_place);
    if (r == NULL || !r->has_body) {
        buf_clear(&s->error);
        buf_adds(&s->error, "the recording has no such message");
        return MI_ENOENT;
    }
    buf_add(b, s->text.p + r->body_at, r->body_n);
    return b->failed ? MI_ENOMEM : 0;
}

/* ---- cassettes ---- */

struct taking {
    struct source *s;
    struct buf *error;
    int status;
};

static bool on_session(void *ctx, const struct query_session *session)
{
    struct taking *t = ctx;
    t->status = source_take_info(t->s, session, t->error);
    return t->status == 0;
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct taking *t = ctx;
    if (!source_take(t->s, m, PLACE_MAIN))
        t->status = MI_ENOMEM;
    return t->status == 0;
}

int source_open_cassette(struct source **ret, const char *path, struct buf *error)
{
    struct source *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    struct taking t = {.s = s, .error = error};
    int st = cassette_read(path, on_session, on_message, &t, error);
    if (st == 0)
        st = t.status;
    if (st < 0) {
        source_close(s);
        return st;
    }
    *ret = s;
    return 0;
}
