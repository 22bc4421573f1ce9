/* One string: its escapes, the JSON or text in it, its length. */
#include "vault/redact_inner.h"

#include "base/text.h"
#include "vault/redact_read.h"
#include "vault/shape_table.h"
#include "wire/json_text.h"

#include <stdlib.h>

#define JSON_TRIES 16   /* places in a text where JSON was looked for in vain */
#define WORD_MAX 64     /* bytes of a name in text */
#define LOOK_AHEAD 1024 /* bytes behind a string that are searched with it */
#define CUT_LOOK 512 /* bytes of a string that was cut, at the most: else it is looked at again */
#define CUT_LONG ((size_t)64 << 10) /* bytes of content whose head, mostly, is enough to look at */
#define CUT_SEEN ((size_t)16 << 10) /* bytes of that head */

/* ---- what needs no look -------------------------------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* White space at either end, of which some may still be an escape. */
static struct slice trim(struct slice s, bool escaped)
{
    while (s.n > 0) {
        if (is_space(s.p[0]))
            s = (struct slice){s.p + 1, s.n - 1};
        else if (escaped && s.n > 1 && s.p[0] == '\\' && strchr("nrt", s.p[1]) != NULL)
            s = (struct slice){s.p + 2, s.n - 2};
        else
            break;
    }
    while (s.n > 0) {
        if (is_space(s.p[s.n - 1]))
            s.n--;
        else if (escaped && s.n > 1 && s.p[s.n - 2] == '\\' &&
                 (s.p[s.n - 1] == 'n' || s.p[s.n - 1] == 'r' || s.p[s.n - 1] == 't'))
            s.n -= 2;
        else
            break;
    }
    return s;
}

static bool looks_json(struct slice s, bool escaped)
{
    if (s.n < 2 || (s.p[0] != '{' && s.p[0] != '[' && !is_space(s.p[0]) && s.p[0] != '\\'))
        return false;
    s = trim(s, escaped);
    return s.n > 1 &&
           ((s.p[0] == '{' && s.p[s.n - 1] == '}') || (s.p[0] == '[' && s.p[s.n - 1] == ']'));
}

static bool in_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '%';
}

/* Does a name of a secret stand before some quote, or an escape that may hide one? Else there is nothing in
 * JSON, or in what looks like it, that the walk would find and the shapes would not. */
bool redact_names(const struct redact *r, struct slice s)
{
    const char *p = s.p, *end = s.p + s.n;
    if (s.n == 0)
        return false;
    while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
        if (++p < end && (*p == 'u' || *p == '/'))
            return true;
    }
    p = s.p;
    while ((p = memchr(p, '"', (size_t)(end - p))) != NULL) {
        const char *e = p++;
        while (e > s.p && e[-1] == '\\')
            e--;
        if (e == s.p || !key_maybe(&r->keys, s.p, e))
            continue;
        const char *from = e;
        while (from > s.p && e - from < WORD_MAX && in_word(from[-1]))
            from--;
        /* [API Key], user[password]: what is no letter does not count, and cannot be skipped here */
        if (!in_word(e[-1]) || key_find(&r->keys, (struct slice){from, (size_t)(e - from)}) != NULL)
            return true;
    }
    return false;
}

/* ---- a value with a secret's key ------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_path(struct slice s)
{
    if (s.n > 0 && (s.p[0] == '/' || s.p[0] == '~' || s.p[0] == '.' || s.p[0] == '\\'))
        return true;
    return s.n > 2 && is_letter(s.p[0]) && s.p[1] == ':' && (s.p[2] == '\\' || s.p[2] == '/');
}

/* What stands in such a place and is no secret: the name of a scheme, or of a way to go on. */
static bool is_plain_word(struct slice s)
{
    return shape_listed(s,
                        "none basic bearer digest token session jwt saml oidc ldap sso oauth "
                        "oauth1 oauth1.0a oauth2 oauth2.0 auth0 apikey api-key api_key hmac mtls "
                        "kerberos ntlm negotiate iam aws anonymous public private required "
                        "optional include omit same-origin default auto enabled disabled "
                        "always never custom user client server login password credentials "
                        "accept reject accepted rejected allow deny yes no on off");
}

/* `${API_KEY}`, `$API_KEY`, `{{ api_key }}`, `%API_KEY%`, `<your api key>`: a name, not the secret. */
static bool is_reference(const struct redact *r, struct slice s)
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
        struct slice name = trim((struct slice){s.p + a, s.n - a - b}, false);
        for (size_t k = 0; k < name.n; k++)
            if (!in_word(name.p[k]) && name.p[k] != ':' && name.p[k] != ' ')
                return false;
        return name.n <= WORD_MAX && key_find(&r->keys, name) != NULL;
    }
    return false;
}

static struct slice without_scheme(struct slice s)
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

