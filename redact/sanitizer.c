#include "redact/walk.h"

#include "base/text.h"

#include <assert.h>
#include <stdlib.h>

/* maximum number of rounds; a replacement may expose a secret that the next round finds */
#define ROUNDS 8
#define KEPT_MAX ((size_t)256 << 10) /* larger scratch buffers are freed after each text */

int redact_open(struct redact **ret, struct buf *error)
{
    buf_clear(error);
    struct redact *r = calloc(1, sizeof *r);
    if (r == NULL)
        return MI_ENOMEM;
    keys_open(&r->keys);
    int st = shapes_open(&r->shapes, error);
    if (st < 0) {
        redact_close(r);
        return st;
    }
    *ret = r;
    return 0;
}

void redact_close(struct redact *r)
{
    if (r == NULL)
        return;
    keys_close(&r->keys);
    shapes_close(r->shapes);
    pointers_close(&r->pointers);
    for (size_t i = 0; i < REDACT_LEVELS; i++)
        buf_close(&r->plain[i]);
    buf_close(&r->user);
    buf_close(&r->texts);
    buf_close(&r->other);
    free(r->edit);
    free(r);
}

/* ---- the rules in force ---------------------------------------------------------------------- */

static struct redact *present;

struct redact *redact_get_current_sanitizer(void)
{
    struct buf error = {0};
    if (present == NULL && redact_open(&present, &error) < 0)
        present = NULL;
    buf_close(&error);
    return present;
}

void redact_set_current_rules(struct redact *r)
{
    if (r != present)
        redact_close(present);
    present = r;
}

struct redact *redact_swap_current_rules(struct redact *r)
{
    struct redact *before = present;
    present = r;
    return before;
}

struct slice redact_filter_log_line(void *ctx, struct slice line)
{
    static struct buf clean; /* owns the result, which is valid until the next line is filtered */
    (void)ctx;
    size_t n = 0;
    struct redact *r = redact_get_current_sanitizer();
    if (r != NULL && r->busy)
        return line; /* this text is valid until the next line is filtered */
    if (r == NULL || redact_text(r, line, &clean, &n) < 0)
        return slice_of("log line dropped: out of memory while sanitizing it");
    return n > 0 ? buf_slice(&clean) : line;
}

/* ---- rounds over one text, until nothing is left to replace ---------------------------------- */

/* Which function of sanitizer.h the caller has called. */
enum what { WHAT_MESSAGE, WHAT_ARGUMENTS, WHAT_VALUE, WHAT_TEXT };

static void collect_redaction_edits(struct redact *r, struct slice in, enum what what)
{
    unsigned flags = r->how == REDACT_CONTENT ? IN_ARGUMENTS : 0;
    r->in = in;
    r->place = r->searched = 0;
    switch (what) {
    case WHAT_MESSAGE:
        if (!json_needs_no_redaction(r, in))
            redact_json(r, in, 0, ZONE_TOP, 0, 0);
        break;
    case WHAT_ARGUMENTS:
        redact_json(r, in, 0, ZONE_ANY, flags, 2);
        break;
    case WHAT_VALUE:
        if (!json_needs_no_redaction(r, in))
            redact_json(r, in, 0, ZONE_ANY, 0, 0);
        break;
    case WHAT_TEXT:
        redact_plain_text(r, in, 1);
        break;
    }
}

/* Sanitizes `in` once into `out`. Returns the number of replacements. */
static size_t sanitize_text_once(struct redact *r, struct slice in, enum what what, struct buf *out)
{
    buf_clear(out);
    r->out = out;
    r->done = r->count = r->edit_n = 0;
    r->again = false;
    buf_clear(&r->texts);
    collect_redaction_edits(r, in, what);
    for (size_t i = 0; i < r->edit_n; i++) {
        r->edit[i].from -= r->done;
        r->edit[i].to -= r->done;
    }
    if (r->count + r->edit_n > 0)
        edit_apply(r, 0, (struct slice){in.p + r->done, in.n - r->done}, out);
    r->failed |= r->texts.failed || out->failed;
    return r->count + r->edit_n;
}

