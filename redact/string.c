/* string.c - collects the edits for one string: secrets in its text, also if the text is JSON, and
 * its truncation. */
#include "redact/walk.h"

#include "base/text.h"
#include "redact/member_value.h"
#include "redact/read.h"
#include "redact/shape/shape_table.h"
#include "wire/json/text.h"

#include <stdlib.h>

#define JSON_TRIES 16 /* no more JSON is searched after this many invalid `{` in a text */
#define ARRAY_LOOK ((size_t)4 << 10) /* bytes of an array that are searched for a secret */
#define LOOK_AHEAD 1024 /* number of bytes after a string that are searched together with it */
/* Size of the buffer into which a truncated string must fit, so that truncated_string_is_clean()
 * examines it. long_content_may_be_json() looks for a bracket in this many bytes at the start of
 * the content. */
#define TRUNCATED_LOOK 512
#define TRUNCATED_NAMES 4096 /* bytes of truncated content searched for names of secrets */
/* minimum bytes of content of which usually only the start is searched */
#define CONTENT_LONG 4096
/* number of bytes searched at the start of long content */
#define CONTENT_SEARCHED ((size_t)2 << 10)
_Static_assert(
    CONTENT_LONG >= TRUNCATED_NAMES && CONTENT_LONG > CONTENT_SEARCHED,
    "long_content_may_be_json() and truncate_and_search_long_content() read this many bytes");

/* ---- values whose key is the name of a secret ------------------------------------------------ */

static bool is_reference_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '%';
}

static bool looks_like_path(struct slice s)
{
    if (s.n > 0 && (s.p[0] == '/' || s.p[0] == '~' || s.p[0] == '.' || s.p[0] == '\\'))
        return true;
    return s.n > 2 && char_is_letter(s.p[0]) && s.p[1] == ':' && (s.p[2] == '\\' || s.p[2] == '/');
}

/* Whether s is a word that is not a secret, such as the name of an authentication scheme or of an
 * OAuth grant type. */
static bool is_plain_word(struct slice s)
{
    return shape_word_is_in_list(
        s, "none basic bearer digest token session jwt saml oidc ldap sso oauth "
           "oauth1 oauth1.0a oauth2 oauth2.0 auth0 apikey api-key api_key hmac mtls "
           "kerberos ntlm negotiate iam aws anonymous public private required "
           "optional include omit same-origin default auto enabled disabled "
           "always never custom user client server login password credentials "
           "accept reject accepted rejected allow deny yes no on off");
}

/* Whether s is a placeholder: `${API_KEY}`, `$API_KEY`, `{{ api_key }}`, `%API_KEY%`, `<your api
 * key>`. */
static bool is_variable_reference(const struct redact *r, struct slice s)
{
    static const struct {
        const char *open, *close;
    } forms[] = {{"${{", "}}"}, {"${", "}"}, {"$(", ")"}, {"{{", "}}"},
                 {"{", "}"},    {"%", "%"},  {"<", ">"},  {"$", ""}};
    for (size_t i = 0; i < MI_COUNT(forms); i++) {
        size_t a = strlen(forms[i].open), b = strlen(forms[i].close);
        if (s.n <= a + b || !slice_begins(s, forms[i].open) ||
            memcmp(s.p + s.n - b, forms[i].close, b) != 0)
            continue;
        struct slice name = redact_trim_white_space((struct slice){s.p + a, s.n - a - b}, false);
        for (size_t k = 0; k < name.n; k++)
            if (!is_reference_char(name.p[k]) && name.p[k] != ':' && name.p[k] != ' ')
                return false;
        return name.n <= REDACT_NAME_MAX && key_find_rule(&r->keys, name) != NULL;
    }
    return false;
}

struct slice redact_strip_auth_scheme(struct slice s)
{
    static const char *const schemes[] = {"Bearer ", "bearer ", "Basic ", "basic ",
                                          "Token ",  "token ",  NULL};
    for (size_t i = 0; schemes[i] != NULL; i++)
        if (slice_begins(s, schemes[i])) {
            size_t n = strlen(schemes[i]);
            return (struct slice){s.p + n, s.n - n};
        }
    return s;
}

bool redact_is_secret(const struct redact *r, const struct key_rule *rule, struct slice raw)
{
    struct slice s = redact_trim_white_space(raw, true);
    if (s.n == 0 || get_redaction_mark_len(raw) == raw.n)
        return false;
    if ((rule->flags & KEY_NO_PATH && looks_like_path(s)) ||
        (rule->flags & KEY_NO_WORD && is_plain_word(s)))
        return false;
    return !is_variable_reference(r, redact_strip_auth_scheme(s));
}

