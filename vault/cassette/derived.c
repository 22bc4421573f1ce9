#include "vault/cassette/derived.h"

#include "base/text.h"
#include "redact/sanitizer.h"
#include "wire/json/text.h"

/* A derived text: a range of the scratch buffer, or the text in the body. */
struct span {
    bool copied; /* true: the text is in the scratch buffer; false: the text is in the body */
    size_t from, n;
};

/* Copies a name to `b` with escapes resolved and at most CASSETTE_NAME_MAX bytes, as the vault
 * stores names. Copies nothing if the name is already in this form. */
static struct span copy_unescaped_name(struct buf *b, struct slice raw)
{
    if (raw.p == NULL || (raw.n <= CASSETTE_NAME_MAX && memchr(raw.p, '\\', raw.n) == NULL))
        return (struct span){0};
    struct span s = {.copied = true, .from = b->n};
    struct buf name = {0};
    json_unescape(&name, text_prefix(raw, (size_t)CASSETTE_NAME_MAX * 6));
    text_append_valid_utf8(b, redact_shorten_name(buf_slice(&name), CASSETTE_NAME_MAX));
    if (name.failed)
        b->failed = true;
    buf_close(&name);
    s.n = b->n - s.from;
    return s;
}

static struct slice cassette_get_copied_or_raw_text(const struct buf *b, struct span s,
                                                    struct slice raw)
{
    return s.copied ? (struct slice){b->p + s.from, s.n} : raw;
}

int cassette_derive_message_values(struct slice body, bool is_stderr, struct buf *scratch,
                                   struct cassette_derived *ret)
{
    *ret = (struct cassette_derived){.kind = KIND_NOISE,
                                     .origin = ROW_PEER,
                                     .action = ROW_FORWARDED,
                                     .size = (int64_t)body.n,
                                     .request_seq = -1};
    buf_clear(scratch);
    if (is_stderr || body.p == NULL || rpc_read(body, &ret->rpc) < 0)
        return 0;
    const struct rpc *m = &ret->rpc;
    struct slice raw_target = rpc_target(m);
    struct span method = copy_unescaped_name(scratch, m->method);
    struct span target = copy_unescaped_name(scratch, raw_target);
    if (scratch->failed || ((method.copied || target.copied) && !buf_reserve(scratch, 1)))
        return MI_ENOMEM;
    ret->kind = row_kind_of_rpc(m->kind);
    ret->method = cassette_get_copied_or_raw_text(scratch, method, m->method);
    ret->target = cassette_get_copied_or_raw_text(scratch, target, raw_target);
    if (m->id.type != JSON_NONE && m->id.text.n <= CASSETTE_NAME_MAX)
        ret->rpc_id = m->id.text;
    if (m->kind == RPC_ERROR)
        ret->has_error_code = json_int(m->error_code, &ret->error_code);
    return 0;
}

void cassette_derive_from_row(const struct query_message *m, struct cassette_derived *d)
{
    static const enum rpc_kind kinds[] = {RPC_REQUEST, RPC_RESULT, RPC_ERROR, RPC_BATCH};
    struct json_scan scan;
    if (m->body.p != NULL)
        return;
    for (size_t i = 0; i < MI_COUNT(kinds); i++)
        if (m->kind == row_kind_of_rpc(kinds[i]))
            d->rpc.kind = kinds[i];
    /* In a vault, the column rpc_id may have any text. */
    if (m->rpc_id.p != NULL && json_scan(m->rpc_id, NULL, NULL, &scan) == 0)
        d->rpc.id = (struct json_value){scan.type, scan.root};
}
