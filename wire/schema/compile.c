/* compile.c - turns a subschema and its subschemas into rules. link.c then finds the targets of
 * references. */
#include "base/grow.h"
#include "wire/json/text.h"
#include "wire/schema/node.h"

#include <stdlib.h>

/* Which part of a keyword's value must be compiled. */
enum inner { INNER_NONE, INNER_SCHEMA, INNER_LIST, INNER_MAP, INNER_PATTERN, INNER_PATTERNS };

static const struct {
    const char *name;
    enum keyword word;
    enum inner inner;
    /* The first and the last dialect that has the keyword. until: 0 stands for DIALECT_2020, whose
     * schemas may also use older keywords. */
    enum dialect since, until;
} words[] = {
    {"$ref", KW_REF, INNER_NONE},
    {"$dynamicRef", KW_DYNAMIC_REF, INNER_NONE, DIALECT_2020},
    {"$recursiveRef", KW_DYNAMIC_REF, INNER_NONE, DIALECT_2019, DIALECT_2019},
    {"type", KW_TYPE, INNER_NONE},
    {"enum", KW_ENUM, INNER_NONE},
    {"const", KW_CONST, INNER_NONE, DIALECT_DRAFT6},
    {"multipleOf", KW_MULTIPLE_OF, INNER_NONE},
    {"minimum", KW_MINIMUM, INNER_NONE},
    {"maximum", KW_MAXIMUM, INNER_NONE},
    {"exclusiveMinimum", KW_EXCLUSIVE_MINIMUM, INNER_NONE, DIALECT_DRAFT6},
    {"exclusiveMaximum", KW_EXCLUSIVE_MAXIMUM, INNER_NONE, DIALECT_DRAFT6},
    {"minLength", KW_MIN_LENGTH, INNER_NONE},
    {"maxLength", KW_MAX_LENGTH, INNER_NONE},
    {"format", KW_FORMAT, INNER_NONE},
    {"pattern", KW_PATTERN, INNER_PATTERN},
    {"minItems", KW_MIN_ITEMS, INNER_NONE},
    {"maxItems", KW_MAX_ITEMS, INNER_NONE},
    {"minProperties", KW_MIN_PROPERTIES, INNER_NONE},
    {"maxProperties", KW_MAX_PROPERTIES, INNER_NONE},
    {"required", KW_REQUIRED, INNER_NONE},
    {"dependentRequired", KW_DEPENDENT_REQUIRED, INNER_NONE, DIALECT_2019},
    {"properties", KW_PROPERTIES, INNER_MAP},
    {"patternProperties", KW_PATTERN_PROPERTIES, INNER_PATTERNS},
    {"additionalProperties", KW_ADDITIONAL_PROPERTIES, INNER_SCHEMA},
    {"propertyNames", KW_PROPERTY_NAMES, INNER_SCHEMA, DIALECT_DRAFT6},
    {"prefixItems", KW_PREFIX_ITEMS, INNER_LIST, DIALECT_2020},
    /* if its value is a list, the keyword `items` counts as KW_PREFIX_ITEMS */
    {"items", KW_ITEMS, INNER_SCHEMA},
    {"additionalItems", KW_ADDITIONAL_ITEMS, INNER_SCHEMA},
    {"contains", KW_CONTAINS, INNER_SCHEMA, DIALECT_DRAFT6},
    {"minContains", KW_MIN_CONTAINS, INNER_NONE, DIALECT_2019},
    {"maxContains", KW_MAX_CONTAINS, INNER_NONE, DIALECT_2019},
    {"uniqueItems", KW_UNIQUE_ITEMS, INNER_NONE},
    {"dependencies", KW_DEPENDENCIES, INNER_MAP},
    {"dependentSchemas", KW_DEPENDENT_SCHEMAS, INNER_MAP, DIALECT_2019},
    {"allOf", KW_ALL_OF, INNER_LIST},
    {"anyOf", KW_ANY_OF, INNER_LIST},
    {"oneOf", KW_ONE_OF, INNER_LIST},
    {"not", KW_NOT, INNER_SCHEMA},
    {"if", KW_IF, INNER_SCHEMA, DIALECT_DRAFT7},
    {"then", KW_THEN, INNER_SCHEMA, DIALECT_DRAFT7},
    {"else", KW_ELSE, INNER_SCHEMA, DIALECT_DRAFT7},
    {"unevaluatedProperties", KW_UNEVALUATED_PROPERTIES, INNER_SCHEMA, DIALECT_2019},
    {"unevaluatedItems", KW_UNEVALUATED_ITEMS, INNER_SCHEMA, DIALECT_2019},
    {"$defs", KW_DEFS, INNER_MAP},
    {"definitions", KW_DEFS, INNER_MAP},
};

