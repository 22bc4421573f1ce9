/* children.c - checks the members of an object and the items of an array. */
#include "wire/json/text.h"
#include "wire/schema/check.h"

/* Returns the next child of a value; 0: there is none. Each call costs a step; returns 0 if the
 * limit of steps is exceeded. */
static uint32_t next_child_of_value(struct check *c, uint32_t at)
{
    return schema_count_steps(c, 1) ? schema_get_value_node(c, at)->next : 0;
}

/* ---- objects -------------------------------------------------------------------------------- */

/* Compares raw keys. Keys with different bytes can be equal only if one of them has an escape. */
static bool schema_keys_equal(struct check *c, struct slice a, struct slice b)
{
    if (a.n == b.n && memcmp(a.p, b.p, a.n) == 0)
        return true;
    if (!schema_count_steps(c, (a.n + b.n) / 64) ||
        (memchr(a.p, '\\', a.n) == NULL && memchr(b.p, '\\', b.n) == NULL))
        return false;
    return schema_count_steps(c, (a.n + b.n) / 8) &&
           slice_eq(schema_unescape(c, 0, a), schema_unescape(c, 1, b));
}

/* Returns the last member with this name of an object; 0 if there is none. `t` is the tree of the
 * value or that of the schema. */
static uint32_t find_last_member(struct check *c, const struct json_tree *t, uint32_t object,
                                 struct slice name)
{
    uint32_t found = 0;
    if (t->node[object].value.type != JSON_OBJECT || !schema_count_steps(c, t->node[object].count))
        return 0;
    for (uint32_t i = t->node[object].child; i != 0; i = t->node[i].next)
        if (schema_keys_equal(c, t->node[i].key, name))
            found = i;
    return found;
}

/* Whether the object has a member for each of these names; otherwise reports the first one that is
 * missing. */
static bool object_has_all_members(struct check *c, const struct json_node *names,
                                   const struct place *here)
{
    for (uint32_t i = names->child; i != 0; i = schema_next_sibling(c, i)) {
        struct slice name = json_string_raw(schema_get_node(c->s, i)->value);
        if (name.p == NULL || find_last_member(c, c->v, here->at, name) != 0 || c->gave_up)
            continue;
        SAY(c, here, "\"%.*s\" is missing", (int)size_min(name.n, 100), name.p);
        return false;
    }
    return true;
}

static bool check_children_count(struct check *c, enum keyword word, const struct json_node *k,
                                 const struct place *here)
{
    int64_t limit;
    const struct json_node *v = schema_get_value_node(c, here->at);
    bool items = word == KW_MIN_ITEMS || word == KW_MAX_ITEMS;
    bool least = word == KW_MIN_ITEMS || word == KW_MIN_PROPERTIES;
    if (v->value.type != (items ? JSON_ARRAY : JSON_OBJECT) || !schema_read_limit(c, k, &limit))
        return true;
    bool good = least ? v->count >= (uint64_t)limit : v->count <= (uint64_t)limit;
    if (!good)
        SAY(c, here, "must have at %s %lld %s, has %u", least ? "least" : "most", (long long)limit,
            items ? "items" : "members", (unsigned)v->count);
    return good;
}

static struct place make_path_to_member(const struct place *here, uint32_t at)
{
    return (struct place){.up = here, .at = at};
}

static bool check_properties(struct check *c, const struct json_node *k, const struct place *here)
{
    for (uint32_t i = k->child; i != 0; i = schema_next_sibling(c, i)) {
        uint32_t m = find_last_member(c, c->v, here->at, schema_get_node(c->s, i)->key);
        struct place there = make_path_to_member(here, m);
        if (m != 0 && !schema_node_fits_value(c, i, &there))
            return false;
        if (m != 0)
            evaluated_add_child_if_in_scope(c, m, here);
    }
    return true;
}

static bool check_pattern_properties(struct check *c, const struct json_node *k,
                                     const struct place *here)
{
    for (uint32_t i = k->child; i != 0; i = schema_next_sibling(c, i)) {
        if (c->s->pattern[i] == NULL && schema_get_value_node(c, here->at)->count > 0) {
            schema_mark_keyword_unchecked(c, i, here);
            continue;
        }
        for (uint32_t m = schema_get_value_node(c, here->at)->child; m != 0;
             m = next_child_of_value(c, m)) {
            struct place there = make_path_to_member(here, m);
            if (!schema_pattern_matches(c, c->s->pattern[i], schema_get_value_node(c, m)->key))
                continue;
            if (!schema_node_fits_value(c, i, &there))
                return false;
            evaluated_add_child_if_in_scope(c, m, here);
        }
    }
    return true;
}

static bool member_is_additional(struct check *c, const struct schema_rule *r, struct slice key)
{
    const struct schema_keyword *named = schema_find_sibling_keyword(c, r, KW_PROPERTIES);
    const struct schema_keyword *like = schema_find_sibling_keyword(c, r, KW_PATTERN_PROPERTIES);
    if (named != NULL && find_last_member(c, &c->s->tree, named->at, key) != 0)
        return false;
    uint32_t i = like != NULL ? schema_get_node(c->s, like->at)->child : 0;
    for (; i != 0; i = schema_next_sibling(c, i))
        if (c->s->pattern[i] == NULL || schema_pattern_matches(c, c->s->pattern[i], key))
            return false;
    return true;
}