static void free_large_buffer(struct buf *b)
{
    if (b->cap > KEPT_MAX)
        buf_close(b);
}

static void free_large_scratch_buffers(struct redact *r)
{
    for (size_t i = 0; i < REDACT_LEVELS; i++)
        free_large_buffer(&r->plain[i]);
    free_large_buffer(&r->texts);
    free_large_buffer(&r->other);
    if (r->edit_cap * sizeof *r->edit > KEPT_MAX) {
        free(r->edit);
        r->edit = NULL;
        r->edit_cap = 0;
    }
}

static int run_sanitizer_rounds(struct redact *r, struct slice in, enum what what, struct buf *out,
                                size_t *ret_n)
{
    size_t total = 0;
    struct buf *last = NULL, *to = out;
    assert(!r->busy);
    r->busy = true;
    r->failed = false;
    for (int round = 0; round < ROUNDS && !r->failed; round++) {
        size_t n = sanitize_text_once(r, in, what, to);
        if (n == 0)
            break;
        total += n;
        in = buf_slice(to);
        last = to;
        to = to == out ? &r->other : out;
        if (!r->again)
            break;
    }
    if (last == &r->other && !r->failed) {
        buf_clear(out);
        buf_slice_add(out, in);
        r->failed |= out->failed;
    }
    free_large_scratch_buffers(r);
    r->busy = false;
    if (r->failed) {
        buf_clear(out);
        return MI_ENOMEM;
    }
    *ret_n = total;
    return 0;
}

int redact_message(struct redact *r, struct slice json, enum redact_how how, struct buf *out,
                   size_t *ret_n)
{
    r->how = how;
    return run_sanitizer_rounds(r, json, WHAT_MESSAGE, out, ret_n);
}

int redact_arguments(struct redact *r, struct slice json, enum redact_how how, struct buf *out,
                     size_t *ret_n)
{
    r->how = how;
    return run_sanitizer_rounds(r, json, WHAT_ARGUMENTS, out, ret_n);
}

int redact_value(struct redact *r, struct slice json, struct buf *out, size_t *ret_n)
{
    r->how = REDACT_SECRETS;
    return run_sanitizer_rounds(r, json, WHAT_VALUE, out, ret_n);
}

bool redact_may_change_text(const struct redact *r, struct slice text)
{
    return shapes_have_patterns(r->shapes) || shapes_may_match(text) ||
           redact_may_contain_key(r, text);
}

int redact_text(struct redact *r, struct slice text, struct buf *out, size_t *ret_n)
{
    r->how = REDACT_SECRETS;
    if (redact_may_change_text(r, text))
        return run_sanitizer_rounds(r, text, WHAT_TEXT, out, ret_n);
    buf_clear(out);
    *ret_n = 0;
    return 0;
}

size_t redact_get_len_of_first_chars(struct slice text, size_t chars)
{
    size_t i = 0;
    for (size_t n = 0; i < text.n && n < chars;) {
        struct slice rest = {text.p + i, text.n - i};
        size_t run = text_count_leading_plain_bytes(
            (struct slice){rest.p, size_min(rest.n, chars - n)}, '[', 0);
        size_t mark = rest.p[0] == '[' ? get_redaction_mark_len(rest) : 0;
        size_t len = run + mark > 0 ? run + mark : text_utf8_len(rest.p, rest.n);
        i += len > 0 ? len : 1;
        n += run > 0 ? run : mark > 0 ? mark : 1;
    }
    return i;
}

int redact_append_sanitized_text(struct slice text, struct buf *b)
{
    struct redact *r = redact_get_current_sanitizer();
    struct buf clean = {0};
    size_t n = 0;
    int st = r != NULL ? redact_text(r, text, &clean, &n) : MI_ENOMEM;
    if (st == 0)
        buf_slice_add(b, n > 0 ? buf_slice(&clean) : text);
    buf_close(&clean);
    return st == 0 && b->failed ? MI_ENOMEM : st;
}
