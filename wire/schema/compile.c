/* compile.c - turns the text of a schema into rules. */
#include "wire/schema/compile.h"

#include "base/grow.h"
#include "wire/json/pointer.h"
#include "wire/json/text.h"
#include "wire/schema/node.h"

#include <stdlib.h>

/* What must be compiled in the value of a keyword. */
enum inner { INNER_NONE, INNER_SCHEMA, INNER_LIST, INNER_MAP, INNER_PATTERN, INNER_PATTERNS };

static const struct {
    const char *name;
    enum keyword word;
    enum inner inner;
} words[] = {
    {"$ref", KW_REF, INNER_NONE},
    {"type", KW_TYPE, INNER_NONE},
    {"enum", KW_ENUM, INNER_NONE},
    {"const", KW_CONST, INNER_NONE},
    {"multipleOf", KW_MULTIPLE_OF, INNER_NONE},
    {"minimum", KW_MINIMUM, INNER_NONE},
    {"maximum", KW_MAXIMUM, INNER_NONE},
    {"exclusiveMinimum", KW_EXCLUSIVE_MINIMUM, INNER_NONE},
    {"exclusiveMaximum", KW_EXCLUSIVE_MAXIMUM, INNER_NONE},
    {"minLength", KW_MIN_LENGTH, INNER_NONE},
    {"maxLength", KW_MAX_LENGTH, INNER_NONE},
    {"format", KW_FORMAT, INNER_NONE},
    {"pattern", KW_PATTERN, INNER_PATTERN},
    {"minItems", KW_MIN_ITEMS, INNER_NONE},
    {"maxItems", KW_MAX_ITEMS, INNER_NONE},
    {"minProperties", KW_MIN_PROPERTIES, INNER_NONE},
    {"maxProperties", KW_MAX_PROPERTIES, INNER_NONE},
    {"required", KW_REQUIRED, INNER_NONE},
    {"dependentRequired", KW_DEPENDENT_REQUIRED, INNER_NONE},
    {"properties", KW_PROPERTIES, INNER_MAP},
    {"patternProperties", KW_PATTERN_PROPERTIES, INNER_PATTERNS},
    {"additionalProperties", KW_ADDITIONAL_PROPERTIES, INNER_SCHEMA},
    {"propertyNames", KW_PROPERTY_NAMES, INNER_SCHEMA},
    {"prefixItems", KW_PREFIX_ITEMS, INNER_LIST},
    {"items", KW_ITEMS, INNER_SCHEMA}, /* if it is a list (draft-07): KW_PREFIX_ITEMS */
    {"additionalItems", KW_ADDITIONAL_ITEMS, INNER_SCHEMA},
    {"contains", KW_CONTAINS, INNER_SCHEMA},
    {"minContains", KW_MIN_CONTAINS, INNER_NONE},
    {"maxContains", KW_MAX_CONTAINS, INNER_NONE},
    {"uniqueItems", KW_UNIQUE_ITEMS, INNER_NONE},
    {"dependencies", KW_DEPENDENCIES, INNER_MAP},
    {"dependentSchemas", KW_DEPENDENT_SCHEMAS, INNER_MAP},
    {"allOf", KW_ALL_OF, INNER_LIST},
    {"anyOf", KW_ANY_OF, INNER_LIST},
    {"oneOf", KW_ONE_OF, INNER_LIST},
    {"not", KW_NOT, INNER_SCHEMA},
    {"if", KW_IF, INNER_SCHEMA},
    {"then", KW_THEN, INNER_SCHEMA},
    {"else", KW_ELSE, INNER_SCHEMA},
    {"$defs", KW_DEFS, INNER_MAP},
    {"definitions", KW_DEFS, INNER_MAP},
};

static int compile(struct schema *s, uint32_t at);

/* ---- keywords ------------------------------------------------------------------------------- */

static int add_keyword(struct schema *s, enum keyword word, uint32_t at)
{
    if (!GROW(s->keyword, s->keywords, s->keywords_cap))
        return MI_ENOMEM;
    s->keyword[s->keywords++] = (struct schema_keyword){.at = at, .word = (uint8_t)word};
    return 0;
}

/* No JIT: an expression is compiled once and used only a few times. */
static const struct pattern_rules regex_rules = {
    .ecma = true, .steps = 100000, .depth = 1000, .heap_kib = 1024};

/* A pattern that does not compile matches everything. */
static int compile_pattern(struct schema *s, uint32_t at, struct slice raw)
{
    struct buf text = {0};
    json_unescape(&text, raw);
    int st = text.failed ? MI_ENOMEM : 0;
    if (st == 0 && s->pattern[at] == NULL)
        st = pattern_open(&s->pattern[at], &regex_rules, buf_slice(&text), NULL);
    buf_close(&text);
    return st == MI_EINVAL ? 0 : st;
}

