/* check.c - checks a value against a compiled schema: objects, arrays, combined schemas. */
#include "wire/schema/compile.h"

#include "wire/json/text.h"
#include "wire/schema/check.h"

static bool fits(struct check *c, uint32_t rule, const struct place *here);

/* The next element or member of the schema, of which each costs a step. 0: there is none, or the limit is exceeded. */
static uint32_t next_of(struct check *c, uint32_t at)
{
    return schema_work(c, 1) ? schema_node(c->s, at)->next : 0;
}

/* The same in the value. */
static uint32_t next_in_value(struct check *c, uint32_t at)
{
    return schema_work(c, 1) ? node(c, at)->next : 0;
}

/* ---- objects -------------------------------------------------------------------------------- */

static bool same_key(struct check *c, struct slice a, struct slice b)
{
    if (a.n == b.n && memcmp(a.p, b.p, a.n) == 0)
        return true;
    if (!schema_work(c, (a.n + b.n) / 64) ||
        (memchr(a.p, '\\', a.n) == NULL && memchr(b.p, '\\', b.n) == NULL))
        return false;
    return schema_work(c, (a.n + b.n) / 8) &&
           slice_eq(schema_plain(c, 0, a), schema_plain(c, 1, b));
}

/* The last member with this name, in a value or in the schema; 0: none. */
static uint32_t member(struct check *c, const struct json_tree *t, uint32_t object,
                       struct slice name)
{
    uint32_t found = 0;
    if (t->node[object].value.type != JSON_OBJECT || !schema_work(c, t->node[object].count))
        return 0;
    for (uint32_t i = t->node[object].child; i != 0; i = t->node[i].next)
        if (same_key(c, t->node[i].key, name))
            found = i;
    return found;
}

static bool has_all(struct check *c, const struct json_node *names, const struct place *here)
{
    for (uint32_t i = names->child; i != 0; i = next_of(c, i)) {
        struct slice name = json_string_raw(schema_node(c->s, i)->value);
        if (name.p == NULL || member(c, c->v, here->at, name) != 0 || c->gave_up)
            continue;
        SAY(c, here, "\"%.*s\" is missing", (int)size_min(name.n, 100), name.p);
        return false;
    }
    return true;
}

static bool check_count(struct check *c, enum keyword word, const struct json_node *k,
                        const struct place *here)
{
    int64_t limit;
    const struct json_node *v = node(c, here->at);
    bool items = word == KW_MIN_ITEMS || word == KW_MAX_ITEMS;
    bool least = word == KW_MIN_ITEMS || word == KW_MIN_PROPERTIES;
    if (v->value.type != (items ? JSON_ARRAY : JSON_OBJECT) || !schema_limit(c, k, &limit))
        return true;
    bool good = least ? v->count >= (uint64_t)limit : v->count <= (uint64_t)limit;
    if (!good)
        SAY(c, here, "must have at %s %lld %s, has %u", least ? "least" : "most", (long long)limit,
            items ? "items" : "members", (unsigned)v->count);
    return good;
}

static struct place below(const struct place *here, uint32_t at)
{
    return (struct place){.up = here, .at = at};
}

static bool fits_at(struct check *c, uint32_t schema, const struct place *there)
{
    uint32_t rule = c->s->rule_of[schema];
    return rule == SCHEMA_NO_RULE || fits(c, rule, there);
}

static bool check_properties(struct check *c, const struct json_node *k, const struct place *here)
{
    for (uint32_t i = k->child; i != 0; i = next_of(c, i)) {
        uint32_t m = member(c, c->v, here->at, schema_node(c->s, i)->key);
        struct place there = below(here, m);
        if (m != 0 && !fits_at(c, i, &there))
            return false;
    }
    return true;
}

static bool check_patterns(struct check *c, const struct json_node *k, const struct place *here)
{
    for (uint32_t i = k->child; i != 0; i = next_of(c, i))
        for (uint32_t m = node(c, here->at)->child; m != 0; m = next_in_value(c, m)) {
            struct place there = below(here, m);
            if (c->s->pattern[i] != NULL && schema_matches(c, c->s->pattern[i], node(c, m)->key) &&
                !fits_at(c, i, &there))
                return false;
        }
    return true;
}

