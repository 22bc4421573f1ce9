#include "journal/message.h"

/* A text of a message. */
struct place {
    uint32_t
        at; /* in the body, TEXT_MISSING, or TEXT_AFTER: after the body and the texts before it */
    uint32_t n;
};
#define TEXT_MISSING UINT32_MAX
#define TEXT_AFTER (UINT32_MAX - 1)

enum { MESSAGE_BODY = 1, MESSAGE_NOT_JSON = 2, MESSAGE_ERROR_CODE = 4, MESSAGE_FLAGS = 7 };

/* Followed by the body, then the texts that are not in it. */
struct message {
    uint64_t seq;
    int64_t t_us;
    uint64_t size, redactions, request_seq;
    int64_t error_code;
    uint64_t batch_seq, findings, rules, body_n;
    struct place rpc_id, method, target;
    uint8_t kind, direction, origin, action, flags, zero[3];
};
_Static_assert(sizeof(struct message) == 10 * 8 + 3 * 8 + 8, "no padding");

static bool is_within(struct slice s, struct slice body)
{
    return s.p != NULL && body.p != NULL && s.n <= body.n &&
           (uintptr_t)s.p - (uintptr_t)body.p <= body.n - s.n;
}

/* Bytes after the body. */
static size_t outside(struct slice s, struct slice body)
{
    return is_within(s, body) ? 0 : s.n;
}

size_t message_size(const struct row *r)
{
    return sizeof(struct message) + r->body.n + outside(r->rpc_id, r->body) +
           outside(r->method, r->body) + outside(r->target, r->body);
}

static struct place message_text(struct slice s, struct slice body, char **to)
{
    if (s.p == NULL)
        return (struct place){TEXT_MISSING, 0};
    if (is_within(s, body))
        return (struct place){(uint32_t)(s.p - body.p), (uint32_t)s.n};
    if (s.n > 0)
        memcpy(*to, s.p, s.n);
    *to += s.n;
    return (struct place){TEXT_AFTER, (uint32_t)s.n};
}

void message_write(const struct row *r, char *to)
{
    char *after = to + sizeof(struct message);
    if (r->body.n > 0)
        memcpy(after, r->body.p, r->body.n);
    after += r->body.n;
    struct message m = {
        .seq = r->seq,
        .t_us = r->t_us,
        .size = r->size,
        .redactions = r->redactions,
        .request_seq = r->request_seq,
        .error_code = r->error_code,
        .batch_seq = r->batch_seq,
        .findings = r->findings,
        .rules = r->rules,
        .body_n = r->body.n,
        .kind = (uint8_t)r->kind,
        .direction = (uint8_t)r->direction,
        .origin = (uint8_t)r->origin,
        .action = (uint8_t)r->action,
        .flags = (uint8_t)((r->body.p != NULL ? MESSAGE_BODY : 0) |
                           (r->not_json ? MESSAGE_NOT_JSON : 0) |
                           (r->has_error_code ? MESSAGE_ERROR_CODE : 0)),
    };
    m.rpc_id = message_text(r->rpc_id, r->body, &after);
    m.method = message_text(r->method, r->body, &after);
    m.target = message_text(r->target, r->body, &after);
    memcpy(to, &m, sizeof m);
}

/* Takes a text from the body, or from *after. */
static bool message_text_read(struct place t, struct slice body, struct slice *after,
                              struct slice *ret)
{
    *ret = (struct slice){0};
    if (t.at == TEXT_MISSING)
        return t.n == 0;
    if (t.at == TEXT_AFTER) {
        if (t.n > after->n)
            return false;
        *ret = (struct slice){after->p, t.n};
        *after = (struct slice){after->p + t.n, after->n - t.n};
        return true;
    }
    if (body.p == NULL || t.at > body.n || t.n > body.n - t.at)
        return false;
    *ret = (struct slice){body.p + t.at, t.n};
    return true;
}

static bool message_is_valid(const struct message *m, size_t n)
{
    static const uint8_t zero[sizeof m->zero];
    return m->body_n <= n && (m->body_n == 0 || (m->flags & MESSAGE_BODY) != 0) &&
           m->kind < KIND_UNKNOWN && m->direction < ROW_DIRECTION_UNKNOWN &&
           m->origin < ROW_ORIGIN_UNKNOWN && m->action < ROW_ACTION_UNKNOWN &&
           (m->flags & ~MESSAGE_FLAGS) == 0 && m->findings < FINDING(FIND_COUNT) &&
           m->rules < RULE(RULE_COUNT) && memcmp(m->zero, zero, sizeof zero) == 0;
}

int message_read(struct slice bytes, struct row *ret)
{
    struct message m;
    if (bytes.n < sizeof m)
        return MI_EINVAL;
    memcpy(&m, bytes.p, sizeof m);
    const char *p = bytes.p + sizeof m;
    size_t n = bytes.n - sizeof m;
    if (!message_is_valid(&m, n))
        return MI_EINVAL;
    struct slice body = {(m.flags & MESSAGE_BODY) != 0 ? p : NULL, m.body_n};
    struct slice after = {p + m.body_n, n - m.body_n};
    struct slice rpc_id, method, target;
    if (!message_text_read(m.rpc_id, body, &after, &rpc_id) ||
        !message_text_read(m.method, body, &after, &method) ||
        !message_text_read(m.target, body, &after, &target) || after.n != 0)
        return MI_EINVAL;
    *ret = (struct row){
        .kind = m.kind,
        .seq = m.seq,
        .t_us = m.t_us,
        .direction = m.direction,
        .origin = m.origin,
        .action = m.action,
        .rpc_id = rpc_id,
        .method = method,
        .target = target,
        .body = body,
        .not_json = (m.flags & MESSAGE_NOT_JSON) != 0,
        .size = m.size,
        .redactions = m.redactions,
        .request_seq = m.request_seq,
        .has_error_code = (m.flags & MESSAGE_ERROR_CODE) != 0,
        .error_code = m.error_code,
        .batch_seq = m.batch_seq,
        .findings = m.findings,
        .rules = m.rules,
    };
    return 0;
}
