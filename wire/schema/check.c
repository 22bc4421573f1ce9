/* check.c - checks a value against a compiled schema: keywords that combine schemas, and
 * references. */
#include "wire/schema/check.h"

#include "base/text.h"
#include "wire/json/text.h"

/* ---- keywords that cannot be checked -------------------------------------------------------- */

static void explain_unchecked_keyword(const struct check *c, struct buf *b)
{
    const struct json_node *k = schema_get_node(c->s, c->unsure);
    if (json_key_is(k->key, "$schema")) {
        buf_adds(b, "the dialect is not supported: ");
        buf_slice_add(b, text_prefix(k->value.text, 120));
    } else if (json_key_is(k->key, "$ref") || json_key_is(k->key, "$dynamicRef") ||
               json_key_is(k->key, "$recursiveRef")) {
        buf_adds(b, "the schema has a reference outside itself, which is not fetched: ");
        buf_slice_add(b, text_prefix(k->value.text, 120));
    } else {
        bool named = json_key_is(k->key, "pattern");
        buf_adds(b, "the pattern is invalid or not supported: ");
        buf_slice_add(b, text_prefix(named ? k->value.text : k->key, 120));
    }
}

/* ---- several schemas ------------------------------------------------------------------------ */

/* Checks anyOf or oneOf. anyOf matches if one schema matches. But if evaluated children are noted,
 * every schema that matches adds notes, so all schemas are checked. */
static bool check_any_of(struct check *c, enum keyword word, const struct json_node *k,
                         const struct place *here)
{
    unsigned yes = 0, maybe = 0, enough = word == KW_ONE_OF ? 2 : 1;
    uint32_t unsure, first_unsure = 0;
    bool all = word == KW_ANY_OF && schema_is_value_of_inner_scope(c, here);
    if (k->value.type != JSON_ARRAY)
        return true;
    for (uint32_t i = k->child; i != 0 && (all || yes < enough); i = schema_next_sibling(c, i)) {
        enum truth t = schema_check_without_reporting(c, i, here, &unsure);
        yes += t == TRUTH_YES;
        maybe += t == TRUTH_MAYBE;
        if (t == TRUTH_MAYBE)
            first_unsure = unsure;
    }
    if (c->gave_up)
        return true;
    if (maybe > 0 && (yes == 0 || all || (word == KW_ONE_OF && yes == 1))) {
        schema_mark_keyword_unchecked(c, first_unsure, here);
        return true;
    }
    if (yes == 1 || (yes > 1 && word == KW_ANY_OF))
        return true;
    SAY(c, here,
        yes == 0 ? "matches none of the %u schemas of %s"
                 : "matches more than one of the %u schemas of %s",
        (unsigned)k->count, word == KW_ANY_OF ? "anyOf" : "oneOf");
    return false;
}

static bool check_not_schema(struct check *c, uint32_t at, const struct place *here)
{
    uint32_t unsure;
    enum truth t = schema_check_without_reporting(c, at, here, &unsure);
    if (t == TRUTH_MAYBE)
        schema_mark_keyword_unchecked(c, unsure, here);
    if (t != TRUTH_YES || c->gave_up)
        return true;
    SAY(c, here, "must not match the schema of `not`");
    return false;
}

/* Checks `then` and `else` if it is unknown whether `if` matches. Returns their result if both have
 * the same result. Otherwise the result is unknown because of the keyword `unsure`. */
static bool check_then_and_else_branches(struct check *c, const struct schema_rule *r,
                                         uint32_t unsure, const struct place *here)
{
    static const enum keyword branches[] = {KW_THEN, KW_ELSE};
    unsigned yes = 0, no = 0;
    uint32_t unused;
    for (size_t i = 0; i < MI_COUNT(branches); i++) {
        const struct schema_keyword *k = schema_find_sibling_keyword(c, r, branches[i]);
        enum truth t =
            k != NULL ? schema_check_without_reporting(c, k->at, here, &unused) : TRUTH_YES;
        yes += t == TRUTH_YES;
        no += t == TRUTH_NO;
    }
    if (no == 2 && !c->gave_up) {
        SAY(c, here, "matches neither the schema of `then` nor that of `else`");
        return false;
    }
    if (yes < 2 || schema_is_value_of_inner_scope(c, here))
        schema_mark_keyword_unchecked(c, unsure, here);
    return true;
}

static bool check_if_then_else(struct check *c, const struct schema_rule *r, uint32_t at,
                               const struct place *here)
{
    uint32_t unsure;
    enum truth t = schema_check_without_reporting(c, at, here, &unsure);
    if (t == TRUTH_MAYBE)
        return check_then_and_else_branches(c, r, unsure, here);
    const struct schema_keyword *k =
        schema_find_sibling_keyword(c, r, t == TRUTH_YES ? KW_THEN : KW_ELSE);
    return k == NULL || schema_node_fits_value(c, k->at, here);
}

/* ---- references ----------------------------------------------------------------------------- */

/* Returns the dynamic anchor of a group in a resource, or NULL. */
static const struct schema_anchor *find_dynamic_anchor(const struct schema *s, uint32_t group,
                                                       uint32_t base)
{
    size_t low = 0, high = s->anchors;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        const struct schema_anchor *a = &s->anchor[mid];
        if (a->group < group || (a->group == group && a->base < base))
            low = mid + 1;
        else
            high = mid;
    }
    const struct schema_anchor *a = &s->anchor[low];
    return low < s->anchors && a->group == group && a->base == base ? a : NULL;
}