/* The value of another keyword of the same schema; NULL: absent. */
static const struct schema_keyword *beside(struct check *c, const struct schema_rule *r,
                                           enum keyword word)
{
    for (uint32_t i = r->first; i < r->first + r->n && schema_work(c, 1); i++)
        if (c->s->keyword[i].word == word)
            return &c->s->keyword[i];
    return NULL;
}

static bool is_additional(struct check *c, const struct schema_rule *r, struct slice key)
{
    const struct schema_keyword *named = beside(c, r, KW_PROPERTIES);
    const struct schema_keyword *like = beside(c, r, KW_PATTERN_PROPERTIES);
    if (named != NULL && member(c, &c->s->tree, named->at, key) != 0)
        return false;
    uint32_t i = like != NULL ? schema_node(c->s, like->at)->child : 0;
    for (; i != 0; i = next_of(c, i))
        if (c->s->pattern[i] == NULL || schema_matches(c, c->s->pattern[i], key))
            return false;
    return true;
}

static bool check_additional(struct check *c, const struct schema_rule *r, uint32_t at,
                             const struct place *here)
{
    uint32_t rule = c->s->rule_of[at];
    for (uint32_t m = node(c, here->at)->child; m != 0; m = next_in_value(c, m)) {
        struct place there = below(here, m);
        if (rule == SCHEMA_NO_RULE || !is_additional(c, r, node(c, m)->key) || c->gave_up)
            continue;
        if (c->s->rule[rule].never) {
            SAY(c, &there, "unexpected member");
            return false;
        }
        if (!fits(c, rule, &there))
            return false;
    }
    return true;
}

/* Checks the name of a member as a value: a tree of one node. */
static bool check_names(struct check *c, uint32_t at, const struct place *here)
{
    for (uint32_t m = node(c, here->at)->child; m != 0; m = next_in_value(c, m)) {
        struct slice key = node(c, m)->key;
        struct json_node one = {.value = {JSON_STRING, {key.p - 1, key.n + 2}}};
        struct json_tree name = {.node = &one, .n = 1};
        struct check inner = *c;
        struct place top = {0};
        inner.v = &name;
        inner.quiet = 1;
        bool good = fits_at(&inner, at, &top);
        c->gave_up = inner.gave_up;
        if (good)
            continue;
        struct place there = below(here, m);
        SAY(c, &there, "member name not allowed");
        return false;
    }
    return true;
}