bool redact_container_is_secret(const struct redact *r, const struct key_rule *rule, const char *p,
                                const char *text_end)
{
    const char *inside = redact_skip_space(p + 1, text_end);
    const char *end = p + size_min((size_t)(text_end - p), ARRAY_LOOK);
    if (inside < text_end && (*inside == '}' || *inside == ']'))
        return false;
    if (*p == '{')
        return !(rule->flags & KEY_INTO);
    while (rule->flags & KEY_NO_WORD && inside < end && *inside == '"') {
        const char *behind = read_value(inside, end);
        if (redact_is_secret(r, rule, read_quoted_text(inside, behind, end)))
            return true;
        inside = redact_skip_space(behind, end);
        if (inside < end && *inside == ',')
            inside = redact_skip_space(inside + 1, end);
    }
    return !(rule->flags & KEY_NO_WORD) || inside >= end || *inside != ']';
}

/* ---- text --------------------------------------------------------------------------------- */

static int compare_edits_by_offset(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to > y->to ? -1 : x->to < y->to;
}

/* Merges the edits of two searches. Edits that overlap become one, which covers both and has the
 * replacement of the first. */
static void merge_overlapping_edits(struct redact *r, size_t first)
{
    if (r->edit_n - first < 2)
        return;
    qsort(r->edit + first, r->edit_n - first, sizeof *r->edit, compare_edits_by_offset);
    size_t n = first + 1;
    for (size_t i = first + 1; i < r->edit_n; i++) {
        struct edit *last = &r->edit[n - 1], e = r->edit[i];
        if (e.from >= last->to)
            r->edit[n++] = e;
        else if (e.to > last->to)
            last->to = e.to;
    }
    r->edit_n = n;
}

static bool text_begins_json(struct slice text)
{
    text = redact_trim_white_space(text, false);
    return text.n > 0 && (text.p[0] == '{' || text.p[0] == '[');
}

/* Collects the edits for JSON objects inside a text, such as a log line. Returns false if there are
 * none. */
static bool collect_json_edits(struct redact *r, struct slice text, int level)
{
    const char *p = text.p, *end = text.p + text.n;
    bool found = false;
    for (int tries = 0; tries < JSON_TRIES && (p = find_next_json_object(p, end, false)) != NULL;
         p++) {
        struct json_scan scan;
        size_t first = r->edit_n;
        int st = json_scan((struct slice){p, (size_t)(end - p)}, NULL, NULL, &scan);
        if (st < 0 && scan.fault.kind == JSON_DEEP) {
            /* the JSON is too deep to be scanned, so its end is unknown */
            scan.root = (struct slice){p, (size_t)(end - p)};
        } else if (st < 0 && scan.fault.kind != JSON_TRAILING) {
            tries++;
            continue;
        }
        redact_json(r, scan.root, level, ZONE_ANY, 0, 0);
        edit_shift_offsets(r, first, (size_t)(p - text.p));
        p += scan.root.n - 1;
        found = true;
    }
    return found;
}

void redact_plain_text(struct redact *r, struct slice text, int level)
{
    struct json_scan scan;
    size_t first = r->edit_n;
    bool deep = level < REDACT_LEVELS;
    if (deep && text_looks_like_json(text, false) && json_scan(text, NULL, NULL, &scan) == 0) {
        redact_json(r, text, level, ZONE_ANY, 0, 0);
        return;
    }
    struct shape_hit h;
    size_t from = 0;
    while (from < text.n && shapes_find_next_hit(r->shapes, text, from, &h)) {
        add_mark(r, h.from, h.from + h.n, h.rule, false);
        from = h.from + h.n;
    }
    if (!redact_may_contain_key(r, text))
        return;
    if (!deep &&
        (text_begins_json(text) || find_next_json_object(text.p, text.p + text.n, false) != NULL)) {
        r->edit_n = first;
        add_mark(r, 0, text.n, "too-deep", false);
    } else if (deep) {
        if (!text_begins_json(text))
            (void)collect_json_edits(r, text, level);
        else if ((json_scan(text, NULL, NULL, &scan) < 0 && scan.fault.kind == JSON_DEEP) ||
                 !collect_json_edits(r, text, level))
            /* the JSON is too deep, truncated or malformed */
            redact_json(r, text, level, ZONE_ANY, 0, 0);
        merge_overlapping_edits(r, first);
    }
}

/* ---- sensitive content --------------------------------------------------------------------- */

