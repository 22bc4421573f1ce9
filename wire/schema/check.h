/* check.h - shared by check.c, which combines schemas, children.c, which descends into objects and
 * arrays, and value.c, which checks the keywords of a single value. Internal to wire/schema/.
 *
 * Unknown   a keyword that cannot be checked (a reference to another document, an unsupported
 *           pattern) is taken as matching, and schema_mark_keyword_unchecked() stores that the
 *           result depends on the keyword. A value that fails anyway still fails.
 *
 * Evaluated a rule with unevaluatedProperties or unevaluatedItems is a scope: it must know which
 *           children of its value other keywords of the schema have evaluated, at any depth of
 *           allOf, $ref and the like. These keywords note each child that they evaluate. The notes
 *           of a schema that fails are removed. A child counts in a scope if it was noted after the
 *           scope began; notes of an inner scope remain for the outer one. In a schema without
 *           unevaluated… keywords, `c->seen` is NULL and nothing is noted.
 *
 * Nothing here blocks. */
#ifndef MI_WIRE_SCHEMA_CHECK_H
#define MI_WIRE_SCHEMA_CHECK_H

#include "wire/schema/node.h"

/* The path to the current value: a linked list from the value to the root, on the stack. */
struct place {
    const struct place *up;
    uint32_t at;    /* node of the value */
    uint32_t index; /* index of the value, if it is an element of an array */
    bool in_array;
};

struct note {
    /* `node`: node of the child that was evaluated; `before`: value that evaluated.last[node] had
     * before this note was added */
    uint32_t node, before;
};

struct scope {
    size_t n;       /* number of notes when evaluated_enter_scope() returned this struct */
    size_t from;    /* index of the first note of the scope */
    uint32_t at;    /* node of the value to which the scope belongs */
    unsigned depth; /* nesting depth of the scope; 0: no scope is open */
    /* true: children of the value may have been evaluated by a keyword whose result is unknown */
    bool blind;
};

struct evaluated {
    /* Owned; for each node of the value: the index of its last note, plus one. NULL before the
     * first scope. */
    uint32_t *last;
    struct note *note; /* owned; adding a note costs a step, so the number of notes is limited */
    size_t n, cap;
    struct scope in; /* the innermost scope */
};

struct check {
    /* checks a value against a rule; check.c sets this pointer */
    bool (*fits)(struct check *c, uint32_t rule, const struct place *here);
    struct schema *s;
    const struct json_tree *v; /* the value */
    /* receives the reason of a failure; NULL: the caller does not need the reason */
    struct schema_fault *fault;
    /* greater than 0 inside `anyOf`, `not` and similar keywords, where a failure does not decide
     * the result */
    int quiet;
    int depth;
    struct work *work;
    /* notes of evaluated children; NULL: no schema has an unevaluated… keyword */
    struct evaluated *seen;
    /* bases of the `depth` rules that are being evaluated; dynamic references need them */
    uint32_t *bases;
    uint32_t unsure; /* node of a keyword that could not be checked; 0: none */
    /* why the check has ended early, so that the result is unknown: the exceeded limit, or that
     * memory ran out; NULL: the check has not ended early */
    const char *gave_up;
};

enum truth { TRUTH_NO, TRUTH_YES, TRUTH_MAYBE };

static inline const struct json_node *schema_get_value_node(const struct check *c, uint32_t at)
{
    return &c->v->node[at];
}

#define SCHEMA_TOO_LONG "the check takes too long"

/* Counts n steps. Returns false if the limit is exceeded; then the result is unknown. */
static inline bool schema_count_steps(struct check *c, size_t n)
{
    if (!work_count_steps(c->work, n))
        c->gave_up = SCHEMA_TOO_LONG;
    return c->gave_up == NULL;
}
/* Whether the values are equal. The comparison takes steps; if the limit of steps is exceeded,
 * returns true. */
bool schema_values_are_equal(struct check *c, struct json_value a, struct json_value b);
/* Begins the report of a failure: writes the pointer, and returns the buffer for the reason, or
 * NULL if no reason is needed. */
