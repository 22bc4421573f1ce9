/* The walk over JSON: which values go, and which are looked into. */
#include "vault/redact_inner.h"

#include "wire/json_text.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define FRAMES (JSON_MAX_DEPTH + 2)
#define KEY_TEXT_MAX 256 /* bytes of a key with escapes that are looked at */
#define SCHEMA_LOOK                                                                                \
    ((size_t)4 << 10)    /* bytes of an object in which it must show that it is a schema */
#define FLUSH_AT 4096    /* edits of level 0 that are written out */
#define PENDING_AT 65536 /* with as many, a value that waits for its name waits no longer */

/* What a member is to the object that it stands in. */
enum role { ROLE_NONE, ROLE_NAME, ROLE_VALUE, ROLE_MIME, ROLE_BLOB, ROLE_STAYS };

/* A value that is about to come. */
struct child {
    enum zone zone;
    enum role role;
    unsigned flags;
    bool content;                 /* sensitive */
    bool hit;                     /* a pointer of the user leads here */
    const struct key_rule *rule;  /* its key is a secret's */
    const struct key_rule *inner; /* it is a schema, and its defaults are secret */
    uint32_t pointers;            /* that may lead below it */
};

/* An open object or array. */
struct frame {
    bool object, want_key, call_known, is_call;
    bool content;  /* strings in this array are sensitive content */
    bool saw_text; /* of its mimeType: text */
    bool saw_mime;
    enum zone zone;
    enum role role; /* of the container among its members that is open */
    unsigned flags;
    size_t index;                  /* in an array */
    uint32_t pointers;             /* that may lead below */
    const char *at;                /* its bracket */
    const struct key_rule *inner;  /* of struct child */
    const struct key_rule *name;   /* its member `name` is a secret's: so is its `value` */
    const struct key_rule *option; /* the string before was --password: so is the next */
    size_t value_from, value_to;   /* of its member `value`, while the name is awaited; 0: none */
    size_t blob_from, blob_to;     /* the same of `blob`, and its type */
};

struct pass {
    struct redact *r;
    const char *text, *end;
    size_t first; /* its first edit */
    int level;
    unsigned pointer_depth; /* segments that lead to the root of this text */
    int depth;              /* frames in use; frame[0] stands for what is around the root */
    bool odd;               /* the string read last has an escape that stands for a letter */
    struct frame frame[FRAMES];
};

/* ---- reading, within bounds whatever stands there ------------------------------------------- */

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && is_space(*p))
        p++;
    return p;
}

/* To the next quote or backslash. */
static inline const char *skip_plain(const char *p, const char *end)
{
#if defined(__SSE2__) && !defined(MI_NO_SIMD)
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    while (end - p >= 16) {
        __m128i v = _mm_loadu_si128((const __m128i *)(const void *)p);
        int mask =
            _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(v, quote), _mm_cmpeq_epi8(v, slash)));
        if (mask != 0)
            return p + __builtin_ctz((unsigned)mask);
        p += 16;
    }
#endif
    while (p < end && *p != '"' && *p != '\\')
        p++;
    return p;
}

/* From the opening quote to behind the closing one. `*odd` is set when an escape stands for a letter. */
static const char *string_behind(const char *p, const char *end, bool *odd)
{
    for (p++; (p = skip_plain(p, end)) < end; p++) {
        if (*p == '"')
            return p + 1;
        if (end - p < 2)
            return end;
        p++;
        *odd |= *p == 'u' || *p == '/';
    }
    return end;
}

/* Between the quotes. Where the text ends inside the string, an escape that is not whole is left out. */
static struct slice between(const char *p, const char *behind, const char *end)
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
    for (size_t i = 0; i < raw.n; i++) {
        size_t need = raw.p[i] != '\\' ? 1 : i + 1 < raw.n && raw.p[i + 1] == 'u' ? 6 : 2;
        if (need > raw.n - i)
            raw.n = i;
        i += need - 1;
    }
    return raw;
}

static const char *scalar_behind(const char *p, const char *end)
{
    while (p < end && *p != ',' && *p != '}' && *p != ']' && *p != '"' && *p != '{' && *p != '[' &&
           !is_space(*p))
        p++;
    return p;
}

