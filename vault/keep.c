#include "vault/keep.h"

#include "base/text.h"
#include "wire/json_text.h"

void keep_close(struct keep *k)
{
    buf_close(&k->scratch);
}

/* Text that is fine as it is stays where it is; other text goes to the scratch buffer. */
static bool is_plain(struct slice s)
{
    return s.n <= KEEP_NAME_MAX && memchr(s.p, '\\', s.n) == NULL;
}

/* Offsets, not pointers, while the buffer may still move. */
struct span {
    bool made;
    size_t from, n;
};

static struct span resolve(struct buf *b, struct slice raw)
{
    struct span sp = {.made = true, .from = b->n};
    struct buf name = {0};
    json_unescape(&name, text_head(raw, KEEP_NAME_MAX * 6));
    text_utf8(b, text_head(buf_slice(&name), KEEP_NAME_MAX));
    if (name.failed)
        b->failed = true;
    buf_close(&name);
    sp.n = b->n - sp.from;
    return sp;
}

static struct slice pick(const struct buf *b, struct span sp, struct slice raw)
{
    return sp.made ? (struct slice){b->p + sp.from, sp.n} : raw;
}

int keep_row(struct keep *k, const struct row *r, struct kept *ret)
{
    struct buf *b = &k->scratch;
    struct span method = {0}, target = {0}, body = {0};
    buf_clear(b);
    if (r->method.p != NULL && !is_plain(r->method))
        method = resolve(b, r->method);
    if (r->target.p != NULL && !is_plain(r->target))
        target = resolve(b, r->target);
    if (r->not_json && r->body.p != NULL) {
        body = (struct span){.made = true, .from = b->n};
        text_utf8(b, r->body);
        body.n = b->n - body.from;
    }
    if (b->failed || (body.made && b->p == NULL && !buf_room(b, 1)))
        return MI_ENOMEM;
    *ret = (struct kept){
        .rpc_id = r->rpc_id.n <= KEEP_NAME_MAX ? r->rpc_id : (struct slice){0},
        .method = pick(b, method, r->method),
        .target = pick(b, target, r->target),
        .body = pick(b, body, r->body),
    };
    return 0;
}
