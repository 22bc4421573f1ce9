/* check.h - shared by check.c, which walks through a value and its schema, and value.c, which checks the keywords
 * that do not descend into the value. Internal to wire/schema/. Nothing here blocks. */
#ifndef MI_WIRE_SCHEMA_CHECK_H
#define MI_WIRE_SCHEMA_CHECK_H

#include "wire/schema/node.h"

/* The current place in the value: a linked list to the root, on the stack. */
struct place {
    const struct place *up;
    uint32_t at;    /* node of the value */
    uint32_t index; /* in an array */
    bool in_array;
};

struct check {
    struct schema *s;
    const struct json_tree *v;  /* the value */
    struct schema_fault *fault; /* NULL: the caller does not need it */
    int quiet; /* > 0: inside anyOf, not and the like, where a failure is not final */
    int depth;
    struct work *work;
    bool gave_up; /* a limit was exceeded: the result is unknown */
};

static inline const struct json_node *node(const struct check *c, uint32_t at)
{
    return &c->v->node[at];
}

/* Counts n steps. false: the limit is exceeded, and the result is unknown. */
bool schema_work(struct check *c, size_t n);
/* Are the values equal? Counts the steps; also true if the limit is exceeded. */
bool schema_equal(struct check *c, struct json_value a, struct json_value b);
/* Begins the report of a failure: writes the pointer, and returns the buffer for the reason. NULL: not needed. */
struct buf *schema_begin_fault(struct check *c, const struct place *p);
#define SAY(c, p, ...)                                                                             \
    do {                                                                                           \
        struct buf *say_to = schema_begin_fault(c, p);                                             \
        if (say_to != NULL)                                                                        \
            buf_printf(say_to, __VA_ARGS__);                                                       \
    } while (0)

/* The value of a keyword such as minLength; false: it is not a non-negative integer. */
bool schema_limit(struct check *c, const struct json_node *k, int64_t *ret);
/* The unescaped text of a string, in scratch buffer `which` (0 or 1). */
struct slice schema_plain(struct check *c, int which, struct slice raw);
/* Whether the text of a string matches; a NULL pattern matches everything. */
bool schema_matches(struct check *c, struct pattern *p, struct slice raw);
/* The keywords from KW_TYPE to KW_PATTERN, which do not descend into the value. */
bool schema_value_fits(struct check *c, const struct schema_keyword *kw, const struct place *here);

#endif
