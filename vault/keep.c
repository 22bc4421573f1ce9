#include "vault/keep.h"

#include "base/text.h"
#include "vault/redact.h"
#include "wire/json_text.h"

#define CUT_WORD_MAX 1024       /* bytes of a word at a cut that may be a secret */
#define LARGE ((size_t)1 << 20) /* bytes of a buffer that are given back */

const char *keep_level_name(enum keep_level level)
{
    static const char *const names[] = {"full", "standard", "minimal"};
    return names[level];
}

void keep_close(struct keep *k)
{
    buf_close(&k->scratch);
    buf_close(&k->clean);
    buf_close(&k->body);
    buf_close(&k->text);
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
    struct slice head = text_head(buf_slice(&name), KEEP_NAME_MAX);
    if (head.n < name.n)
        head.n = redact_whole_words(head, CUT_WORD_MAX);
    text_utf8(b, head);
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

/* Valid UTF-8 without NUL, names without escapes. */
static int make_valid(struct keep *k, const struct row *r, struct slice text, struct kept *ret)
{
    struct buf *b = &k->scratch;
    struct span method = {0}, target = {0}, body = {0};
    buf_clear(b);
    if (r->method.p != NULL && !is_plain(r->method))
        method = resolve(b, r->method);
    if (r->target.p != NULL && !is_plain(r->target))
        target = resolve(b, r->target);
    if (r->not_json && text.p != NULL) {
        body = (struct span){.made = true, .from = b->n};
        text_utf8(b, text);
        body.n = b->n - body.from;
    }
    if (b->failed || (body.made && b->p == NULL && !buf_room(b, 1)))
        return MI_ENOMEM;
    *ret = (struct kept){
        .rpc_id = r->rpc_id.n <= KEEP_NAME_MAX ? r->rpc_id : (struct slice){0},
        .method = pick(b, method, r->method),
        .target = pick(b, target, r->target),
        .body = pick(b, body, text),
    };
    return 0;
}

/* Names are short, and seldom hold anything: they are looked at before they are copied. */
static int clean_name(struct keep *k, struct redact *r, struct slice *name)
{
    size_t n = 0;
    if (name->p == NULL || !redact_maybe(r, *name))
        return 0;
    int st = redact_text(r, *name, &k->text, &n);
    if (st < 0 || n == 0)
        return st;
    struct slice head = text_head(buf_slice(&k->text), KEEP_NAME_MAX);
    buf_slice_add(&k->clean, head);
    *name = (struct slice){NULL, head.n}; /* the buffer may move: the pointer comes later */
    return k->clean.failed ? MI_ENOMEM : 0;
}

/* The head of a message that was too long is read as one before it is read as text. */
static int clean_body(struct keep *k, struct redact *r, const struct row *row, struct kept *ret)
{
    enum redact_how how = k->level == KEEP_FULL ? REDACT_SECRETS : REDACT_CONTENT;
    size_t n = 0, more = 0;
    if (ret->body.p == NULL)
        return 0;
    bool message = !row->not_json || (ret->body.n > 0 && ret->body.p[0] == '{');
    int st = message ? redact_message(r, ret->body, how, &k->body, &n) : 0;
    if (st == 0 && n > 0)
        ret->body = buf_slice(&k->body);
    if (st == 0 && row->not_json) {
        st = redact_text(r, ret->body, &k->text, &more);
        if (st == 0 && more > 0)
            ret->body = buf_slice(&k->text);
    }
    ret->redactions += n + more;
    return st;
}

int keep_row(struct keep *k, const struct row *r, struct kept *ret)
{
    struct redact *rules = redact_present();
    struct slice body = k->level == KEEP_MINIMAL ? (struct slice){0} : r->body;
    if (body.p != NULL && r->findings & FINDING(FIND_TOO_LONG)) /* not within a secret */
        body.n = redact_whole_words(body, CUT_WORD_MAX);
    struct slice method, target;
    int st = rules != NULL ? make_valid(k, r, body, ret) : MI_ENOMEM;
    if (st < 0)
        return st;
    buf_clear(&k->clean);
    if (k->body.cap > LARGE)
        buf_close(&k->body);
    if (k->text.cap > LARGE)
        buf_close(&k->text);
    method = ret->method;
    target = ret->target;
    ret->redactions = r->redactions;
    if ((st = clean_name(k, rules, &method)) < 0 || (st = clean_name(k, rules, &target)) < 0 ||
        (st = clean_body(k, rules, r, ret)) < 0)
        return st;
    if (method.p == NULL && method.n > 0)
        ret->method = (struct slice){k->clean.p, method.n};
    if (target.p == NULL && target.n > 0)
        ret->target = (struct slice){k->clean.p + k->clean.n - target.n, target.n};
    return 0;
}

int keep_json(struct keep *k, struct slice json, struct slice *ret)
{
    struct redact *r = redact_present();
    size_t n = 0;
    *ret = json;
    if (r == NULL)
        return MI_ENOMEM;
    if (json.p == NULL)
        return 0;
    int st = redact_value(r, json, &k->text, &n);
    if (st == 0 && n > 0)
        *ret = buf_slice(&k->text);
    return st;
}

int keep_text(struct slice text, struct buf *b)
{
    struct redact *r = redact_present();
    struct buf clean = {0};
    size_t n = 0;
    int st = r != NULL ? redact_text(r, text, &clean, &n) : MI_ENOMEM;
    if (st == 0)
        buf_slice_add(b, n > 0 ? buf_slice(&clean) : text);
    buf_close(&clean);
    return st == 0 && b->failed ? MI_ENOMEM : st;
}