/* If a member is present, others are required, or a schema applies. */
static bool check_dependent(struct check *c, const struct json_node *k, const struct place *here)
{
    for (uint32_t i = k->child; i != 0; i = next_of(c, i)) {
        const struct json_node *d = schema_node(c->s, i);
        if (member(c, c->v, here->at, d->key) == 0)
            continue;
        if (d->value.type == JSON_ARRAY ? !has_all(c, d, here) : !fits_at(c, i, here))
            return false;
    }
    return true;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* Checks the items from an index on against one schema. */
static bool check_items(struct check *c, uint32_t at, uint32_t skip, const struct place *here)
{
    uint32_t index = 0;
    for (uint32_t m = node(c, here->at)->child; m != 0; m = next_in_value(c, m), index++) {
        struct place there = {here, m, index, true};
        if (index >= skip && !fits_at(c, at, &there))
            return false;
    }
    return true;
}

static bool check_prefix(struct check *c, const struct json_node *k, const struct place *here)
{
    uint32_t i = k->child, index = 0;
    for (uint32_t m = node(c, here->at)->child; m != 0 && i != 0; m = node(c, m)->next, index++) {
        struct place there = {here, m, index, true};
        if (!fits_at(c, i, &there))
            return false;
        i = next_of(c, i);
    }
    return true;
}

static uint32_t prefix_n(struct check *c, const struct schema_rule *r)
{
    const struct schema_keyword *k = beside(c, r, KW_PREFIX_ITEMS);
    return k != NULL ? schema_node(c->s, k->at)->count : 0;
}

static bool check_contains(struct check *c, const struct schema_rule *r, uint32_t at,
                           const struct place *here)
{
    int64_t least = 1, most = INT64_MAX, n = 0;
    const struct schema_keyword *min = beside(c, r, KW_MIN_CONTAINS);
    const struct schema_keyword *max = beside(c, r, KW_MAX_CONTAINS);
    if (min != NULL && !c->s->draft7 && !schema_limit(c, schema_node(c->s, min->at), &least))
        least = 1;
    if (max != NULL && !c->s->draft7 && !schema_limit(c, schema_node(c->s, max->at), &most))
        most = INT64_MAX;
    c->quiet++;
    for (uint32_t m = node(c, here->at)->child; m != 0; m = next_in_value(c, m)) {
        struct place there = below(here, m);
        n += fits_at(c, at, &there);
    }
    c->quiet--;
    if (n >= least && n <= most)
        return true;
    SAY(c, here, "must have at %s %lld items that match contains, has %lld",
        n < least ? "least" : "most", (long long)(n < least ? least : most), (long long)n);
    return false;
}

static bool check_unique(struct check *c, const struct json_node *k, const struct place *here)
{
    const struct json_node *v = node(c, here->at);
    if (k->value.type != JSON_TRUE || v->value.type != JSON_ARRAY)
        return true;
    for (uint32_t a = v->child; a != 0; a = node(c, a)->next)
        for (uint32_t b = node(c, a)->next; b != 0; b = node(c, b)->next) {
            bool same = schema_equal(c, node(c, a)->value, node(c, b)->value);
            if (c->gave_up)
                return true;
            if (same) {
                SAY(c, here, "must not contain duplicate items");
                return false;
            }
        }
    return true;
}

/* ---- several schemas ------------------------------------------------------------------------ */

static bool check_all(struct check *c, const struct json_node *k, const struct place *here)
{
    for (uint32_t i = k->child; i != 0; i = next_of(c, i))
        if (!fits_at(c, i, here))
            return false;
    return true;
}

/* The number of subschemas that match; counting stops at `enough`. */
static int count_fits(struct check *c, const struct json_node *k, int enough,
                      const struct place *here)
{
    int n = 0;
    c->quiet++;
    for (uint32_t i = k->child; i != 0 && n < enough; i = next_of(c, i))
        n += fits_at(c, i, here);
    c->quiet--;
    return n;
}

static bool check_any(struct check *c, enum keyword word, const struct json_node *k,
                      const struct place *here)
{
    if (k->value.type != JSON_ARRAY)
        return true;
    int n = count_fits(c, k, word == KW_ANY_OF ? 1 : 2, here);
    if (n == 1 || c->gave_up)
        return true;
    SAY(c, here,
        n == 0 ? "matches none of the %u schemas of %s"
               : "matches more than one of the %u schemas of %s",
        (unsigned)k->count, word == KW_ANY_OF ? "anyOf" : "oneOf");
    return false;
}

static bool fits_quietly(struct check *c, uint32_t at, const struct place *here)
{
    c->quiet++;
    bool good = fits_at(c, at, here);
    c->quiet--;
    return good;
}

static bool check_if(struct check *c, const struct schema_rule *r, uint32_t at,
                     const struct place *here)
{
    bool yes = fits_quietly(c, at, here);
    const struct schema_keyword *k = beside(c, r, yes ? KW_THEN : KW_ELSE);
    return k == NULL || fits_at(c, k->at, here);
}

/* ---- one keyword ---------------------------------------------------------------------------- */

/* Keywords that apply to objects. */
static bool check_members(struct check *c, const struct schema_rule *r,
                          const struct schema_keyword *kw, const struct place *here)
{
    const struct json_node *k = schema_node(c->s, kw->at);
    bool map = k->value.type == JSON_OBJECT;
    switch ((enum keyword)kw->word) {
    case KW_REQUIRED:
        return k->value.type != JSON_ARRAY || has_all(c, k, here);
    case KW_PROPERTIES:
        return !map || check_properties(c, k, here);
    case KW_PATTERN_PROPERTIES:
        return !map || check_patterns(c, k, here);
    case KW_ADDITIONAL_PROPERTIES:
        return check_additional(c, r, kw->at, here);
    case KW_PROPERTY_NAMES:
        return check_names(c, kw->at, here);
    default: /* the three kinds of dependencies */
        return !map || check_dependent(c, k, here);
    }
}

/* Keywords that apply to arrays. */
static bool check_elements(struct check *c, const struct schema_rule *r,
                           const struct schema_keyword *kw, const struct place *here)
{
    const struct json_node *k = schema_node(c->s, kw->at);
    switch ((enum keyword)kw->word) {
    case KW_PREFIX_ITEMS:
        return check_prefix(c, k, here);
    case KW_ADDITIONAL_ITEMS: /* ignored unless items is a list */
        if (beside(c, r, KW_PREFIX_ITEMS) == NULL)
            return true;
        return check_items(c, kw->at, prefix_n(c, r), here);
    case KW_ITEMS:
        return check_items(c, kw->at, prefix_n(c, r), here);
    default:
        return check_contains(c, r, kw->at, here);
    }
}

static bool check_keyword(struct check *c, const struct schema_rule *r,
                          const struct schema_keyword *kw, const struct place *here)
{
    const struct json_node *k = schema_node(c->s, kw->at);
    enum json_type type = node(c, here->at)->value.type;
    enum keyword word = (enum keyword)kw->word;
    if (word >= KW_TYPE && word <= KW_PATTERN)
        return schema_value_fits(c, kw, here);
    switch (word) {
    case KW_REF:
        return kw->rule == 0 || fits(c, kw->rule - 1, here);
    case KW_MIN_ITEMS:
    case KW_MAX_ITEMS:
    case KW_MIN_PROPERTIES:
    case KW_MAX_PROPERTIES:
        return check_count(c, word, k, here);
    case KW_REQUIRED:
    case KW_DEPENDENT_REQUIRED:
    case KW_PROPERTIES:
    case KW_PATTERN_PROPERTIES:
    case KW_ADDITIONAL_PROPERTIES:
    case KW_PROPERTY_NAMES:
    case KW_DEPENDENCIES:
    case KW_DEPENDENT_SCHEMAS:
        return type != JSON_OBJECT || check_members(c, r, kw, here);
    case KW_PREFIX_ITEMS:
    case KW_ITEMS:
    case KW_ADDITIONAL_ITEMS:
    case KW_CONTAINS:
        return type != JSON_ARRAY || check_elements(c, r, kw, here);
    case KW_UNIQUE_ITEMS:
        return check_unique(c, k, here);
    case KW_ALL_OF:
        return check_all(c, k, here);
    case KW_ANY_OF:
    case KW_ONE_OF:
        return check_any(c, word, k, here);
    case KW_NOT:
        if (!fits_quietly(c, kw->at, here) || c->gave_up)
            return true;
        SAY(c, here, "must not match the schema of not");
        return false;
    case KW_IF:
        return check_if(c, r, kw->at, here);
    default: /* the others are checked by one of these functions, or by another keyword */
        return true;
    }
}

static bool fits(struct check *c, uint32_t rule, const struct place *here)
{
    const struct schema_rule *r = &c->s->rule[rule];
    bool good = true;
    if (c->depth == SCHEMA_DEPTH || !schema_work(c, 1)) {
        c->gave_up = true;
        return true;
    }
    if (r->never) {
        SAY(c, here, "must not be present");
        return false;
    }
    c->depth++;
    for (uint32_t i = r->first; good && i < r->first + r->n && schema_work(c, 1); i++)
        good = check_keyword(c, r, &c->s->keyword[i], here);
    c->depth--;
    return good || c->gave_up;
}

enum schema_result schema_check(struct schema *s, struct slice value, struct schema_fault *fault)
{
    struct json_tree v;
    struct work work = work_begin(SCHEMA_STEPS, s->limits->cpu_us);
    (void)work_do(&work, size_min(value.n, SCHEMA_VALUE_MAX) / 8); /* of the tree */
    int st = value.n <= SCHEMA_VALUE_MAX ? json_tree_open(&v, value) : MI_EFULL;
    if (st < 0) {
        if (fault != NULL)
            buf_adds(&fault->reason,
                     st == MI_EFULL ? "the value is too large or too deep" : "out of memory");
        return SCHEMA_UNKNOWN;
    }
    struct check c = {.s = s, .v = &v, .fault = fault, .work = &work};
    struct place top = {0};
    bool good = fits(&c, 0, &top);
    json_tree_close(&v);
    if (c.gave_up && fault != NULL)
        buf_adds(&fault->reason,
                 work.steps < 0 ? "the check takes too long"
                                : "schemas are nested too deeply, or a pattern is too complex");
    return c.gave_up ? SCHEMA_UNKNOWN : good ? SCHEMA_FITS : SCHEMA_FAILS;
}
