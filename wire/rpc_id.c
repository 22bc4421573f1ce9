#include "wire/rpc_id.h"

#include "wire/json/text.h"

#include <stdio.h>

static bool is_plain_integer(struct slice s)
{
    size_t i = s.n > 0 && s.p[0] == '-' ? 1 : 0;
    if (i == s.n || s.n - i > 18 || (s.p[i] == '0' && s.n > 1))
        /* the text is not a canonical integer: the canonical form of "-0" is "0", and JSON has no
         * number "007" */
        return false;
    for (; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

/* Appends the canonical form of a decimal number: its significant digits, and the power of ten of
 * the last digit. The form is never longer than the number as written. */
static void append_canonical_number(struct buf *b, struct slice s)
{
    int64_t exp10 = 0;
    /* number of zeros read since the last written digit; they may be trailing zeros */
    size_t zeros = 0;
    bool minus = s.p[0] == '-', fraction = false, written = false;
    size_t i = minus ? 1 : 0;
    for (; i < s.n && s.p[i] != 'e' && s.p[i] != 'E'; i++) {
        if (s.p[i] == '.') {
            fraction = true;
            continue;
        }
        exp10 -= fraction;
        if (s.p[i] == '0') {
            zeros += written;
            continue;
        }
        if (!written && minus)
            buf_addc(b, '-');
        for (; zeros > 0; zeros--)
            buf_addc(b, '0');
        buf_addc(b, s.p[i]);
        written = true;
    }
    if (i < s.n) {
        int64_t e = 0;
        bool negative = s.p[++i] == '-';
        for (i += s.p[i] == '-' || s.p[i] == '+' ? 1 : 0; i < s.n; i++)
            /* stop when `e` is at least a million, which is more than any peer uses */
            e = e < 1000000 ? e * 10 + (s.p[i] - '0') : e;
        exp10 += negative ? -e : e;
    }
    exp10 += (int64_t)zeros;
    if (!written)
        buf_addc(b, '0');
    else if (exp10 >= 0 && exp10 <= 18)
        for (; exp10 > 0; exp10--)
            buf_addc(b, '0'); /* write the zeros that the exponent stands for: 1e3 becomes 1000 */
    else
        buf_printf(b, "e%lld", (long long)exp10);
}

void rpc_id_append_key(struct buf *b, struct json_value id)
{
    struct buf canonical = {0};
    struct rpc_id key = rpc_id_from_json(id, &canonical);
    buf_addc(b, key.type);
    buf_slice_add(b, key.text);
    b->failed |= canonical.failed;
    buf_close(&canonical);
}

bool rpc_id_equals_number(struct json_value id, uint64_t n)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    struct buf b = {0};
    struct rpc_id key = rpc_id_from_json(id, &b);
    bool same = key.type != 0 && slice_eq(key.text, (struct slice){digits, len});
    buf_close(&b);
    return same;
}

#define HASH_BEGIN 0xCBF29CE484222325u /* FNV-1a */

static uint64_t hash_add_bytes(uint64_t h, struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001B3u;
    return h;
}

static uint64_t mix_high_bits_into_hash(uint64_t h)
{
    return h ^ h >> 29;
}

uint64_t rpc_id_hash(struct slice key)
{
    uint64_t hash = mix_high_bits_into_hash(hash_add_bytes(HASH_BEGIN, key));
    return hash + (hash == 0);
}

static struct rpc_id rpc_id_make(char type, struct slice text)
{
    uint64_t hash = mix_high_bits_into_hash(
        hash_add_bytes(hash_add_bytes(HASH_BEGIN, (struct slice){&type, 1}), text));
    return (struct rpc_id){type, text, hash + (hash == 0)};
}

struct rpc_id rpc_id_from_json(struct json_value v, struct buf *b)
{
    if (v.type != JSON_NUMBER && v.type != JSON_STRING)
        return (struct rpc_id){0};
    bool string = v.type == JSON_STRING;
    struct slice text = string ? json_string_raw(v) : v.text;
    bool canonical = string ? memchr(text.p, '\\', text.n) == NULL : is_plain_integer(text);
    if (!canonical) {
        buf_clear(b);
        if (string)
            json_unescape(b, text);
        else
            append_canonical_number(b, text);
        if (b->failed)
            return (struct rpc_id){0};
        text = buf_slice(b);
    }
    return rpc_id_make(string ? 's' : 'n', text);
}

bool rpc_id_eq(const struct rpc_id *x, const struct rpc_id *y)
{
    return x->hash == y->hash && x->type == y->type && slice_eq(x->text, y->text);
}

bool rpc_id_convert_type(const struct rpc_id *id, struct rpc_id *ret)
{
    if (id->type == 0 || !is_plain_integer(id->text))
        return false;
    *ret = rpc_id_make(id->type == 's' ? 'n' : 's', id->text);
    return true;
}

uint64_t rpc_id_hash_json(struct json_value v)
{
    struct buf b = {0};
    uint64_t hash = rpc_id_from_json(v, &b).hash;
    buf_close(&b);
    return hash;
}