struct buf *schema_begin_fault(struct check *c, const struct place *p);
#define SAY(c, p, ...)                                                                             \
    do {                                                                                           \
        struct buf *say_to = schema_begin_fault(c, p);                                             \
        if (say_to != NULL)                                                                        \
            buf_printf(say_to, __VA_ARGS__);                                                       \
    } while (0)

/* Notes that the keyword with this node cannot be checked for this value. */
void schema_mark_keyword_unchecked(struct check *c, uint32_t keyword, const struct place *here);
/* Checks the value against the schema in this node; true if the node is not a schema. */
static inline bool schema_node_fits_value(struct check *c, uint32_t schema,
                                          const struct place *there)
{
    uint32_t rule = c->s->rule_of[schema];
    return rule == SCHEMA_NO_RULE || c->fits(c, rule, there);
}
/* Checks a schema whose failure does not decide the result of the check. *ret_unsure: set if the
 * result is TRUTH_MAYBE. */
enum truth schema_check_without_reporting(struct check *c, uint32_t schema,
                                          const struct place *here, uint32_t *ret_unsure);
/* Returns another keyword of the same schema, or NULL if absent. */
static inline const struct schema_keyword *
schema_find_sibling_keyword(struct check *c, const struct schema_rule *r, enum keyword word)
{
    for (uint32_t i = r->first; i < r->first + r->n && schema_count_steps(c, 1); i++)
        if (c->s->keyword[i].word == word)
            return &c->s->keyword[i];
    return NULL;
}
/* Returns the next element or member of the schema. Each call costs a step. Returns 0 if there is
 * none, or if the limit of steps is exceeded. */
static inline uint32_t schema_next_sibling(struct check *c, uint32_t at)
{
    return schema_count_steps(c, 1) ? schema_get_node(c->s, at)->next : 0;
}
/* Checks the keywords that descend into objects and arrays, or count their children. */
bool schema_children_are_valid(struct check *c, const struct schema_rule *r,
                               const struct schema_keyword *kw, const struct place *here);

/* Whether the value is the value of the innermost scope. */
static inline bool schema_is_value_of_inner_scope(const struct check *c, const struct place *here)
{
    return c->seen != NULL && c->seen->in.depth > 0 && c->seen->in.at == here->at;
}
/* Enter and leave the scope of a rule. Call them before and after the rule's keywords, if c->seen
 * is not NULL. */
struct scope evaluated_enter_scope(struct check *c, const struct schema_rule *r,
                                   const struct place *here);
void evaluated_leave_scope(struct check *c, const struct schema_rule *r, const struct scope *outer,
                           bool good);
void evaluated_add_child(struct check *c, uint32_t child);
/* Notes that child `child` of the value `here` was evaluated, if the innermost scope is about this
 * value. */
static inline void evaluated_add_child_if_in_scope(struct check *c, uint32_t child,
                                                   const struct place *here)
{
    if (schema_is_value_of_inner_scope(c, here))
        evaluated_add_child(c, child);
}
/* Whether the child was evaluated since the scope began. */
static inline bool evaluated_has_child(const struct check *c, uint32_t child)
{
    return c->seen->last[child] > c->seen->in.from;
}
void evaluated_close(struct evaluated *e);

/* Reads the value of a keyword such as minLength. Returns false if it is not a non-negative
 * integer. */
bool schema_read_limit(struct check *c, const struct json_node *k, int64_t *ret);
/* Returns the unescaped text of a string, in scratch buffer `which` (0 or 1). */
struct slice schema_unescape(struct check *c, int which, struct slice raw);
/* Whether the text of a string matches; a NULL pattern matches everything. */
bool schema_pattern_matches(struct check *c, struct pattern *p, struct slice raw);
/* Checks the keywords from KW_TYPE to KW_PATTERN, which do not descend into the value. */
bool schema_value_fits(struct check *c, const struct schema_keyword *kw, const struct place *here);

#endif