bool redact_judge(const struct redact *r, const struct key_rule *rule, struct slice raw)
{
    struct slice s = trim(raw, true);
    if (s.n == 0 || edit_mark_len(raw) == raw.n)
        return false;
    if ((rule->flags & KEY_NO_PATH && is_path(s)) ||
        (rule->flags & KEY_NO_WORD && is_plain_word(s)))
        return false;
    return !is_reference(r, without_scheme(s));
}

/* ---- text --------------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
    const struct edit *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to > y->to ? -1 : x->to < y->to;
}

/* Edits of two searches: where they overlap, the wider stays, and covers what both did. */
static void merge(struct redact *r, size_t first)
{
    if (r->edit_n - first < 2)
        return;
    qsort(r->edit + first, r->edit_n - first, sizeof *r->edit, by_place);
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

void redact_shapes(struct redact *r, struct slice text)
{
    struct shape_hit h;
    size_t from = 0;
    while (from < text.n && shapes_next(r->shapes, text, from, &h)) {
        edit_mark(r, h.from, h.from + h.n, h.rule, false);
        from = h.from + h.n;
    }
}

static bool begins_json(struct slice text)
{
    text = trim(text, false);
    return text.n > 0 && (text.p[0] == '{' || text.p[0] == '[');
}

/* JSON that stands in a text: a log line, a few lines of it. Was there any? */
static bool find_json(struct redact *r, struct slice text, int level)
{
    const char *p = text.p, *end = text.p + text.n;
    bool found = false;
    for (int tries = 0; tries < JSON_TRIES && p < end; p++) {
        p = memchr(p, '{', (size_t)(end - p));
        if (p == NULL)
            break;
        struct json_scan scan;
        size_t first = r->edit_n;
        int st = json_scan((struct slice){p, (size_t)(end - p)}, NULL, NULL, &scan);
        if (st < 0 && scan.fault.kind != JSON_TRAILING) {
            tries++;
            continue;
        }
        redact_json(r, scan.root, level, ZONE_ANY, 0, 0);
        edit_shift(r, first, (size_t)(p - text.p));
        p += scan.root.n - 1;
        found = true;
    }
    return found;
}

void redact_plain(struct redact *r, struct slice text, int level)
{
    struct json_scan scan;
    size_t first = r->edit_n;
    bool deep = level < REDACT_LEVELS;
    if (deep && looks_json(text, false) && json_scan(text, NULL, NULL, &scan) == 0) {
        redact_json(r, text, level, ZONE_ANY, 0, 0);
        return;
    }
    redact_shapes(r, text);
    if (deep && redact_names(r, text)) {
        if (begins_json(text) && !find_json(r, text, level))
            redact_json(r, text, level, ZONE_ANY, 0, 0); /* its end is missing */
        else if (!begins_json(text))
            (void)find_json(r, text, level);
        merge(r, first);
    }
}

/* ---- sensitive content --------------------------------------------------------------------- */

/* The end of "… [+12 chars]" at the end of s: how long it is, or 0. */
static size_t tail_len(struct slice s)
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

/* Where s is cut, marks being counted as what they will be and never split; s.n: nowhere. */
static size_t cut_at(const struct redact *r, size_t first, struct slice s)
{
    size_t i = 0, chars = 0, e = first;
    while (i < s.n) {
        size_t next = e < r->edit_n ? size_min(r->edit[e].from, s.n) : s.n;
        while (i < next && chars < REDACT_CUT && (unsigned char)s.p[i] < 0x80 && s.p[i] != '[') {
            i++;
            chars++;
        }
        if (i == s.n || chars >= REDACT_CUT)
            return i;
        size_t mark = s.p[i] == '[' ? edit_mark_len((struct slice){s.p + i, s.n - i}) : 0;
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

static bool cut(struct redact *r, size_t first, struct slice s, size_t behind)
{
    size_t tail = tail_len(s), n = s.n - tail;
    if (tail > 0 && cut_at(r, first, (struct slice){s.p, n}) == n)
        return false; /* done before */
    size_t at = cut_at(r, first, s);
    if (at >= s.n)
        return false;
    while (r->edit_n > first && r->edit[r->edit_n - 1].from >= at)
        r->edit_n--;
    char text[64];
    struct buf b = {.p = text, .cap = sizeof text, .max = sizeof text};
    buf_adds(&b, "… [+");
    buf_int(&b, (int64_t)(text_utf8_chars((struct slice){s.p + at, s.n - at}) + behind));
    buf_adds(&b, " chars]");
    edit_add(r, at, s.n, buf_slice(&b));
    return true;
}

/* ---- the string ---------------------------------------------------------------------------- */

/* Are they those of JSON? Else the text is none, and its strings are read as they stand. */
bool redact_escapes(struct slice raw)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
        if (end - p < 2 || (p[1] == 'u' && end - p < 6))
            return false;
        if (p[1] != 'u' && memchr("\"\\/bfnrt", p[1], 8) == NULL)
            return false;
        for (int i = 2; p[1] == 'u' && i < 6; i++)
            if (!is_hex(p[i]))
                return false;
        p += p[1] == 'u' ? 6 : 2;
    }
    return true;
}

bool redact_quiet(struct redact *r, size_t from, size_t to)
{
    if (shapes_has_patterns(r->shapes))
        return false;
    if (r->place < from) /* behind us */
        r->place = from < r->searched ? shapes_place(r->in, from, r->searched) : r->searched;
    if (r->place == r->searched && r->searched < to) {
        size_t at = from > r->searched ? from : r->searched;
        r->searched = size_min(r->in.n, to + LOOK_AHEAD);
        r->place = shapes_place(r->in, at, r->searched);
    }
    return r->place >= to;
}

static bool wants_look(struct redact *r, struct slice raw, size_t base, bool odd, int level)
{
    if (odd || shapes_has_patterns(r->shapes))
        return true;
    if ((level > 0 || !redact_quiet(r, base, base + raw.n)) && shapes_maybe(raw))
        return true;
    return looks_json(raw, true) && redact_names(r, raw);
}

/* A string that was cut and is else as it was: would nothing be found in what is left of it? */
static bool settled(const struct redact *r, size_t first, struct slice raw, size_t base, bool odd)
{
    char text[CUT_LOOK];
    struct buf b = {.p = text, .cap = sizeof text, .max = sizeof text - 1};
    if (odd || r->failed || r->edit_n != first + 1 || r->texts.failed ||
        shapes_has_patterns(r->shapes))
        return false;
    const struct edit *e = &r->edit[first];
    buf_add(&b, raw.p, e->from - base);
    buf_add(&b, r->texts.p + e->text, e->text_n);
    struct slice left = buf_slice(&b);
    return !b.failed && !shapes_maybe(left) && !(looks_json(left, true) && redact_names(r, left));
}

/* Notes what goes of the string, as far as `look`, which is its head, tells. `behind`: characters behind that. */
static bool look_at(struct redact *r, struct slice look, size_t base, bool odd, int level,
                    enum string_kind kind, size_t behind)
{
    size_t first = r->edit_n;
    bool cuts = kind == STRING_CUT;
    struct slice plain = look;
    bool escaped = memchr(look.p, '\\', look.n) != NULL && redact_escapes(look);
    if (escaped) {
        struct buf *b = &r->plain[level];
        buf_clear(b);
        json_unescape(b, look);
        if (b->failed) {
            r->failed = true;
            return false;
        }
        plain = buf_slice(b);
    }
    if (kind == STRING_BLOB)
        redact_blob(r, plain, level + 1);
    else if (!cuts || wants_look(r, look, base, odd, level))
        redact_plain(r, plain, level + 1);
    bool was_cut = cuts && cut(r, first, plain, behind);
    if (r->edit_n > first)
        edit_map(r, first, look, base, escaped);
    return was_cut;
}

/* Characters of a string whose escapes have two bytes each. */
static size_t raw_chars(struct slice raw)
{
    const char *p = raw.p, *end = raw.p + raw.n;
    size_t escapes = 0;
    while ((p = memchr(p, '\\', (size_t)(end - p))) != NULL) {
        escapes++;
        p += size_min((size_t)(end - p), 2);
    }
    return text_utf8_chars(raw) - escapes;
}

/* Long content of which little stays is looked at as far as that takes. false: it has to be looked at whole, because
 * it may be JSON, or because what would stay is a secret that goes on behind what was looked at. */
static bool cut_by_head(struct redact *r, struct slice raw, size_t base, bool odd, int level)
{
    size_t first = r->edit_n;
    if (raw.n < CUT_LONG || odd || shapes_has_patterns(r->shapes) ||
        memchr(raw.p, '{', CUT_LOOK) != NULL || memchr(raw.p, '[', CUT_LOOK) != NULL)
        return false;
    const char *end = raw.p + CUT_SEEN;
    size_t n = read_between(raw.p - 1, end, end).n; /* no half of an escape */
    struct slice head = text_head(raw, n);
    size_t behind = raw_chars((struct slice){raw.p + head.n, raw.n - head.n});
    if (!look_at(r, head, base, odd, level, STRING_CUT, behind)) {
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
    bool cuts = kind == STRING_CUT && raw.n > REDACT_CUT;
    if (raw.n == 0 || level >= REDACT_LEVELS)
        return;
    if (!cuts && kind != STRING_BLOB &&
        ((!odd && redact_long_base64(raw)) || !wants_look(r, raw, base, odd, level)))
        return;
    if (kind == STRING_CUT && !cuts)
        kind = STRING_ANY;
    bool was_cut = cuts && cut_by_head(r, raw, base, odd, level);
    if (!was_cut)
        was_cut = look_at(r, raw, base, odd, level, kind, 0);
    if (was_cut && !settled(r, first, raw, base, odd))
        r->again = true;
}
