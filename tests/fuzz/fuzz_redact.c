/* Any bytes, complete or truncated: the quick test changes no result, valid JSON stays valid, sanitizing is idempotent, bytes that are not
 * replaced are unchanged, and nothing is read past the end. */
#include "redact/walk.h"

#include "base/buf.h"
#include "tests/fuzz/fuzz.h"
#include "wire/json/scan.h"

static struct redact *rules(bool user)
{
    static struct redact *r[2];
    struct buf error = {0};
    if (r[user] != NULL)
        return r[user];
    MUST(redact_open(&r[user], &error) == 0);
    if (user) {
        MUST(redact_add_rule(r[1], "keys", "pin, *code, x*", &error) == 0);
        MUST(redact_add_rule(r[1], "keep", "zip_code", &error) == 0);
        MUST(redact_add_rule(r[1], "content", "prompt", &error) == 0);
        MUST(redact_add_rule(r[1], "pointer", "/arguments/a /result/*/b", &error) == 0);
        MUST(redact_add_rule(r[1], "pattern.ticket", "T-[0-9]{3}", &error) == 0);
    }
    buf_close(&error);
    return r[user];
}

typedef int (*one_fn)(struct redact *r, struct slice in, struct buf *out, size_t *n);

static int message(struct redact *r, struct slice in, struct buf *out, size_t *n)
{
    return redact_message(r, in, REDACT_CONTENT, out, n);
}

static int secrets(struct redact *r, struct slice in, struct buf *out, size_t *n)
{
    return redact_message(r, in, REDACT_SECRETS, out, n);
}

static int arguments(struct redact *r, struct slice in, struct buf *out, size_t *n)
{
    return redact_arguments(r, in, REDACT_CONTENT, out, n);
}

static bool is_json(struct slice s)
{
    struct json_scan scan;
    return json_scan(s, NULL, NULL, &scan) == 0;
}

/* The text before the first mark is unchanged. */
static void pieces_stay(struct slice in, struct slice out)
{
    const char *p = out.p;
    if (memmem(in.p, in.n, "blob", 4) != NULL || memmem(in.p, in.n, "data", 4) != NULL)
        return; /* base64 may have been encoded again, without a visible mark */
    const char *first = memmem(out.p, out.n, "[redacted:", 10);
    size_t n = first != NULL ? (size_t)(first - p) : 0;
    if (n > 0 && p[n - 1] == '"')
        n--; /* it may belong to the mark */
    while (n > 0 && p[n - 1] == '\\')
        n--;
    MUST(n <= in.n && memcmp(in.p, p, n) == 0);
}

static void same_without_quick_test(struct redact *r, one_fn fn, struct slice in)
{
    struct buf quick = {0}, slow = {0};
    size_t n = 0, slow_n = 0;
    MUST(fn(r, in, &quick, &n) == 0);
    r->thorough = true;
    MUST(fn(r, in, &slow, &slow_n) == 0);
    r->thorough = false;
    MUST(n == slow_n && quick.n == slow.n);
    MUST(quick.n == 0 || memcmp(quick.p, slow.p, quick.n) == 0);
    buf_close(&quick);
    buf_close(&slow);
}

static void twice(struct redact *r, one_fn fn, struct slice in, bool json)
{
    struct buf once = {0}, again = {0};
    size_t n = 0;
    MUST(fn(r, in, &once, &n) == 0);
    if (n > 0) {
        size_t more = 0;
        if (json)
            MUST(is_json(buf_slice(&once)));
        if (fn == secrets)
            pieces_stay(in, buf_slice(&once));
        MUST(fn(r, buf_slice(&once), &again, &more) == 0);
        if (more != 0)
            fprintf(stderr, "once:  %.*s\nagain: %.*s\n", (int)once.n, once.p, (int)again.n,
                    again.p);
        MUST(more == 0);
        MUST(fn(r, in, &again, &more) == 0 && more == n);
        MUST(slice_eq(buf_slice(&once), buf_slice(&again)));
    } else {
        MUST(once.n == 0);
    }
    buf_close(&once);
    buf_close(&again);
}

/* A head, or text that is not JSON: nothing is read past its end. */
static void head(struct redact *r, struct slice in)
{
    struct buf out = {0};
    size_t n;
    char *copy = malloc(in.n);
    MUST(copy != NULL);
    memcpy(copy, in.p, in.n);
    MUST(redact_arguments(r, (struct slice){copy, in.n}, REDACT_CONTENT, &out, &n) == 0);
    buf_close(&out);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice all = {(const char *)data, size};
    if (size == 0)
        return 0;
    char *copy = malloc(size); /* memory ends with the last byte */
    MUST(copy != NULL);
    memcpy(copy, data, size);
    all.p = copy;
    for (int user = 0; user < 2; user++) {
        struct redact *r = rules(user != 0);
        if (is_json(all)) {
            twice(r, message, all, true);
            twice(r, secrets, all, true);
            twice(r, arguments, all, true);
        }
        for (size_t k = 1; k <= size; k += 1 + size / 8) {
            head(r, (struct slice){copy, k});
            same_without_quick_test(r, message, (struct slice){copy, k});
        }
        same_without_quick_test(r, message, all);
        same_without_quick_test(r, secrets, all);
        struct buf out = {0};
        size_t n;
        twice(r, redact_text, all, false);
        struct redact_lines lines = {.in_key = copy[0] & 1};
        MUST(redact_line(r, &lines, all, &out, &n) == 0);
        buf_close(&out);
    }
    free(copy);
    return 0;
}