const char *json_behind(const char *p, const char *end)
{
    int depth = 0;
    bool odd = false;
    do {
        if (p >= end)
            return end;
        if (*p == '"') {
            p = string_behind(p, end, &odd);
        } else if (*p == '{' || *p == '[') {
            depth++;
            p++;
        } else if (*p == '}' || *p == ']') {
            depth--;
            p++;
        } else if (depth == 0) {
            return scalar_behind(p, end);
        } else {
            p++;
        }
    } while (depth > 0);
    return p;
}

/* The members of an object, one after another; false: no more, or the text ends. */
struct members {
    const char *p, *end;
};

static bool member_next(struct members *m, struct slice *ret_key, struct slice *ret_value)
{
    bool odd = false;
    const char *p = skip_space(m->p, m->end);
    if (p < m->end && *p == ',')
        p = skip_space(p + 1, m->end);
    if (p >= m->end || *p != '"')
        return false;
    const char *behind = string_behind(p, m->end, &odd);
    *ret_key = between(p, behind, m->end);
    p = skip_space(behind, m->end);
    if (p >= m->end || *p != ':')
        return false;
    p = skip_space(p + 1, m->end);
    if (p >= m->end)
        return false;
    m->p = json_behind(p, m->end);
    *ret_value = (struct slice){p, (size_t)(m->p - p)};
    return true;
}

static size_t offset(const struct pass *s, const char *p)
{
    return (size_t)(p - s->text);
}

static struct frame *top(struct pass *s)
{
    return &s->frame[s->depth - 1];
}

/* ---- names -------------------------------------------------------------------------------- */

/* A key, escapes resolved; what is too long for that has no name that we know. */
static struct slice key_text(struct slice raw, bool odd, char *place)
{
    size_t n;
    if (!odd && memchr(raw.p, '\\', raw.n) == NULL)
        return raw;
    if (raw.n > KEY_TEXT_MAX || !redact_escapes(raw) ||
        json_unescape_to(raw, place, KEY_TEXT_MAX, &n) < 0)
        return (struct slice){raw.p, 0};
    return (struct slice){place, n};
}

static bool is_one_of(struct slice s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (slice_is(s, *words))
            return true;
    return false;
}