/* Returns the length of the suffix "… [+12 chars]" of s, or 0 if there is none. */
static size_t get_truncation_suffix_len(struct slice s)
{
    static const char begin[] = "… [+", end[] = " chars]";
    size_t a = sizeof begin - 1, b = sizeof end - 1, i = s.n;
    if (s.n < a + b + 1 || memcmp(s.p + s.n - b, end, b) != 0)
        return 0;
    for (i -= b; i > 0 && s.p[i - 1] >= '0' && s.p[i - 1] <= '9' && s.n - i < 32; i--)
        continue;
    if (i == s.n - b || i < a || memcmp(s.p + i - a, begin, a) != 0)
        return 0;
    return s.n - (i - a);
}

/* Returns the offset at which s must be truncated, or s.n if s is short enough. A secret counts
 * with the length of its mark, and a mark is never split. */
static size_t find_truncation_offset(const struct redact *r, size_t first, struct slice s)
{
    size_t i = 0, chars = 0, e = first;
    while (i < s.n) {
        size_t next = e < r->edit_n ? size_min(r->edit[e].from, s.n) : s.n;
        size_t most = size_min(next - size_min(i, next),
                               REDACT_CONTENT_HEAD - size_min(chars, REDACT_CONTENT_HEAD));
        size_t run = text_count_leading_plain_bytes((struct slice){s.p + i, most}, '[', 0);
        i += run;
        chars += run;
        if (i == s.n || chars >= REDACT_CONTENT_HEAD)
            return i;
        size_t mark = s.p[i] == '[' ? get_redaction_mark_len((struct slice){s.p + i, s.n - i}) : 0;
        if (e < r->edit_n && r->edit[e].from <= i) {
            chars += r->edit[e].text_n;
            i = r->edit[e++].to;
        } else if (mark > 0) {
            chars += mark;
            i += mark;
        } else {
            size_t len = text_utf8_len(s.p + i, s.n - i);
            chars++;
            i += len > 0 ? len : 1;
        }
    }
    return s.n;
}

static bool truncate_content(struct redact *r, size_t first, struct slice s, size_t behind)
{
    size_t tail = get_truncation_suffix_len(s), n = s.n - tail;
    if (tail > 0 && find_truncation_offset(r, first, (struct slice){s.p, n}) == n)
        return false; /* already truncated */
    size_t at = find_truncation_offset(r, first, s);
    if (at >= s.n)
        return false;
    while (r->edit_n > first && r->edit[r->edit_n - 1].from >= at)
        r->edit_n--;
    char text[64];
    struct buf b = {.p = text, .cap = sizeof text, .max = sizeof text};
    buf_adds(&b, "… [+");
    buf_int(&b, (int64_t)(text_count_utf8_chars((struct slice){s.p + at, s.n - at}) + behind));
    buf_adds(&b, " chars]");
    edit_add_replacement(r, at, s.n, buf_slice(&b));
    return true;
}

/* ---- the string ---------------------------------------------------------------------------- */

bool string_has_valid_escapes(struct slice raw)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
        if (end - p < 2 || (p[1] == 'u' && end - p < 6))
            return false;
        if (p[1] != 'u' && memchr("\"\\/bfnrt", p[1], 8) == NULL)
            return false;
        for (int i = 2; p[1] == 'u' && i < 6; i++)
            if (char_hex_digit_value(p[i]) < 0)
                return false;
        p += p[1] == 'u' ? 6 : 2;
    }
    return true;
}

bool no_shape_matches(struct redact *r, size_t from, size_t to)
{
    if (shapes_have_patterns(r->shapes))
        return false;
    /* r->place is before this range: find the first anchor at or after the start of the range */
    if (r->place < from)
        r->place = from < r->searched ? shapes_find_anchor(r->in, from, r->searched) : r->searched;
    if (r->place == r->searched && r->searched < to) {
        size_t at = from > r->searched ? from : r->searched;
        r->searched = size_min(r->in.n, to + LOOK_AHEAD);
        r->place = shapes_find_anchor(r->in, at, r->searched);
    }
    return r->place >= to;
}

static bool string_needs_secret_search(struct redact *r, struct slice raw, size_t base, bool odd,
                                       int level)
{
    if (odd || shapes_have_patterns(r->shapes))
        return true;
    if ((level > 0 || !no_shape_matches(r, base, base + raw.n)) && shapes_may_match(raw))
        return true;
    return redact_may_contain_json(r, raw);
}

/* Whether the result need not be searched again: the only edit is the truncation, and the truncated
 * text contains no secret. */