/* Finds the target of a dynamic reference. Several of the resources being evaluated may have an
 * anchor with the name in the reference; the anchor of the outermost of these resources is the
 * target. */
static uint32_t find_dynamic_ref_target(struct check *c, const struct schema_keyword *kw)
{
    for (int i = 0; i < c->depth && schema_count_steps(c, 4); i++) {
        const struct schema_anchor *a = i > 0 && c->bases[i] == c->bases[i - 1]
                                            ? NULL
                                            : find_dynamic_anchor(c->s, kw->group, c->bases[i]);
        if (a != NULL)
            return a->rule;
    }
    return kw->rule - 1;
}

/* ---- one schema ----------------------------------------------------------------------------- */

static bool check_keyword(struct check *c, const struct schema_rule *r,
                          const struct schema_keyword *kw, const struct place *here)
{
    const struct json_node *k = schema_get_node(c->s, kw->at);
    enum keyword word = (enum keyword)kw->word;
    if (word >= KW_TYPE && word <= KW_PATTERN)
        return schema_value_fits(c, kw, here);
    switch (word) {
    case KW_DIALECT:
        schema_mark_keyword_unchecked(c, kw->at, here);
        return true;
    case KW_REF:
    case KW_DYNAMIC_REF:
        if (kw->rule == 0) {
            schema_mark_keyword_unchecked(c, kw->at, here);
            return true;
        }
        return c->fits(c, kw->group != 0 ? find_dynamic_ref_target(c, kw) : kw->rule - 1, here);
    case KW_ALL_OF:
        for (uint32_t i = k->child; i != 0; i = schema_next_sibling(c, i))
            if (!schema_node_fits_value(c, i, here))
                return false;
        return true;
    case KW_ANY_OF:
    case KW_ONE_OF:
        return check_any_of(c, word, k, here);
    case KW_NOT:
        return check_not_schema(c, kw->at, here);
    case KW_IF:
        return check_if_then_else(c, r, kw->at, here);
    case KW_THEN: /* check_if_then_else() checks `then` and `else` */
    case KW_ELSE:
    case KW_MIN_CONTAINS: /* minContains and maxContains are checked together with `contains` */
    case KW_MAX_CONTAINS:
    case KW_DEFS:
        return true;
    default:
        return schema_children_are_valid(c, r, kw, here);
    }
}

static bool check_rule(struct check *c, const struct schema_rule *r, const struct place *here)
{
    bool good = true;
    c->bases[c->depth++] = r->base;
    for (uint32_t i = r->first; good && i < r->first + r->n && schema_count_steps(c, 1); i++)
        good = check_keyword(c, r, &c->s->keyword[i], here);
    c->depth--;
    return good || c->gave_up;
}

static bool value_fits_rule(struct check *c, uint32_t rule, const struct place *here)
{
    const struct schema_rule *r = &c->s->rule[rule];
    if (c->depth == SCHEMA_DEPTH)
        c->gave_up = "schemas are nested too deeply, or refer to themselves";
    if (!schema_count_steps(c, 1))
        return true;
    if (r->never) {
        SAY(c, here, "must not be present");
        return false;
    }
    if (c->seen == NULL)
        return check_rule(c, r, here);
    struct scope outer = evaluated_enter_scope(c, r, here);
    bool good = check_rule(c, r, here);
    evaluated_leave_scope(c, r, &outer, good);
    return good;
}

enum schema_result schema_check(struct schema *s, struct slice value, struct schema_fault *fault)
{
    struct json_tree v;
    struct work work = work_begin_with_limits(SCHEMA_STEPS, s->limits->cpu_us);
    /* count the steps that building the tree of the value takes */
    (void)work_count_steps(&work, size_min(value.n, SCHEMA_VALUE_MAX) / 8);
    int st = value.n <= SCHEMA_VALUE_MAX ? json_tree_open(&v, value) : MI_EFULL;
    if (st < 0) {
        if (fault != NULL)
            buf_adds(&fault->reason,
                     st == MI_EFULL ? "the value is too large or too deep" : "out of memory");
        return SCHEMA_UNKNOWN;
    }
    uint32_t bases[SCHEMA_DEPTH];
    struct evaluated seen = {0};
    struct check c = {
        .s = s, .v = &v, .fault = fault, .work = &work, .bases = bases, .fits = value_fits_rule};
    c.seen = s->unevaluated ? &seen : NULL;
    struct place top = {0};
    bool good = value_fits_rule(&c, 0, &top);
    evaluated_close(&seen);
    json_tree_close(&v);
    if (c.gave_up && fault != NULL)
        buf_adds(&fault->reason, work.steps < 0 ? SCHEMA_TOO_LONG : c.gave_up);
    else if (good && c.unsure != 0 && fault != NULL)
        explain_unchecked_keyword(&c, &fault->reason);
    return c.gave_up || (good && c.unsure != 0) ? SCHEMA_UNKNOWN
           : good                               ? SCHEMA_FITS
                                                : SCHEMA_FAILS;
}