static int compile_children(struct schema *s, uint32_t at, bool patterns)
{
    int st = 0;
    for (uint32_t c = schema_node(s, at)->child; st == 0 && c != 0; c = schema_node(s, c)->next) {
        if (patterns)
            st = compile_pattern(s, c, schema_node(s, c)->key);
        if (st == 0)
            st = compile(s, c);
    }
    return st;
}

static int compile_inner(struct schema *s, uint32_t at, enum inner inner)
{
    enum json_type type = schema_node(s, at)->value.type;
    switch (inner) {
    case INNER_SCHEMA:
        return compile(s, at);
    case INNER_LIST:
        return type == JSON_ARRAY ? compile_children(s, at, false) : 0;
    case INNER_MAP:
    case INNER_PATTERNS:
        return type == JSON_OBJECT ? compile_children(s, at, inner == INNER_PATTERNS) : 0;
    case INNER_PATTERN:
        return type == JSON_STRING
                   ? compile_pattern(s, at, json_string_raw(schema_node(s, at)->value))
                   : 0;
    default:
        return 0;
    }
}

/* The keyword of this member, or KW_COUNT. */
static enum keyword keyword_of(const struct schema *s, uint32_t at, enum inner *ret_inner)
{
    const struct json_node *n = schema_node(s, at);
    for (size_t i = 0; i < MI_COUNT(words); i++) {
        if (!json_key_is(n->key, words[i].name))
            continue;
        *ret_inner = words[i].inner;
        if (words[i].word == KW_ITEMS && n->value.type == JSON_ARRAY) {
            *ret_inner = INNER_LIST;
            return KW_PREFIX_ITEMS;
        }
        return words[i].word;
    }
    return KW_COUNT;
}

static int by_word(const void *a, const void *b)
{
    const struct schema_keyword *x = a, *y = b;
    return (int)x->word - (int)y->word;
}

/* The keywords of one schema are contiguous: first they are all added, then their contents are compiled. */
static int compile_object(struct schema *s, uint32_t at, struct schema_rule *rule)
{
    enum inner inner;
    bool only_ref = s->draft7 && json_tree_get(&s->tree, at, "$ref") != 0;
    rule->first = (uint32_t)s->keywords;
    for (uint32_t c = schema_node(s, at)->child; c != 0; c = schema_node(s, c)->next) {
        enum keyword word = keyword_of(s, c, &inner);
        if (word == KW_COUNT || (only_ref && word != KW_REF && word != KW_DEFS))
            continue;
        if (add_keyword(s, word, c) < 0)
            return MI_ENOMEM;
    }
    rule->n = (uint32_t)s->keywords - rule->first;
    if (rule->n > 1)
        qsort(s->keyword + rule->first, rule->n, sizeof *s->keyword, by_word);
    return 0;
}

static int compile(struct schema *s, uint32_t at)
{
    enum json_type type = schema_node(s, at)->value.type;
    enum inner inner = INNER_NONE;
    if (s->rule_of[at] != SCHEMA_NO_RULE ||
        (type != JSON_OBJECT && type != JSON_TRUE && type != JSON_FALSE))
        return 0;
    struct schema_rule rule = {.never = type == JSON_FALSE};
    s->rule_of[at] = (uint32_t)s->rules++; /* there are at most as many rules as nodes */
    if (type == JSON_OBJECT && compile_object(s, at, &rule) < 0)
        return MI_ENOMEM;
    s->rule[s->rule_of[at]] = rule;
    for (uint32_t i = rule.first; i < rule.first + rule.n; i++) {
        uint32_t value = s->keyword[i].at;
        if (keyword_of(s, value, &inner) == KW_COUNT)
            continue;
        int st = compile_inner(s, value, inner);
        if (st < 0)
            return st;
    }
    return 0;
}

/* ---- $ref ----------------------------------------------------------------------------------- */

/* The `$id` of a schema, if it defines a base URI; {NULL, 0}: it does not. */
static struct slice id_of(const struct schema *s, uint32_t at)
{
    uint32_t id = json_tree_get(&s->tree, at, "$id");
    struct slice raw = id != 0 ? json_string_raw(schema_node(s, id)->value) : (struct slice){0};
    if (id == 0 || raw.n == 0 || *raw.p == '#' ||
        (s->draft7 && json_tree_get(&s->tree, at, "$ref") != 0))
        return (struct slice){0};
    const char *hash = memchr(raw.p, '#', raw.n);
    return (struct slice){raw.p, hash != NULL ? (size_t)(hash - raw.p) : raw.n};
}

