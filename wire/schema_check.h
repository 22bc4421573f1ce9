/* schema_check.h - what the two halves of a check share: schema_check.c goes through a value, schema_value.c
 * looks at one by itself, and says what is wrong.
 *
 * Only wire/schema_*.c include this. */
#ifndef MI_WIRE_SCHEMA_CHECK_H
#define MI_WIRE_SCHEMA_CHECK_H

#include "wire/schema_inner.h"

/* Where in the value we are: a list that goes up, on the stack. */
struct place {
    const struct place *up;
    uint32_t at;    /* node of the value */
    uint32_t index; /* in an array */
    bool in_array;
};

struct check {
    struct schema *s;
    const struct json_tree *v;  /* the value */
    struct schema_fault *fault; /* NULL: nobody wants to know */
    int quiet;                  /* > 0: a failure here may yet be none */
    int depth;
    int steps; /* left */
    bool gave_up;
};

static inline const struct json_node *node(const struct check *c, uint32_t at)
{
    return &c->v->node[at];
}

/* Work of n steps. False: it was too much; then nothing is known. */
bool schema_work(struct check *c, size_t n);
/* The sentence is wanted: the pointer is written, the caller adds the rest. NULL: it is not. */
struct buf *schema_begin_fault(struct check *c, const struct place *p);
#define SAY(c, p, ...)                                                                             \
    do {                                                                                           \
        struct buf *say_to = schema_begin_fault(c, p);                                             \
        if (say_to != NULL)                                                                        \
            buf_printf(say_to, __VA_ARGS__);                                                       \
    } while (0)

/* A keyword's number of things; false: it is none. */
bool schema_limit(const struct json_node *k, int64_t *ret);
/* The text of a string, escapes resolved, in one of the two scratch buffers. */
struct slice schema_plain(struct check *c, int which, struct slice raw);
/* A pattern that is none matches everything. */
bool schema_matches(struct check *c, struct pattern *p, struct slice text);
/* Keywords from KW_TYPE to KW_PATTERN: they look at nothing inside the value. */
bool schema_value_fits(struct check *c, const struct schema_keyword *kw, const struct place *here);

#endif