static bool check_additional_properties(struct check *c, const struct schema_rule *r, uint32_t at,
                                        const struct place *here)
{
    uint32_t rule = c->s->rule_of[at];
    for (uint32_t m = schema_get_value_node(c, here->at)->child; m != 0;
         m = next_child_of_value(c, m)) {
        struct place there = make_path_to_member(here, m);
        if (rule == SCHEMA_NO_RULE ||
            !member_is_additional(c, r, schema_get_value_node(c, m)->key) || c->gave_up)
            continue;
        if (c->s->rule[rule].never) {
            SAY(c, &there, "unexpected member");
            return false;
        }
        if (!schema_node_fits_value(c, at, &there))
            return false;
        evaluated_add_child_if_in_scope(c, m, here);
    }
    return true;
}

/* Checks propertyNames. The name of each member is checked like a value, in a tree of one node. */
static bool check_member_names(struct check *c, uint32_t at, const struct place *here)
{
    for (uint32_t m = schema_get_value_node(c, here->at)->child; m != 0;
         m = next_child_of_value(c, m)) {
        struct slice key = schema_get_value_node(c, m)->key;
        struct json_node one = {.value = {JSON_STRING, {key.p - 1, key.n + 2}}};
        struct json_tree name = {.node = &one, .n = 1};
        struct check inner = *c;
        struct place top = {0};
        inner.v = &name;
        /* Do not note this node as an evaluated child: it is in a tree of its own, not in the tree
         * of the value. */
        inner.seen = NULL;
        inner.quiet = 1;
        bool good = schema_node_fits_value(&inner, at, &top);
        c->gave_up = inner.gave_up;
        c->unsure = inner.unsure;
        if (good)
            continue;
        struct place there = make_path_to_member(here, m);
        SAY(c, &there, "member name not allowed");
        return false;
    }
    return true;
}

/* Checks dependencies: if a member is present, other members are required, or a schema applies. */
static bool check_dependencies(struct check *c, const struct json_node *k, const struct place *here)
{
    for (uint32_t i = k->child; i != 0; i = schema_next_sibling(c, i)) {
        const struct json_node *d = schema_get_node(c->s, i);
        if (find_last_member(c, c->v, here->at, d->key) == 0)
            continue;
        if (d->value.type == JSON_ARRAY ? !object_has_all_members(c, d, here)
                                        : !schema_node_fits_value(c, i, here))
            return false;
    }
    return true;
}

/* ---- arrays --------------------------------------------------------------------------------- */

/* Checks all items but the first `skip` items against one schema. */
static bool check_items(struct check *c, uint32_t at, uint32_t skip, const struct place *here)
{
    uint32_t index = 0;
    for (uint32_t m = schema_get_value_node(c, here->at)->child; m != 0;
         m = next_child_of_value(c, m), index++) {
        struct place there = {here, m, index, true};
        if (index < skip)
            continue;
        if (!schema_node_fits_value(c, at, &there))
            return false;
        evaluated_add_child_if_in_scope(c, m, here);
    }
    return true;
}

static bool check_prefix_items(struct check *c, const struct json_node *k, const struct place *here)
{
    uint32_t i = k->child, index = 0;
    for (uint32_t m = schema_get_value_node(c, here->at)->child; m != 0 && i != 0;
         m = schema_get_value_node(c, m)->next, index++) {
        struct place there = {here, m, index, true};
        if (!schema_node_fits_value(c, i, &there))
            return false;
        evaluated_add_child_if_in_scope(c, m, here);
        i = schema_next_sibling(c, i);
    }
    return true;
}

static uint32_t count_prefix_items(struct check *c, const struct schema_rule *r)
{
    const struct schema_keyword *k = schema_find_sibling_keyword(c, r, KW_PREFIX_ITEMS);
    return k != NULL ? schema_get_node(c->s, k->at)->count : 0;
}

static bool check_contains(struct check *c, const struct schema_rule *r, uint32_t at,
                           const struct place *here)
{
    int64_t least = 1, most = INT64_MAX, n = 0, maybe = 0;
    uint32_t unsure, last_unsure = 0;
    const struct schema_keyword *min = schema_find_sibling_keyword(c, r, KW_MIN_CONTAINS);
    const struct schema_keyword *max = schema_find_sibling_keyword(c, r, KW_MAX_CONTAINS);
    /* in 2019-09, `contains` does not count as evaluating an element */
    bool evaluates = c->s->dialect == DIALECT_2020;
    if (min != NULL && !schema_read_limit(c, schema_get_node(c->s, min->at), &least))
        least = 1;
    if (max != NULL && !schema_read_limit(c, schema_get_node(c->s, max->at), &most))
        most = INT64_MAX;
    for (uint32_t m = schema_get_value_node(c, here->at)->child; m != 0;
         m = next_child_of_value(c, m)) {
        struct place there = make_path_to_member(here, m);
        enum truth t = schema_check_without_reporting(c, at, &there, &unsure);
        n += t == TRUTH_YES;
        maybe += t == TRUTH_MAYBE;
        if (t == TRUTH_MAYBE)
            last_unsure = unsure;
        if (t != TRUTH_NO && evaluates)
            evaluated_add_child_if_in_scope(c, m, here);
    }
    if (maybe > 0 &&
        (n < least || n + maybe > most || (evaluates && schema_is_value_of_inner_scope(c, here))))
        schema_mark_keyword_unchecked(c, last_unsure, here);
    if (n + maybe >= least && n <= most)
        return true;
    SAY(c, here, "must have at %s %lld items that match `contains`, has %lld",
        n < least ? "least" : "most", (long long)(n < least ? least : most), (long long)n);
    return false;
}

