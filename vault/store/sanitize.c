#include "vault/store/sanitize.h"

#include "base/text.h"
#include "wire/json/text.h"

/* size in bytes above which a buffer is freed after use */
#define BUFFER_KEPT_MAX ((size_t)1 << 20)

void sanitize_close(struct row_sanitizer *k)
{
    buf_close(&k->scratch);
    buf_close(&k->clean);
    buf_close(&k->body);
    buf_close(&k->text);
}

/* Whether a name is short and has no escapes, so that it need not be copied. */
static bool name_is_short_without_escapes(struct slice s)
{
    return s.n <= STORED_NAME_MAX && memchr(s.p, '\\', s.n) == NULL;
}

/* A text in a buffer, as an offset, because the buffer may still move in memory. */
struct span {
    bool made; /* true: the text was copied to the buffer; false: the raw text is stored */
    size_t from, n;
};

/* Appends a name to the buffer: its escapes are resolved, and it is truncated to STORED_NAME_MAX
 * bytes. */
static struct span resolve_escapes(struct buf *b, struct slice raw)
{
    struct span sp = {.made = true, .from = b->n};
    struct buf name = {0};
    json_unescape(&name, text_prefix(raw, STORED_NAME_MAX * 6));
    text_append_valid_utf8(b, redact_shorten_name(buf_slice(&name), STORED_NAME_MAX));
    if (name.failed)
        b->failed = true;
    buf_close(&name);
    sp.n = b->n - sp.from;
    return sp;
}

static struct slice get_sanitized_or_raw_text(const struct buf *b, struct span sp, struct slice raw)
{
    return sp.made ? (struct slice){b->p + sp.from, sp.n} : raw;
}

/* Makes the texts of a row valid UTF-8 without NUL. Resolves the escapes in its names. */
static int make_row_texts_valid(struct row_sanitizer *k, const struct row *r, struct slice text,
                                struct sanitized_row *ret)
{
    struct buf *b = &k->scratch;
    struct span method = {0}, target = {0}, body = {0};
    buf_clear(b);
    if (r->method.p != NULL && !name_is_short_without_escapes(r->method))
        method = resolve_escapes(b, r->method);
    if (r->target.p != NULL && !name_is_short_without_escapes(r->target))
        target = resolve_escapes(b, r->target);
    if (r->not_json && text.p != NULL) {
        body = (struct span){.made = true, .from = b->n};
        text_append_valid_utf8(b, text);
        body.n = b->n - body.from;
    }
    if (b->failed || (body.made && b->p == NULL && !buf_reserve(b, 1)))
        return MI_ENOMEM;
    *ret = (struct sanitized_row){
        .rpc_id = r->rpc_id.n <= STORED_NAME_MAX ? r->rpc_id : (struct slice){0},
        .method = get_sanitized_or_raw_text(b, method, r->method),
        .target = get_sanitized_or_raw_text(b, target, r->target),
        .body = get_sanitized_or_raw_text(b, body, text),
    };
    return 0;
}

bool sanitize_name_contains_no_secret(struct clean_name *last, const struct redact *r,
                                      struct slice name)
{
    if (last->rules == r && last->n == name.n && memcmp(last->p, name.p, name.n) == 0)
        return true;
    if (redact_may_change_text(r, name))
        return false;
    if (name.n <= sizeof last->p) {
        memcpy(last->p, name.p, name.n);
        last->n = name.n;
        last->rules = r;
    }
    return true;
}

/* Sanitizes a name. Names are short and seldom contain secrets, so they are searched before they
 * are copied. */
static int sanitize_name(struct row_sanitizer *k, struct redact *r, struct clean_name *last,
                         struct slice *name)
{
    size_t n = 0;
    if (name->p == NULL || sanitize_name_contains_no_secret(last, r, *name))
        return 0;
    int st = redact_text(r, *name, &k->text, &n);
    if (st < 0 || n == 0)
        return st;
    struct slice head = text_prefix(buf_slice(&k->text), STORED_NAME_MAX);
    buf_slice_add(&k->clean, head);
    /* set only the length now: the buffer with the text may still move in memory, so the pointer is
     * set later */
    *name = (struct slice){NULL, head.n};
    return k->clean.failed ? MI_ENOMEM : 0;
}

/* Sanitizes a body. A truncated message is searched for secrets twice: as a message, then as
 * text. */
static int sanitize_row_body(struct row_sanitizer *k, struct redact *r, const struct row *row,
                             struct sanitized_row *ret)
{
    enum redact_how how = k->level == RECORD_FULL ? REDACT_SECRETS : REDACT_CONTENT;
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

int sanitize_row(struct row_sanitizer *k, const struct row *r, struct sanitized_row *ret)
{
    struct redact *rules = redact_get_current_sanitizer();
    struct slice body = k->level == RECORD_MINIMAL ? (struct slice){0} : r->body;
    /* a truncated body must not end within a secret */
    if (body.p != NULL && r->findings & FINDING(FIND_TOO_LONG))
        body.n = find_end_of_whole_words(body, REDACT_CUT_WORD);
    struct slice method, target;
    int st = rules != NULL ? make_row_texts_valid(k, r, body, ret) : MI_ENOMEM;
    if (st < 0)
        return st;
    buf_clear(&k->clean);
    if (k->body.cap > BUFFER_KEPT_MAX)
        buf_close(&k->body);
    if (k->text.cap > BUFFER_KEPT_MAX)
        buf_close(&k->text);
    method = ret->method;
    target = ret->target;
    ret->redactions = r->redactions;
    if ((st = sanitize_name(k, rules, &k->method, &method)) < 0 ||
        (st = sanitize_name(k, rules, &k->target, &target)) < 0 ||
        (st = sanitize_row_body(k, rules, r, ret)) < 0)
        return st;
    if (method.p == NULL && method.n > 0)
        ret->method = (struct slice){k->clean.p, method.n};
    if (target.p == NULL && target.n > 0)
        ret->target = (struct slice){k->clean.p + k->clean.n - target.n, target.n};
    if (r->revision.p != NULL && !redact_may_change_text(rules, r->revision))
        ret->revision = r->revision;
    return 0;
}

int sanitize_json(struct row_sanitizer *k, struct slice json, struct slice *ret)
{
    struct redact *r = redact_get_current_sanitizer();
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