/* A longer `$schema` with escapes is an unknown dialect. Each character may be escaped as
 * \uXXXX. */
#define DIALECT_URI_MAX 512
/* The number of steps that are counted for compiling a pattern: its text has text_n bytes, and the
 * compiled pattern takes `bytes` of memory. A step takes 4 to 13 ns
 * (tests/unit/wire/test_schema_limits.c). */
#define PATTERN_STEPS(text_n, bytes) (200 + 20 * (text_n) + (bytes) / 2)

/* ---- keywords ------------------------------------------------------------------------------- */

/* Compiles the pattern of a node. An invalid pattern stays NULL, which matches everything. Time and
 * memory depend on the expanded pattern: `(a{99}){99}` stands for 9801 letters. */
static int compile_pattern(struct schema *s, uint32_t at, struct slice raw)
{
    /* the JIT compiler is not used, because a pattern is compiled once and used only a few times */
    struct pattern_rules rules = {.ecma = true,
                                  .steps = 100000,
                                  .depth = 1000,
                                  .heap_kib = 1024,
                                  .quota = &s->limits->memory};
    struct buf text = {0};
    size_t before = s->limits->memory.used;
    if (s->pattern[at] != NULL)
        return 0;
    json_unescape(&text, raw);
    int st =
        text.failed ? MI_ENOMEM : pattern_open(&s->pattern[at], &rules, buf_slice(&text), NULL);
    if (!work_count_steps(&s->work, PATTERN_STEPS(text.n, s->limits->memory.used - before)))
        st = MI_EFULL;
    buf_close(&text);
    return st == MI_EINVAL ? 0 : st;
}

static int compile_children(struct schema *s, uint32_t at, bool patterns)
{
    int st = 0;
    for (uint32_t c = schema_get_node(s, at)->child; st == 0 && c != 0;
         c = schema_get_node(s, c)->next) {
        if (patterns)
            st = compile_pattern(s, c, schema_get_node(s, c)->key);
        if (st == 0)
            st = schema_compile(s, c);
    }
    return st;
}

static int compile_inner_schemas(struct schema *s, uint32_t at, enum inner inner)
{
    enum json_type type = schema_get_node(s, at)->value.type;
    switch (inner) {
    case INNER_SCHEMA:
        return schema_compile(s, at);
    case INNER_LIST:
        return type == JSON_ARRAY ? compile_children(s, at, false) : 0;
    case INNER_MAP:
    case INNER_PATTERNS:
        return type == JSON_OBJECT ? compile_children(s, at, inner == INNER_PATTERNS) : 0;
    case INNER_PATTERN:
        return type == JSON_STRING
                   ? compile_pattern(s, at, json_string_raw(schema_get_node(s, at)->value))
                   : 0;
    default:
        return 0;
    }
}

static enum dialect dialect_of_uri(struct slice uri)
{
    static const struct {
        const char *name;
        enum dialect dialect;
    } names[] = {{"json-schema.org/draft-04/schema", DIALECT_DRAFT4},
                 {"json-schema.org/draft-06/schema", DIALECT_DRAFT6},
                 {"json-schema.org/draft-07/schema", DIALECT_DRAFT7},
                 {"json-schema.org/draft/2019-09/schema", DIALECT_2019},
                 {"json-schema.org/draft/2020-12/schema", DIALECT_2020},
                 {"json-schema.org/schema", DIALECT_2020}}; /* the latest */
    size_t scheme = slice_begins(uri, "https://") ? 8 : slice_begins(uri, "http://") ? 7 : 0;
    if (scheme == 0)
        return DIALECT_UNKNOWN;
    uri = (struct slice){uri.p + scheme, uri.n - scheme};
    if (uri.n > 0 && uri.p[uri.n - 1] == '#')
        uri.n--;
    for (size_t i = 0; i < MI_COUNT(names); i++)
        if (slice_is(uri, names[i].name))
            return names[i].dialect;
    return DIALECT_UNKNOWN;
}

enum dialect schema_read_dialect(struct json_value value)
{
    struct slice raw = json_string_raw(value);
    struct buf plain = {0};
    if (raw.n == 0 || raw.n > DIALECT_URI_MAX || memchr(raw.p, '\\', raw.n) == NULL)
        return dialect_of_uri(raw);
    json_unescape(&plain, raw);
    enum dialect d = dialect_of_uri(buf_slice(&plain));
    buf_close(&plain);
    return d;
}