/* The schema that defines the base URI here: the nearest enclosing one with an `$id`, or the root. */
static uint32_t base_of(const struct schema *s, uint32_t at)
{
    while (at != 0 && id_of(s, at).p == NULL)
        at = schema_node(s, at)->up;
    return at;
}

static bool is_absolute(struct slice uri)
{
    const char *colon = uri.n > 0 ? memchr(uri.p, ':', uri.n) : NULL;
    const char *slash = uri.n > 0 ? memchr(uri.p, '/', uri.n) : NULL;
    return colon != NULL && (slash == NULL || colon < slash);
}

/* Resolves a reference against a base URI: the part of RFC 3986 that schemas need. */
static void resolve(struct buf *b, struct slice base, struct slice ref)
{
    buf_clear(b);
    if (!is_absolute(ref) && base.n > 0) {
        const char *from = memmem(base.p, base.n, "://", 3);
        const char *cut = NULL;
        if (ref.n > 0 && *ref.p == '/' && from != NULL)
            cut = memchr(from + 3, '/', (size_t)(base.p + base.n - from) - 3);
        else if ((cut = slice_last(base, '/')) != NULL)
            cut++;
        buf_add(b, base.p, cut != NULL ? (size_t)(cut - base.p) : 0);
    }
    buf_slice_add(b, ref);
}

static void address(const struct schema *s, uint32_t at, struct buf *b, int depth)
{
    struct slice id = id_of(s, at);
    struct buf up = {0};
    if (at != 0 && !is_absolute(id) && depth < 16)
        address(s, base_of(s, schema_node(s, at)->up), &up, depth + 1);
    resolve(b, buf_slice(&up), id);
    buf_close(&up);
}

/* The schema with this URI in the document. false: none. */
static bool find_address(const struct schema *s, uint32_t from, struct slice uri, uint32_t *ret)
{
    struct buf base = {0}, want = {0}, here = {0};
    bool found = false;
    address(s, from, &base, 0);
    resolve(&want, buf_slice(&base), uri);
    for (uint32_t at = 0; !found && at < s->tree.n; at++) {
        if (schema_node(s, at)->value.type != JSON_OBJECT || id_of(s, at).p == NULL)
            continue;
        address(s, at, &here, 0);
        found = slice_eq(buf_slice(&here), buf_slice(&want)) && !here.failed && !want.failed;
        *ret = at;
    }
    buf_close(&base);
    buf_close(&want);
    buf_close(&here);
    return found;
}

static int hex(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* A token of a JSON Pointer in a URI fragment: %XX first, then ~1 and ~0. */
static void read_token(struct buf *b, struct slice raw)
{
    struct buf decoded = {0};
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '%' && i + 2 < raw.n && hex(raw.p[i + 1]) >= 0 && hex(raw.p[i + 2]) >= 0) {
            c = (char)(hex(raw.p[i + 1]) << 4 | hex(raw.p[i + 2]));
            i += 2;
        }
        buf_addc(&decoded, c);
    }
    buf_clear(b);
    (void)pointer_unescape(b, buf_slice(&decoded));
    b->failed |= decoded.failed;
    buf_close(&decoded);
}

static uint32_t child_at(const struct schema *s, uint32_t at, struct buf *token)
{
    const struct json_node *n = schema_node(s, at);
    if (n->value.type == JSON_OBJECT)
        return json_tree_get(&s->tree, at, buf_str(token));
    if (n->value.type != JSON_ARRAY || token->n == 0 || token->n > 6)
        return 0;
    size_t index = strtoul(buf_str(token), NULL, 10);
    uint32_t c = n->child;
    for (; c != 0 && index > 0; index--)
        c = schema_node(s, c)->next;
    return c;
}

static bool follow_pointer(const struct schema *s, uint32_t at, struct slice pointer, uint32_t *ret)
{
    struct buf token = {0};
    struct slice raw;
    bool found = true;
    while (found && pointer_next(&pointer, &raw)) {
        read_token(&token, raw);
        at = token.failed ? 0 : child_at(s, at, &token);
        found = at != 0;
    }
    buf_close(&token);
    *ret = at;
    return found;
}

/* The schema with this anchor: an `$anchor`, or an `$id` that is only a fragment. */
static bool find_anchor(const struct schema *s, uint32_t base, struct slice name, uint32_t *ret)
{
    for (uint32_t at = 0; at < s->tree.n; at++) {
        const struct json_node *n = schema_node(s, at);
        struct slice text = json_string_raw(n->value);
        bool anchor = json_key_is(n->key, "$anchor") && slice_eq(text, name);
        bool id = json_key_is(n->key, "$id") && text.n == name.n + 1 && *text.p == '#' &&
                  memcmp(text.p + 1, name.p, name.n) == 0;
        if ((anchor || id) && base_of(s, n->up) == base) {
            *ret = n->up;
            return true;
        }
    }
    return false;
}

