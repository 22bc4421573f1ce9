/* compile.c - turns the text of a schema into rules. */
#include "wire/schema/compile.h"

#include "base/grow.h"
#include "wire/json/text.h"
#include "wire/schema/names.h"
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

/* The steps of compiling a pattern that needs this much memory; 4 to 13 ns each (tests/unit/wire/test_schema_limits.c). */
#define PATTERN_STEPS(text_n, bytes) (200 + 20 * (text_n) + (bytes) / 2)

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
static struct pattern_rules regex_rules(struct schema *s)
{
    return (struct pattern_rules){.ecma = true,
                                  .steps = 100000,
                                  .depth = 1000,
                                  .heap_kib = 1024,
                                  .quota = &s->limits->memory};
}

/* A pattern that is invalid matches everything. Compiling one takes time for what it expands to: `(a{99}){99}`. */
static int compile_pattern(struct schema *s, uint32_t at, struct slice raw)
{
    struct pattern_rules rules = regex_rules(s);
    struct buf text = {0};
    size_t before = s->limits->memory.used;
    if (s->pattern[at] != NULL)
        return 0;
    json_unescape(&text, raw);
    int st =
        text.failed ? MI_ENOMEM : pattern_open(&s->pattern[at], &rules, buf_slice(&text), NULL);
    if (!work_do(&s->work, PATTERN_STEPS(text.n, s->limits->memory.used - before)))
        st = MI_EFULL;
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
    if (!work_do(&s->work, 1 + schema_node(s, at)->count))
        return MI_EFULL;
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

/* The target of a reference may not be compiled yet, and may contain references itself. */
static int link_ref(struct schema *s, struct schema_names *names, size_t i)
{
    uint32_t at, value = s->keyword[i].at;
    struct buf ref = {0};
    json_unescape(&ref, json_string_raw(schema_node(s, value)->value));
    int st = ref.failed ? MI_ENOMEM : 0;
    if (st == 0 && schema_names_find(names, schema_node(s, value)->up, buf_slice(&ref), &at)) {
        st = compile(s, at);
        if (st == 0 && s->rule_of[at] != SCHEMA_NO_RULE)
            s->keyword[i].rule = s->rule_of[at] + 1;
    }
    buf_close(&ref);
    return st;
}

static int link_refs(struct schema *s)
{
    struct schema_names names = {0};
    int st = 0;
    for (size_t i = 0; st == 0 && i < s->keywords; i++) {
        if (s->keyword[i].word != KW_REF ||
            schema_node(s, s->keyword[i].at)->value.type != JSON_STRING)
            continue;
        if (names.tree == NULL)
            st = schema_names_open(&names, &s->tree, s->draft7);
        if (st == 0)
            st = link_ref(s, &names, i);
    }
    schema_names_close(&names);
    return st;
}

/* ---- opening ------------------------------------------------------------------------------- */

static bool is_draft7(const struct schema *s)
{
    uint32_t at = json_tree_get(&s->tree, 0, "$schema");
    struct slice text = at != 0 ? json_string_raw(schema_node(s, at)->value) : (struct slice){0};
    return text.p != NULL && memmem(text.p, text.n, "draft-0", 7) != NULL;
}

/* The arrays with an element for each node. */
static int allocate(struct schema *s)
{
    size_t n = s->tree.n, node = sizeof *s->tree.node + sizeof *s->rule + sizeof *s->rule_of +
                                 sizeof *s->pattern + sizeof *s->keyword;
    if (!quota_take(&s->limits->memory, s->text_n + n * node))
        return MI_EFULL;
    s->taken = s->text_n + n * node;
    s->rule = calloc(n, sizeof *s->rule);
    s->rule_of = malloc(n * sizeof *s->rule_of);
    s->pattern = calloc(n, sizeof *s->pattern);
    if (s->rule == NULL || s->rule_of == NULL || s->pattern == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < n; i++)
        s->rule_of[i] = SCHEMA_NO_RULE;
    return 0;
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
        buf_adds(why, st == MI_EFULL ? "the schema has too many values or levels"
                                     : "cannot read the schema");
        return st;
    }
    enum json_type type = schema_node(s, 0)->value.type;
    if (type != JSON_OBJECT && type != JSON_TRUE && type != JSON_FALSE) {
        buf_adds(why, "a schema must be an object, true or false");
        return MI_EINVAL;
    }
    s->draft7 = type == JSON_OBJECT && is_draft7(s);
    return allocate(s);
}

/* Which limit was exceeded. */
static void explain(const struct schema *s, struct buf *why)
{
    if (why->n > 0)
        return;
    if (s->work.steps < 0)
        buf_adds(why, "compiling the schema takes too long");
    else if (s->limits->memory.refused)
        buf_printf(why, "the schemas and their patterns need more than %zu KiB of memory",
                   s->limits->memory.max >> 10);
    else
        buf_adds(why, "the addresses ($id) in the schema are too long");
}

int schema_open(struct schema **ret, struct slice text, struct schema_limits *limits,
                struct buf *why)
{
    if (text.n > SCHEMA_TEXT_MAX) {
        buf_printf(why, "the schema has more than %zu KiB", SCHEMA_TEXT_MAX >> 10);
        return MI_EFULL;
    }
    struct schema *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    s->limits = limits != NULL ? limits : &s->own;
    s->limits->memory.refused = false;
    if (s->limits->memory.max == 0)
        s->limits->memory.max = SCHEMA_BYTES_MAX;
    s->work = work_begin(SCHEMA_OPEN_STEPS, s->limits->cpu_us);
    int st = prepare(s, text, why);
    if (st == 0)
        st = compile(s, 0);
    if (st == 0)
        st = link_refs(s);
    if (st == MI_EFULL)
        explain(s, why);
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
    quota_give(&s->limits->memory, s->taken);
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
