#include "wire/rpc_id.h"

#include "wire/json/text.h"

#include <stdio.h>

static bool plain_int(struct slice s)
{
    size_t i = s.n > 0 && s.p[0] == '-' ? 1 : 0;
    if (i == s.n || s.n - i > 18 || (s.p[i] == '0' && s.n > 1))
        return false; /* "-0" is written as 0; "007" is the text of a string, not a number */
    for (; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
    return true;
}

/* The canonical form of a decimal number: its significant digits, and the power of ten of the last one.
 * Never longer than the number as written. */
static void canonical_number(struct buf *b, struct slice s)
{
    int64_t exp10 = 0;
    size_t zeros = 0; /* read after the last written digit; possibly trailing */
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
            e = e < 1000000 ? e * 10 + (s.p[i] - '0') : e; /* more than any peer supports */
        exp10 += negative ? -e : e;
    }
    exp10 += (int64_t)zeros;
    if (!written)
        buf_addc(b, '0');
    else if (exp10 >= 0 && exp10 <= 18)
        for (; exp10 > 0; exp10--)
            buf_addc(b, '0'); /* 1e3 is 1000 */
    else
        buf_printf(b, "e%lld", (long long)exp10);
}

void rpc_id_key(struct buf *b, struct json_value id)
{
    if (id.type == JSON_STRING) {
        buf_addc(b, 's');
        json_unescape(b, json_string_raw(id));
    } else {
        buf_addc(b, 'n');
        if (plain_int(id.text))
            buf_slice_add(b, id.text);
        else
            canonical_number(b, id.text);
    }
}

bool rpc_id_other_type(struct buf *b, struct slice key)
{
    struct slice text = {key.p + 1, key.n - 1};
    if (!plain_int(text))
        return false;
    buf_addc(b, key.p[0] == 's' ? 'n' : 's');
    buf_slice_add(b, text);
    return true;
}

bool rpc_id_is(struct json_value id, uint64_t n)
{
    char digits[24];
    if (id.type != JSON_NUMBER && id.type != JSON_STRING)
        return false;
    size_t len = (size_t)snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    struct slice text = id.type == JSON_STRING ? json_string_raw(id) : id.text;
    if (plain_int(text)) /* needs no memory */
        return text.n == len && memcmp(text.p, digits, len) == 0;
    struct buf key = {0};
    rpc_id_key(&key, id);
    bool same = !key.failed && key.n == 1 + len && memcmp(key.p + 1, digits, len) == 0;
    buf_close(&key);
    return same;
}

#define HASH_BEGIN 0xCBF29CE484222325u /* FNV-1a */

static uint64_t hash_more(uint64_t h, struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001B3u;
    return h;
}

static uint64_t hash_end(uint64_t h)
{
    return h ^ h >> 29;
}

uint64_t rpc_id_hash(struct slice key)
{
    return hash_end(hash_more(HASH_BEGIN, key));
}

uint64_t rpc_id_hash_of(struct json_value v)
{
    if (v.type != JSON_NUMBER && v.type != JSON_STRING)
        return 0;
    bool string = v.type == JSON_STRING;
    struct slice text = string ? json_string_raw(v) : v.text;
    bool as_written = string ? memchr(text.p, '\\', text.n) == NULL : plain_int(text);
    uint64_t hash;
    if (as_written) { /* needs no memory */
        hash = hash_more(HASH_BEGIN, slice_of(string ? "s" : "n"));
        hash = hash_end(hash_more(hash, text));
    } else {
        struct buf key = {0};
        rpc_id_key(&key, v);
        hash = rpc_id_hash(buf_slice(&key));
        bool failed = key.failed;
        buf_close(&key);
        if (failed)
            return 0;
    }
    return hash + (hash == 0);
}