/* The target of a reference. false: outside the document, or nonexistent. */
static bool find_ref(const struct schema *s, uint32_t from, struct slice ref, uint32_t *ret)
{
    const char *hash = ref.n > 0 ? memchr(ref.p, '#', ref.n) : NULL;
    struct slice uri = {ref.p, hash != NULL ? (size_t)(hash - ref.p) : ref.n};
    struct slice fragment =
        hash != NULL ? (struct slice){hash + 1, ref.n - uri.n - 1} : (struct slice){"", 0};
    uint32_t base = base_of(s, from);
    if (uri.n > 0 && !find_address(s, base, uri, &base))
        return false;
    if (fragment.n == 0) {
        *ret = base;
        return true;
    }
    return *fragment.p == '/' ? follow_pointer(s, base, fragment, ret)
                              : find_anchor(s, base, fragment, ret);
}

/* The target of a reference may not be compiled yet, and may contain references itself. */
static int link_refs(struct schema *s)
{
    for (size_t i = 0; i < s->keywords; i++) {
        uint32_t at, value = s->keyword[i].at;
        struct slice raw = json_string_raw(schema_node(s, value)->value);
        struct buf ref = {0};
        if (s->keyword[i].word != KW_REF || raw.p == NULL)
            continue;
        json_unescape(&ref, raw);
        bool found = !ref.failed && find_ref(s, schema_node(s, value)->up, buf_slice(&ref), &at);
        int st = ref.failed ? MI_ENOMEM : found ? compile(s, at) : 0;
        buf_close(&ref);
        if (st < 0)
            return st;
        if (found && s->rule_of[at] != SCHEMA_NO_RULE)
            s->keyword[i].rule = s->rule_of[at] + 1;
    }
    return 0;
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool is_draft7(const struct schema *s)
{
    uint32_t at = json_tree_get(&s->tree, 0, "$schema");
    struct slice text = at != 0 ? json_string_raw(schema_node(s, at)->value) : (struct slice){0};
    return text.p != NULL && memmem(text.p, text.n, "draft-0", 7) != NULL;
}

static int prepare(struct schema *s, struct slice text, struct buf *why)
{
    s->text = malloc(text.n + 1);
    if (s->text == NULL)
        return MI_ENOMEM;
    memcpy(s->text, text.p, text.n);
    s->text[text.n] = '\0';
    s->text_n = text.n;
    int st = json_tree_open(&s->tree, (struct slice){s->text, text.n});
    if (st < 0) {
        buf_adds(why, st == MI_EFULL ? "the schema is too large" : "cannot read the schema");
        return st;
    }
    enum json_type type = schema_node(s, 0)->value.type;
    if (type != JSON_OBJECT && type != JSON_TRUE && type != JSON_FALSE) {
        buf_adds(why, "a schema must be an object, true or false");
        return MI_EINVAL;
    }
    s->draft7 = type == JSON_OBJECT && is_draft7(s);
    s->rule = calloc(s->tree.n, sizeof *s->rule);
    s->rule_of = malloc(s->tree.n * sizeof *s->rule_of);
    s->pattern = calloc(s->tree.n, sizeof(struct pattern *));
    if (s->rule == NULL || s->rule_of == NULL || s->pattern == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < s->tree.n; i++)
        s->rule_of[i] = SCHEMA_NO_RULE;
    return 0;
}

int schema_open(struct schema **ret, struct slice text, struct buf *why)
{
    if (text.n > SCHEMA_TEXT_MAX) {
        buf_adds(why, "the schema is too large");
        return MI_EFULL;
    }
    struct schema *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    int st = prepare(s, text, why);
    if (st == 0)
        st = compile(s, 0);
    if (st == 0)
        st = link_refs(s);
    if (st < 0)
        schema_close(s);
    else
        *ret = s;
    return st;
}

void schema_close(struct schema *s)
{
    if (s == NULL)
        return;
    for (size_t i = 0; s->pattern != NULL && i < s->tree.n; i++)
        pattern_close(s->pattern[i]);
    free(s->pattern);
    free(s->rule_of);
    free(s->rule);
    free(s->keyword);
    json_tree_close(&s->tree);
    buf_close(&s->scratch[0]);
    buf_close(&s->scratch[1]);
    free(s->text);
    free(s);
}

void schema_fault_close(struct schema_fault *f)
{
    buf_close(&f->pointer);
    buf_close(&f->reason);
}
