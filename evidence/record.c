#include "evidence/record.h"

static void record_append_bytes(struct record *r, const void *p, size_t n)
{
    if (n <= sizeof r->text - r->n) {
        memcpy(r->text + r->n, p, n);
        r->n += n;
        return;
    }
    digest_add(&r->sum, r->text, r->n);
    r->n = 0;
    if (n <= sizeof r->text / 2)
        record_append_bytes(r, p, n);
    else
        digest_add(&r->sum, p, n);
}

void record_begin_digest(struct record *r, const struct salt *salt, const char *kind)
{
    digest_begin(&r->sum);
    r->n = 0;
    record_append_bytes(r, "mcpi1", 5);
    record_append_bytes(r, salt->b, SALT_N);
    record_add_text(r, slice_of(kind));
}

/* Adds the prefix of a field, in unsigned LEB128: 0 for NULL, otherwise the length plus one. */
static void record_add_length_prefix(struct record *r, uint64_t rest)
{
    uint8_t length[10];
    size_t n = 0;
    for (; rest > 0x7F; rest >>= 7)
        length[n++] = 0x80 | (rest & 0x7F);
    length[n++] = (uint8_t)rest;
    record_append_bytes(r, length, n);
}

void record_add_length(struct record *r, uint64_t n)
{
    record_add_length_prefix(r, n + 1);
}

void record_add_bytes(struct record *r, struct slice part)
{
    if (part.n > 0)
        record_append_bytes(r, part.p, part.n);
}

void record_add_text(struct record *r, struct slice text)
{
    record_add_length_prefix(r, text.p != NULL ? (uint64_t)text.n + 1 : 0);
    record_add_bytes(r, text);
}

void record_add_null(struct record *r)
{
    record_add_text(r, (struct slice){0});
}

void record_add_number(struct record *r, int64_t v)
{
    char digits[20];
    size_t at = sizeof digits;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do {
        digits[--at] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (v < 0)
        digits[--at] = '-';
    record_add_text(r, (struct slice){digits + at, sizeof digits - at});
}

void record_finish_digest(struct record *r, struct digest *ret)
{
    digest_add(&r->sum, r->text, r->n);
    digest_end(&r->sum, ret);
}
