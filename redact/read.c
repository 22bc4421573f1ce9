#include "redact/read.h"

#include "wire/json/block.h"

#if JSON_BLOCKS
/* Skips blocks that do not contain the end of the string. Returns the position from which the
 * string must be read byte by byte. */
static const char *skip_blocks(const char *p, const char *end, bool *odd)
{
    uint64_t escaped_first = 0;
    for (; end - p >= JSON_BLOCK; p += JSON_BLOCK) {
        struct json_block b = json_block_load(p);
        uint64_t carry = escaped_first;
        uint64_t escapes = json_block_find_escapes(json_block_find_byte(b, '\\'), &carry);
        uint64_t escaped = escapes << 1 | escaped_first;
        if ((json_block_find_byte(b, '"') & ~escaped) != 0)
            break;
        *odd |= escaped != 0 &&
                (escaped & (json_block_find_byte(b, 'u') | json_block_find_byte(b, '/'))) != 0;
        escaped_first = carry;
    }
    return p - escaped_first;
}
#endif

const char *read_string(const char *p, const char *end, bool *odd)
{
#if JSON_BLOCKS
    unsigned escapes = 0;
#endif
    for (p++; (p = read_find_quote_or_escape(p, end)) < end; p++) {
        if (*p == '"')
            return p + 1;
        if (end - p < 2)
            return end;
        p++;
        *odd |= *p == 'u' || *p == '/';
#if JSON_BLOCKS
        if (++escapes == JSON_BLOCK_AFTER) {
            escapes = 0;
            p = skip_blocks(p + 1, end, odd) - 1;
        }
#endif
    }
    return end;
}

size_t read_escape_count(struct slice raw)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t n = 0;
#if JSON_BLOCKS
    uint64_t carry = 0;
    for (; end - p >= JSON_BLOCK; p += JSON_BLOCK) {
        struct json_block b = json_block_load(p);
        uint64_t slashes = json_block_find_byte(b, '\\');
        if ((slashes | carry) != 0)
            n += (size_t)__builtin_popcountll(json_block_find_escapes(slashes, &carry));
    }
    p += carry;
#endif
    while (p < end && (p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
        n++;
        p += size_min((size_t)(end - p), 2);
    }
    return n;
}

struct slice read_quoted_text(const char *p, const char *behind, const char *end)
{
    struct slice raw = {p + 1, (size_t)(behind - p) - 1};
    size_t slashes = 0;
    if (raw.n > 0 && behind[-1] == '"') {
        while (slashes + 1 < raw.n && raw.p[raw.n - 2 - slashes] == '\\')
            slashes++;
        if (slashes % 2 == 0) {
            raw.n--;
            return raw;
        }
    }
    if (behind < end)
        return raw;
    p = raw.p;
    while ((p = memchr(p, '\\', (size_t)(raw.p + raw.n - p))) != NULL) {
        size_t left = (size_t)(raw.p + raw.n - p), need = left > 1 && p[1] == 'u' ? 6 : 2;
        if (need > left) {
            raw.n -= left;
            break;
        }
        p += need;
    }
    return raw;
}

const char *read_value(const char *p, const char *end)
{
    int depth = 0;
    bool odd = false;
    do {
        if (p >= end)
            return end;
        if (*p == '"') {
            p = read_string(p, end, &odd);
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            depth--;
            p++;
        } else if (depth == 0) { /* a scalar */
            while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != '"' && *p != '{' &&
                   *p != '[' && !char_is_space(*p))
                p++;
            return p;
        } else {
            p++;
        }
    } while (depth > 0);
    return p;
}

bool read_member(struct read_members *m, struct slice *ret_key, struct slice *ret_value)
{
    bool odd = false;
    const char *p = redact_skip_space(m->p, m->end);
    if (p < m->end && *p == ',')
        p = redact_skip_space(p + 1, m->end);
    if (p >= m->end || *p != '"')
        return false;
    const char *behind = read_string(p, m->end, &odd);
    *ret_key = read_quoted_text(p, behind, m->end);
    p = redact_skip_space(behind, m->end);
    if (p >= m->end || *p != ':')
        return false;
    p = redact_skip_space(p + 1, m->end);
    if (p >= m->end)
        return false;
    m->p = read_value(p, m->end);
    *ret_value = (struct slice){p, (size_t)(m->p - p)};
    return true;
}

struct slice redact_trim_white_space(struct slice s, bool escaped)
{
    while (s.n > 0) {
        if (char_is_space(s.p[0]))
            s = (struct slice){s.p + 1, s.n - 1};
        else if (escaped && s.n > 1 && s.p[0] == '\\' && strchr("nrt", s.p[1]) != NULL)
            s = (struct slice){s.p + 2, s.n - 2};
        else
            break;
    }
    while (s.n > 0) {
        if (char_is_space(s.p[s.n - 1]))
            s.n--;
        else if (escaped && s.n > 1 && s.p[s.n - 2] == '\\' &&
                 (s.p[s.n - 1] == 'n' || s.p[s.n - 1] == 'r' || s.p[s.n - 1] == 't'))
            s.n -= 2;
        else
            break;
    }
    return s;
}