static bool check_unique_items(struct check *c, const struct json_node *k, const struct place *here)
{
    const struct json_node *v = schema_get_value_node(c, here->at);
    if (k->value.type != JSON_TRUE || v->value.type != JSON_ARRAY)
        return true;
    for (uint32_t a = v->child; a != 0; a = schema_get_value_node(c, a)->next)
        for (uint32_t b = schema_get_value_node(c, a)->next; b != 0;
             b = schema_get_value_node(c, b)->next) {
            bool same = schema_values_are_equal(c, schema_get_value_node(c, a)->value,
                                                schema_get_value_node(c, b)->value);
            if (c->gave_up)
                return true;
            if (same) {
                SAY(c, here, "must not contain duplicate items");
                return false;
            }
        }
    return true;
}

/* Checks the children that no keyword of the same schema has evaluated, at any depth. */
static bool check_unevaluated_children(struct check *c, uint32_t at, const struct place *here)
{
    uint32_t rule = c->s->rule_of[at], index = 0;
    const struct json_node *v = schema_get_value_node(c, here->at);
    if (c->seen->in.blind || rule == SCHEMA_NO_RULE)
        return true;
    for (uint32_t m = v->child; m != 0; m = next_child_of_value(c, m), index++) {
        struct place there = {here, m, index, v->value.type == JSON_ARRAY};
        if (evaluated_has_child(c, m))
            continue;
        if (c->s->rule[rule].never) {
            SAY(c, &there, there.in_array ? "unexpected item" : "unexpected member");
            return false;
        }
        if (!schema_node_fits_value(c, at, &there))
            return false;
        evaluated_add_child_if_in_scope(c, m, here);
    }
    return true;
}

static bool check_member_keyword(struct check *c, const struct schema_rule *r,
                                 const struct schema_keyword *kw, const struct place *here)
{
    const struct json_node *k = schema_get_node(c->s, kw->at);
    bool map = k->value.type == JSON_OBJECT;
    switch ((enum keyword)kw->word) {
    case KW_REQUIRED:
        return k->value.type != JSON_ARRAY || object_has_all_members(c, k, here);
    case KW_PROPERTIES:
        return !map || check_properties(c, k, here);
    case KW_PATTERN_PROPERTIES:
        return !map || check_pattern_properties(c, k, here);
    case KW_ADDITIONAL_PROPERTIES:
        return check_additional_properties(c, r, kw->at, here);
    case KW_PROPERTY_NAMES:
        return check_member_names(c, kw->at, here);
    case KW_UNEVALUATED_PROPERTIES:
        return check_unevaluated_children(c, kw->at, here);
    default: /* the remaining keywords: dependentRequired, dependentSchemas and dependencies */
        return !map || check_dependencies(c, k, here);
    }
}

bool schema_children_are_valid(struct check *c, const struct schema_rule *r,
                               const struct schema_keyword *kw, const struct place *here)
{
    const struct json_node *k = schema_get_node(c->s, kw->at);
    enum json_type type = schema_get_value_node(c, here->at)->value.type;
    switch ((enum keyword)kw->word) {
    case KW_MIN_ITEMS:
    case KW_MAX_ITEMS:
    case KW_MIN_PROPERTIES:
    case KW_MAX_PROPERTIES:
        return check_children_count(c, (enum keyword)kw->word, k, here);
    case KW_UNIQUE_ITEMS:
        return check_unique_items(c, k, here);
    case KW_PREFIX_ITEMS:
        return type != JSON_ARRAY || check_prefix_items(c, k, here);
    case KW_ADDITIONAL_ITEMS: /* `additionalItems` is ignored unless `items` is a list */
        return type != JSON_ARRAY || schema_find_sibling_keyword(c, r, KW_PREFIX_ITEMS) == NULL ||
               check_items(c, kw->at, count_prefix_items(c, r), here);
    case KW_ITEMS:
        return type != JSON_ARRAY || check_items(c, kw->at, count_prefix_items(c, r), here);
    case KW_CONTAINS:
        return type != JSON_ARRAY || check_contains(c, r, kw->at, here);
    case KW_UNEVALUATED_ITEMS:
        return type != JSON_ARRAY || check_unevaluated_children(c, kw->at, here);
    default:
        return type != JSON_OBJECT || check_member_keyword(c, r, kw, here);
    }
}