static bool truncated_string_is_clean(const struct redact *r, size_t first, struct slice raw,
                                      size_t base, bool odd)
{
    char text[TRUNCATED_LOOK];
    struct buf b = {.p = text, .cap = sizeof text, .max = sizeof text - 1};
    if (odd || r->failed || r->edit_n != first + 1 || r->texts.failed ||
        shapes_have_patterns(r->shapes))
        return false;
    const struct edit *e = &r->edit[first];
    buf_add(&b, raw.p, e->from - base);
    buf_add(&b, r->texts.p + e->text, e->text_n);
    struct slice left = buf_slice(&b);
    return !b.failed && !shapes_may_match(left) && !redact_may_contain_json(r, left);
}

/* Collects the edits for a string. `part` is the whole string if `behind` is 0; otherwise it is the
 * start of the string, and `behind` characters follow. Returns true if the string was truncated. */
static bool collect_edits_of_string(struct redact *r, struct slice part, size_t base, bool odd,
                                    int level, enum string_kind kind, size_t behind)
{
    size_t first = r->edit_n;
    bool truncates = kind == STRING_TRUNCATE;
    struct slice plain = part;
    bool escaped = memchr(part.p, '\\', part.n) != NULL && string_has_valid_escapes(part);
    if (escaped) {
        struct buf *b = &r->plain[level];
        buf_clear(b);
        json_unescape(b, part);
        if (b->failed) {
            r->failed = true;
            return false;
        }
        plain = buf_slice(b);
    }
    if ((kind != STRING_BLOB || !redact_base64_text(r, plain, level + 1)) &&
        (!truncates || string_needs_secret_search(r, part, base, odd, level)))
        redact_plain_text(r, plain, level + 1);
    bool was_truncated = truncates && truncate_content(r, first, plain, behind);
    if (r->edit_n > first)
        edit_move_to_outer_text(r, first, part, base, escaped);
    return was_truncated;
}

/* Whether long content may be JSON that contains the name of a secret. Only the start of the
 * content is examined; its end would show whether it is JSON. */
static bool long_content_may_be_json(const struct redact *r, struct slice raw)
{
    struct slice names = {raw.p, TRUNCATED_NAMES};
    return (memchr(raw.p, '{', TRUNCATED_LOOK) != NULL ||
            memchr(raw.p, '[', TRUNCATED_LOOK) != NULL) &&
           redact_may_contain_key(r, names);
}

/* Truncates long content and searches only its start. Returns false if the whole content must be
 * searched: it may be JSON, or a secret in the part that remains may continue after the searched
 * bytes. */
static bool truncate_and_search_long_content(struct redact *r, struct slice raw, size_t base,
                                             bool odd, int level)
{
    size_t first = r->edit_n;
    if (raw.n < CONTENT_LONG || odd || shapes_have_patterns(r->shapes) ||
        long_content_may_be_json(r, raw))
        return false;
    const char *end = raw.p + CONTENT_SEARCHED;
    /* an incomplete escape at the end does not count */
    size_t n = read_quoted_text(raw.p - 1, end, end).n;
    struct slice head = text_prefix(raw, n);
    struct slice rest = {raw.p + head.n, raw.n - head.n};
    size_t behind =
        text_count_utf8_chars(rest) - read_escape_count(rest); /* each escape has two bytes */
    if (!collect_edits_of_string(r, head, base, odd, level, STRING_TRUNCATE, behind)) {
        r->edit_n = first;
        return false;
    }
    if (!r->failed)
        r->edit[r->edit_n - 1].to = base + raw.n;
    return true;
}

void redact_string(struct redact *r, struct slice raw, size_t base, bool odd, int level,
                   enum string_kind kind)
{
    size_t first = r->edit_n;
    bool truncates = kind == STRING_TRUNCATE && raw.n > REDACT_CONTENT_HEAD;
    if (raw.n == 0 || level >= REDACT_LEVELS)
        return;
    if (!truncates && kind != STRING_BLOB &&
        ((!odd && redact_is_long_base64(raw)) ||
         !string_needs_secret_search(r, raw, base, odd, level)))
        return;
    if (kind == STRING_TRUNCATE && !truncates)
        kind = STRING_ANY;
    bool was_truncated = truncates && truncate_and_search_long_content(r, raw, base, odd, level);
    if (!was_truncated)
        was_truncated = collect_edits_of_string(r, raw, base, odd, level, kind, 0);
    if (was_truncated && !truncated_string_is_clean(r, first, raw, base, odd))
        r->again = true;
}