/* Returns the keyword of this member, or KW_COUNT if it is not a keyword. */
static enum keyword keyword_of_member(const struct schema *s, uint32_t at, enum inner *ret_inner)
{
    const struct json_node *n = schema_get_node(s, at);
    *ret_inner = INNER_NONE;
    for (size_t i = 0; i < MI_COUNT(words); i++) {
        enum dialect until = words[i].until != 0 ? words[i].until : DIALECT_2020;
        if (s->dialect < words[i].since || s->dialect > until ||
            !json_key_is(n->key, words[i].name))
            continue;
        *ret_inner = words[i].inner;
        if (words[i].word == KW_ITEMS && n->value.type == JSON_ARRAY) {
            *ret_inner = INNER_LIST;
            return KW_PREFIX_ITEMS;
        }
        return words[i].word;
    }
    if (json_key_is(n->key, "$schema") &&
        (schema_read_dialect(n->value) != s->dialect || s->dialect == DIALECT_UNKNOWN))
        return KW_DIALECT;
    return KW_COUNT;
}

static int compare_keywords_by_word(const void *a, const void *b)
{
    const struct schema_keyword *x = a, *y = b;
    return (int)x->word - (int)y->word;
}

/* Whether `minimum` or `maximum` in this schema excludes the limit itself. In draft-04, this is so
 * if exclusiveMinimum or exclusiveMaximum (`name`) is true. In later dialects, these two keywords
 * are limits of their own. */
static bool limit_is_exclusive(const struct schema *s, uint32_t at, const char *name)
{
    uint32_t beside = s->dialect == DIALECT_DRAFT4 ? json_tree_get(&s->tree, at, name) : 0;
    return beside != 0 && schema_get_node(s, beside)->value.type == JSON_TRUE;
}

/* Adds all keywords of a schema, so that they are contiguous. schema_compile() compiles their
 * values afterwards. */
static int add_keywords_of_object(struct schema *s, uint32_t at, struct schema_rule *rule)
{
    enum inner inner;
    bool only_ref = s->dialect <= DIALECT_DRAFT7 && json_tree_get(&s->tree, at, "$ref") != 0;
    rule->first = (uint32_t)s->keywords;
    for (uint32_t c = schema_get_node(s, at)->child; c != 0; c = schema_get_node(s, c)->next) {
        enum keyword word = keyword_of_member(s, c, &inner);
        if (word == KW_COUNT || (only_ref && word != KW_REF && word != KW_DEFS))
            continue;
        if (word == KW_MINIMUM && limit_is_exclusive(s, at, "exclusiveMinimum"))
            word = KW_EXCLUSIVE_MINIMUM;
        if (word == KW_MAXIMUM && limit_is_exclusive(s, at, "exclusiveMaximum"))
            word = KW_EXCLUSIVE_MAXIMUM;
        rule->unevaluated |= word == KW_UNEVALUATED_PROPERTIES || word == KW_UNEVALUATED_ITEMS;
        /* `$schema` names another dialect: drop the keywords added so far, because they may have
         * another meaning in that dialect */
        if (word == KW_DIALECT)
            s->keywords = rule->first;
        if (!GROW(s->keyword, s->keywords, s->keywords_cap))
            return MI_ENOMEM;
        s->keyword[s->keywords++] = (struct schema_keyword){.at = c, .word = (uint8_t)word};
        if (word == KW_DIALECT)
            break;
    }
    rule->n = (uint32_t)s->keywords - rule->first;
    if (rule->n > 1)
        qsort(s->keyword + rule->first, rule->n, sizeof *s->keyword, compare_keywords_by_word);
    return 0;
}

int schema_compile(struct schema *s, uint32_t at)
{
    enum json_type type = schema_get_node(s, at)->value.type;
    enum inner inner = INNER_NONE;
    if (s->rule_of[at] != SCHEMA_NO_RULE ||
        (type != JSON_OBJECT && type != JSON_TRUE && type != JSON_FALSE))
        return 0;
    struct schema_rule rule = {.never = type == JSON_FALSE};
    if (!work_count_steps(&s->work, 1 + schema_get_node(s, at)->count))
        return MI_EFULL;
    /* the rule's number fits into 32 bits, because there are at most as many rules as nodes */
    s->rule_of[at] = (uint32_t)s->rules++;
    if (type == JSON_OBJECT && add_keywords_of_object(s, at, &rule) < 0)
        return MI_ENOMEM;
    s->rule[s->rule_of[at]] = rule;
    s->unevaluated |= rule.unevaluated;
    for (uint32_t i = rule.first; i < rule.first + rule.n; i++) {
        uint32_t value = s->keyword[i].at;
        if (keyword_of_member(s, value, &inner) == KW_COUNT)
            continue;
        int st = compile_inner_schemas(s, value, inner);
        if (st < 0)
            return st;
    }
    return 0;
}