/* The same, but for case. */
static bool is_word(struct slice s, const char *word)
{
    size_t n = strlen(word);
    if (s.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((s.p[i] | 0x20) != word[i])
            return false;
    return true;
}

static enum role role_of(struct slice key)
{
    static const char *const names[] = {"name",     "key",     "header",    "field",      "param",
                                        "variable", "varname", "parameter", "headername", NULL};
    if (key.n < 3 || key.n > 10)
        return ROLE_NONE;
    if (is_word(key, "value") || is_word(key, "val"))
        return ROLE_VALUE;
    if (slice_is(key, "blob") || slice_is(key, "data"))
        return ROLE_BLOB;
    if (is_word(key, "mimetype") || slice_is(key, "mime_type"))
        return ROLE_MIME;
    for (size_t i = 0; names[i] != NULL; i++)
        if (is_word(key, names[i]))
            return ROLE_NAME;
    return ROLE_NONE;
}

static bool ends_with_headers(struct slice key)
{
    return key.n >= 7 && is_word((struct slice){key.p + key.n - 7, 7}, "headers");
}

static enum zone zone_anywhere(struct slice key)
{
    static const char *const schemas[] = {"properties",  "patternProperties", "$defs",
                                          "definitions", "dependentSchemas",  NULL};
    if (key.n < 5)
        return ZONE_ANY;
    if (ends_with_headers(key))
        return ZONE_HEADERS;
    return is_one_of(key, schemas) ? ZONE_PROPERTIES : ZONE_ANY;
}

/* Protocol fields that come back byte for byte (mcp-wire.md 2, 5.4, 6.4). */
static bool stays(enum zone zone, struct slice key)
{
    static const char *const params[] = {"cursor", "requestState",  "requestId", "progressToken",
                                         "taskId", "elicitationId", NULL};
    static const char *const result[] = {"nextCursor", "requestState", "taskId", NULL};
    static const char *const meta[] = {"progressToken", "io.modelcontextprotocol/subscriptionId",
                                       NULL};
    switch (zone) {
    case ZONE_MESSAGE:
        return slice_is(key, "id") || slice_is(key, "jsonrpc");
    case ZONE_PARAMS:
        return is_one_of(key, params);
    case ZONE_RESULT:
        return is_one_of(key, result);
    case ZONE_META:
        return is_one_of(key, meta);
    case ZONE_TASK:
        return slice_is(key, "taskId");
    default:
        return false;
    }
}

static enum zone zone_below(enum zone zone, struct slice key)
{
    bool talk = zone == ZONE_PARAMS || zone == ZONE_RESULT;
    if (zone == ZONE_MESSAGE && slice_is(key, "params"))
        return ZONE_PARAMS;
    if (zone == ZONE_MESSAGE && slice_is(key, "result"))
        return ZONE_RESULT;
    if (talk && slice_is(key, "_meta"))
        return ZONE_META;
    if (talk && (slice_is(key, "task") || slice_is(key, "tasks")))
        return ZONE_TASK;
    if (zone == ZONE_META && slice_is(key, "io.modelcontextprotocol/related-task"))
        return ZONE_TASK;
    return zone_anywhere(key);
}

/* ---- is this message a tools/call? --------------------------------------------------------- */

/* The method usually stands before the params; else the rest of the message is searched, once. */
static bool is_call(struct pass *s, struct frame *message)
{
    struct slice key, value;
    if (!message->call_known) {
        struct members m = {message->at + 1, s->end};
        message->call_known = true;
        while (member_next(&m, &key, &value))
            if (json_key_is(key, "method"))
                message->is_call =
                    value.n > 2 && value.p[0] == '"' &&
                    json_key_is(between(value.p, value.p + value.n, s->end), "tools/call");
    }
    return message->is_call;
}

static bool opens_arguments(struct pass *s, struct slice key)
{
    struct frame *f = top(s);
    return s->r->how == REDACT_CONTENT && f->zone == ZONE_PARAMS && slice_is(key, "arguments") &&
           s->depth >= 2 && is_call(s, &s->frame[s->depth - 2]);
}

/* ---- pointers of the user ------------------------------------------------------------------ */

static bool is_segment(const char *segment, struct slice key, size_t index, bool object)
{
    if (strcmp(segment, "*") == 0)
        return true;
    if (object)
        return slice_is(key, segment);
    size_t n = 0;
    for (const char *p = segment; *p != '\0'; p++) {
        if (*p < '0' || *p > '9' || n > 1000000)
            return false;
        n = n * 10 + (size_t)(*p - '0');
    }
    return *segment != '\0' && n == index;
}

/* Does it lead below /params/arguments, when that is where the text begins? */
static bool pointer_begins(const struct pointer *p, unsigned depth)
{
    static const char *const way[] = {"params", "arguments"};
    for (unsigned i = 0; i < depth && i < MI_COUNT(way); i++)
        if (i >= p->n || !is_segment(p->segment[i], slice_of(way[i]), 0, true))
            return false;
    return true;
}

static void follow_pointers(const struct pass *s, const struct frame *f, struct slice key,
                            struct child *c)
{
    unsigned at = s->pointer_depth + (unsigned)s->depth - 2;
    for (unsigned i = 0; i < s->r->pointers_n; i++) {
        const struct pointer *p = &s->r->pointer[i];
        if (!(f->pointers >> i & 1) || at >= p->n ||
            !is_segment(p->segment[at], key, f->index, f->object))
            continue;
        if (at + 1 == p->n)
            c->hit = true;
        else
            c->pointers |= UINT32_C(1) << i;
    }
}

/* ---- schemas ------------------------------------------------------------------------------ */

static bool names_types(struct slice v)
{
    static const char *const types[] = {"string", "number", "integer", "boolean",
                                        "array",  "object", "null",    NULL};
    if (v.n > 0 && v.p[0] == '[')
        return true;
    if (v.n < 2 || v.p[0] != '"')
        return false;
    return is_one_of((struct slice){v.p + 1, v.n - 2}, types);
}

static bool is_keyword(struct slice key)
{
    static const char *const words[] = {"type",
                                        "title",
                                        "description",
                                        "default",
                                        "examples",
                                        "example",
                                        "enum",
                                        "enumNames",
                                        "const",
                                        "format",
                                        "pattern",
                                        "minLength",
                                        "maxLength",
                                        "minimum",
                                        "maximum",
                                        "items",
                                        "properties",
                                        "required",
                                        "anyOf",
                                        "oneOf",
                                        "allOf",
                                        "not",
                                        "nullable",
                                        "deprecated",
                                        "readOnly",
                                        "writeOnly",
                                        "minItems",
                                        "maxItems",
                                        "uniqueItems",
                                        "optional",
                                        "label",
                                        "placeholder",
                                        "contentEncoding",
                                        "contentMediaType",
                                        "additionalProperties",
                                        "exclusiveMinimum",
                                        "exclusiveMaximum",
                                        "multipleOf",
                                        NULL};
    return is_one_of(key, words) || slice_begins(key, "$") || slice_begins(key, "x-");
}

/* Does this object declare a property rather than hold its value? Among `properties` one keyword tells;
 * elsewhere nothing but keywords may stand there, and a type. */
static bool is_schema(const char *at, const char *end, bool among_properties)
{
    static const char *const telling[] = {"$ref", "anyOf", "oneOf", "allOf", "enum", NULL};
    struct members m = {at + 1, at + size_min((size_t)(end - at), SCHEMA_LOOK)};
    struct slice key, value;
    bool type = false, words = false, others = false;
    while (member_next(&m, &key, &value)) {
        type |= (slice_is(key, "type") && names_types(value)) || is_one_of(key, telling);
        if (slice_is(key, "value"))
            return false;
        if (is_keyword(key))
            words = true;
        else
            others = true;
    }
    return among_properties ? words : type && !others;
}

/* What in a schema is a value. */
static bool is_schema_value(struct slice key)
{
    static const char *const words[] = {"default", "const", "example", "examples", NULL};
    return is_one_of(key, words);
}

/* ---- what is replaced ----------------------------------------------------------------------- */

static void mark_whole(struct pass *s, const char *p, const char *behind, const char *rule)
{
    if (*p != '"') {
        edit_mark(s->r, offset(s, p), offset(s, behind), rule, true);
        return;
    }
    struct slice raw = between(p, behind, s->end);
    if (edit_mark_len(raw) != raw.n || raw.n == 0)
        edit_mark(s->r, offset(s, raw.p), offset(s, raw.p) + raw.n, rule, false);
}

/* Is a container with a secret's key a secret? ["oauth2", "apikey"] is none. */
static bool container_goes(const struct pass *s, const struct child *c, const char *p)
{
    const char *inside = skip_space(p + 1, s->end);
    const char *end = p + size_min((size_t)(s->end - p), SCHEMA_LOOK);
    if (inside < s->end && (*inside == '}' || *inside == ']'))
        return false;
    if (*p == '{')
        return !(c->rule->flags & KEY_INTO);
    while (c->rule->flags & KEY_NO_WORD && inside < end && *inside == '"') {
        const char *behind = json_behind(inside, end);
        if (redact_judge(s->r, c->rule, between(inside, behind, end)))
            return true;
        inside = skip_space(behind, end);
        if (inside < end && *inside == ',')
            inside = skip_space(inside + 1, end);
    }
    return !(c->rule->flags & KEY_NO_WORD) || inside >= end || *inside != ']';
}

static bool number_goes(const struct key_rule *rule, char first)
{
    return (first == '-' || (first >= '0' && first <= '9')) && !(rule->flags & KEY_NO_NUMBER);
}

/* ---- pairs: {"name": …, "value": …} and {"blob": …, "mimeType": …} ------------------------------ */

static bool is_text_type(struct slice mime)
{
    static const char *const parts[] = {"json",       "xml",  "yaml",  "toml",
                                        "javascript", "x-sh", "x-pem", "urlencoded",
                                        "graphql",    "sql",  "x-env", NULL};
    if (slice_begins(mime, "text\\/") || slice_begins(mime, "text/"))
        return true;
    if (mime.n > 200 || !slice_begins(mime, "application"))
        return false;
    for (size_t i = 0; parts[i] != NULL; i++)
        if (memmem(mime.p, mime.n, parts[i], strlen(parts[i])) != NULL)
            return true;
    return false;
}

static void late_value(struct pass *s, struct frame *f)
{
    if (f->value_from == 0 || f->name == NULL)
        return;
    const char *p = s->text + f->value_from, *behind = s->text + f->value_to;
    size_t from = f->value_from, to = f->value_to;
    f->value_from = 0;
    if (*p == '"') {
        struct slice raw = between(p, behind, s->end);
        if (redact_judge(s->r, f->name, raw))
            edit_mark_late(s->r, s->first, from + 1, from + 1 + raw.n, f->name->rule, false);
    } else if (*p == '{' || *p == '[' || number_goes(f->name, *p)) {
        edit_mark_late(s->r, s->first, from, to, f->name->rule, true);
    }
}

/* Looked into once more, now that it is known what it is. */
static void late_blob(struct pass *s, struct frame *f)
{
    if (f->blob_from == 0 || !f->saw_text)
        return;
    const char *p = s->text + f->blob_from;
    struct slice raw = between(p, s->text + f->blob_to, s->end);
    edit_forget(s->r, s->first, f->blob_from, f->blob_to);
    f->blob_from = 0;
    size_t n = s->r->edit_n;
    redact_string(s->r, raw, offset(s, raw.p), false, s->level, STRING_BLOB);
    edit_sort(s->r, s->first, n);
}

/* ---- strings ------------------------------------------------------------------------------ */

/* `--api-key`, whose value is the next string. `--no-password` has none. */
static const struct key_rule *option_rule(const struct redact *r, struct slice raw)
{
    static const char *const flags[] = {"no",    "ask",      "prompt", "show",
                                        "hide",  "without",  "enable", "disable",
                                        "print", "generate", "use",    NULL};
    if (raw.n < 3 || raw.n > KEY_TEXT_MAX || raw.p[0] != '-')
        return NULL;
    size_t dashes = raw.p[1] == '-' ? 2 : 1;
    for (size_t i = dashes; i < raw.n; i++)
        if (raw.p[i] == '=' || raw.p[i] == ' ' || raw.p[i] == '\\')
            return NULL;
    struct slice name = {raw.p + dashes, raw.n - dashes};
    size_t word = 0;
    while (word < name.n && name.p[word] != '-' && name.p[word] != '_')
        word++;
    if (is_one_of((struct slice){name.p, word}, flags))
        return NULL;
    return key_find(&r->keys, name);
}

/* A string that is NAME=VALUE from end to end, as environments and argvs have them, or, among headers,
 * NAME: VALUE. */
static bool assigns(struct pass *s, const struct frame *f, struct slice raw)
{
    char mark = f->zone == ZONE_HEADERS ? ':' : '=';
    const char *at = memchr(raw.p, mark, size_min(raw.n, KEY_TEXT_MAX));
    if (at == NULL)
        return false;
    struct slice name = {raw.p, (size_t)(at - raw.p)};
    for (size_t i = 0; i < name.n; i++) {
        char c = (char)(name.p[i] | 0x20);
        if ((c < 'a' || c > 'z') && (name.p[i] < '0' || name.p[i] > '9') && name.p[i] != '_' &&
            name.p[i] != '-' && name.p[i] != '.')
            return false;
    }
    const struct key_rule *rule = key_find(&s->r->keys, name);
    struct slice value = {at + 1, raw.n - name.n - 1};
    while (value.n > 0 && value.p[0] == ' ') {
        value.p++;
        value.n--;
    }
    if (rule == NULL || !redact_judge(s->r, rule, value))
        return false;
    edit_mark(s->r, offset(s, value.p), offset(s, value.p) + value.n, rule->rule, false);
    return true;
}

/* A string in an array. true: it is dealt with. */
static bool array_string(struct pass *s, struct frame *f, struct slice raw)
{
    const struct key_rule *rule = f->option;
    f->option = option_rule(s->r, raw);
    if (rule != NULL && f->option == NULL && redact_judge(s->r, rule, raw) &&
        !(raw.n > 1 && raw.p[0] == '-' && raw.p[1] == '-')) {
        edit_mark(s->r, offset(s, raw.p), offset(s, raw.p) + raw.n, rule->rule, false);
        return true;
    }
    /* [["Authorization", "Bearer …"], …] */
    if (f->zone == ZONE_HEADERS && s->depth >= 2 && !s->frame[s->depth - 2].object &&
        s->frame[s->depth - 2].zone == ZONE_HEADERS && f->index == 0)
        f->option = key_find(&s->r->keys, raw);
    return assigns(s, f, raw);
}

static void string(struct pass *s, const struct child *c, const char *p, const char *behind)
{
    struct frame *f = top(s);
    struct slice raw = between(p, behind, s->end);
    size_t from = offset(s, raw.p);
    char place[KEY_TEXT_MAX];
    const struct key_rule *rule = c->rule;
    if (c->role == ROLE_STAYS)
        return;
    if (c->role == ROLE_VALUE && rule == NULL)
        rule = f->name;
    if (c->hit) {
        mark_whole(s, p, behind, "pointer");
        return;
    }
    if (rule != NULL && redact_judge(s->r, rule, raw)) {
        edit_mark(s->r, from, from + raw.n, rule->rule, false);
        return;
    }
    if (!f->object && s->depth > 1 && array_string(s, f, raw))
        return;
    if (c->role == ROLE_NAME) {
        f->name = key_find(&s->r->keys, key_text(raw, s->odd, place));
        late_value(s, f);
    } else if (c->role == ROLE_MIME) {
        f->saw_mime = true;
        f->saw_text = is_text_type(raw);
        late_blob(s, f);
    } else if (c->role == ROLE_BLOB && !f->saw_mime) {
        f->blob_from = offset(s, p);
        f->blob_to = offset(s, behind);
    }
    enum string_kind kind = c->content                            ? STRING_CUT
                            : c->role == ROLE_BLOB && f->saw_text ? STRING_BLOB
                                                                  : STRING_ANY;
    redact_string(s->r, raw, from, s->odd, s->level, kind);
}

/* ---- values ------------------------------------------------------------------------------- */

static bool push(struct pass *s, const struct child *c, const char *p)
{
    if (s->depth == FRAMES)
        return false;
    struct frame *f = &s->frame[s->depth++];
    *f = (struct frame){
        .object = *p == '{',
        .want_key = *p == '{',
        .zone = c->zone,
        .flags = c->flags,
        .content = c->content && *p == '[',
        .at = p,
        .pointers = c->pointers,
        .inner = c->inner,
    };
    if (f->zone == ZONE_TOP && f->object)
        f->zone = ZONE_MESSAGE;
    else if (f->zone == ZONE_TOP)
        s->pointer_depth--; /* of a batch: pointers begin in its messages */
    return true;
}

static void value_ended(struct pass *s, enum role role, const char *p, const char *behind)
{
    struct frame *f = top(s);
    if (role != ROLE_VALUE || (s->level == 0 && offset(s, p) < s->r->done))
        return; /* a container of which a part is written already */
    f->value_from = offset(s, p);
    f->value_to = offset(s, behind);
    if (f->name != NULL && *p != '"') /* a string is dealt with */
        late_value(s, f);
}

/* A container or a scalar. The result is where the walk goes on: inside, or behind. */
static const char *value(struct pass *s, struct child *c, const char *p)
{
    const char *behind;
    if (*p == '"') {
        s->odd = false;
        behind = string_behind(p, s->end, &s->odd);
        string(s, c, p, behind);
        value_ended(s, c->role, p, behind);
        return behind;
    }
    bool container = *p == '{' || *p == '[';
    bool schema = container && *p == '{' && c->rule != NULL &&
                  is_schema(p, s->end, top(s)->zone == ZONE_PROPERTIES);
    bool goes = c->hit || (c->rule != NULL && !schema &&
                           (container ? container_goes(s, c, p) : number_goes(c->rule, *p)));
    if (goes) {
        behind = json_behind(p, s->end);
        mark_whole(s, p, behind, c->hit ? "pointer" : c->rule->rule);
        return behind;
    }
    if (schema)
        c->inner = c->rule;
    if (container && c->role != ROLE_STAYS && push(s, c, p)) {
        s->frame[s->depth - 2].role = c->role;
        return p + 1;
    }
    behind = json_behind(p, s->end);
    value_ended(s, c->role, p, behind);
    return behind;
}

static void flush(struct pass *s, const char *p)
{
    struct redact *r = s->r;
    bool waits = false;
    for (int i = 0; i < s->depth; i++)
        waits |= s->frame[i].value_from != 0 || s->frame[i].blob_from != 0;
    if (waits && r->edit_n < PENDING_AT)
        return;
    for (int i = 0; i < s->depth; i++)
        s->frame[i].value_from = s->frame[i].blob_from = 0;
    for (size_t i = 0; i < r->edit_n; i++) { /* they count from the start of the text */
        r->edit[i].from -= r->done;
        r->edit[i].to -= r->done;
    }
    struct slice part = {s->text + r->done, offset(s, p) - r->done};
    edit_render(r, 0, part, r->out);
    r->count += r->edit_n;
    r->edit_n = 0;
    r->texts.n = 0;
    r->done = offset(s, p);
}

static void pop(struct pass *s, const char *p)
{
    if (s->depth == 1)
        return;
    const char *at = top(s)->at;
    s->depth--;
    value_ended(s, top(s)->role, at, p + 1);
}

static struct child child_of(const struct frame *f)
{
    struct child c = {.flags = f->flags, .inner = f->inner};
    if (f->zone == ZONE_TOP || f->zone == ZONE_TASK || f->zone == ZONE_HEADERS)
        c.zone = f->zone;
    return c;
}

/* A key, and the value behind it as far as it is a string or a scalar. */
static const char *member(struct pass *s, const char *p)
{
    struct frame *f = top(s);
    char place[KEY_TEXT_MAX];
    struct child c = {.flags = f->flags, .inner = f->inner};
    f->want_key = false;
    s->odd = false;
    const char *behind = string_behind(p, s->end, &s->odd);
    struct slice raw = between(p, behind, s->end);
    struct slice key = key_text(raw, s->odd, place);
    c.role = stays(f->zone, key) ? ROLE_STAYS : role_of(key);
    if (c.role != ROLE_STAYS && (!s->r->no_shapes || s->odd))
        redact_string(s->r, raw, offset(s, raw.p), s->odd, s->level, STRING_ANY);
    c.zone = zone_below(f->zone, key);
    c.rule = c.role == ROLE_STAYS ? NULL : key_find(&s->r->keys, key);
    if (c.rule == NULL && f->inner != NULL && is_schema_value(key))
        c.rule = f->inner;
    if (opens_arguments(s, key))
        c.flags |= IN_ARGUMENTS;
    else if (f->flags & IN_ARGUMENTS)
        c.content = key_content(&s->r->keys, key);
    if (f->pointers != 0)
        follow_pointers(s, f, key, &c);
    p = skip_space(behind, s->end);
    if (p < s->end && *p == ':')
        p = skip_space(p + 1, s->end);
    return p < s->end ? value(s, &c, p) : p;
}

static const char *element(struct pass *s, const char *p)
{
    struct frame *f = top(s);
    struct child c = child_of(f);
    c.content = f->content;
    if (s->depth == 1 || f->zone == ZONE_TOP) /* the root, or a message of a batch */
        c.pointers = f->pointers;
    else if (f->pointers != 0)
        follow_pointers(s, f, (struct slice){0}, &c);
    return value(s, &c, p);
}

static void walk(struct pass *s)
{
    const char *p = s->text;
    while (p < s->end) {
        struct frame *f = top(s);
        switch (*p) {
        case ' ':
        case '\n':
        case '\t':
        case '\r':
        case ':':
            p++;
            break;
        case ',':
            f->want_key = f->object;
            f->index++;
            p++;
            break;
        case '}':
        case ']':
            pop(s, p);
            p++;
            break;
        case '"':
            p = f->want_key ? member(s, p) : element(s, p);
            break;
        default:
            p = element(s, p);
            break;
        }
        if (s->level == 0 && s->r->edit_n >= FLUSH_AT)
            flush(s, p);
    }
}

void redact_json(struct redact *r, struct slice json, int level, enum zone zone, unsigned flags,
                 unsigned pointer_depth)
{
    struct pass s; /* not zeroed whole: frames are written before they are read */
    s.r = r;
    s.text = json.p;
    s.end = json.p + json.n;
    s.first = r->edit_n;
    s.level = level;
    s.pointer_depth = pointer_depth;
    s.depth = 1;
    s.odd = false;
    s.frame[0] = (struct frame){.zone = zone, .flags = flags, .at = json.p};
    for (unsigned i = 0; level == 0 && i < r->pointers_n; i++)
        if (pointer_begins(&r->pointer[i], pointer_depth))
            s.frame[0].pointers |= UINT32_C(1) << i;
    walk(&s);
}
