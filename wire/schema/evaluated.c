/* evaluated.c - notes which children of a value have been evaluated, and whether a result is
 * unsure. */
#include "base/grow.h"
#include "wire/schema/check.h"

#include <stdlib.h>

void evaluated_close(struct evaluated *e)
{
    free(e->last);
    free(e->note);
    *e = (struct evaluated){0};
}

struct scope evaluated_enter_scope(struct check *c, const struct schema_rule *r,
                                   const struct place *here)
{
    struct evaluated *e = c->seen;
    struct scope outer = e->in;
    outer.n = e->n;
    if (!r->unevaluated)
        return outer;
    if (e->last == NULL && (e->last = calloc(c->v->n, sizeof *e->last)) == NULL)
        c->gave_up = "out of memory";
    e->in = (struct scope){.from = e->n, .at = here->at, .depth = outer.depth + 1};
    return outer;
}

void evaluated_leave_scope(struct check *c, const struct schema_rule *r, const struct scope *outer,
                           bool good)
{
    struct evaluated *e = c->seen;
    bool blind = e->in.blind && e->in.at == outer->at;
    for (; !good && e->n > outer->n; e->n--)
        e->last[e->note[e->n - 1].node] = e->note[e->n - 1].before;
    if (!good || r->unevaluated)
        e->in = *outer;
    e->in.blind |= good && blind;
}

void evaluated_add_child(struct check *c, uint32_t child)
{
    struct evaluated *e = c->seen;
    if (evaluated_has_child(c, child) || !schema_count_steps(c, 1))
        return;
    if (!GROW(e->note, e->n, e->cap)) {
        c->gave_up = "out of memory";
        return;
    }
    e->note[e->n++] = (struct note){child, e->last[child]};
    e->last[child] = (uint32_t)e->n;
}

void schema_mark_keyword_unchecked(struct check *c, uint32_t keyword, const struct place *here)
{
    c->unsure = keyword;
    if (schema_is_value_of_inner_scope(c, here))
        c->seen->in.blind = true;
}

enum truth schema_check_without_reporting(struct check *c, uint32_t schema,
                                          const struct place *here, uint32_t *ret_unsure)
{
    uint32_t before = c->unsure;
    c->unsure = 0;
    c->quiet++;
    bool good = schema_node_fits_value(c, schema, here);
    c->quiet--;
    *ret_unsure = c->unsure;
    c->unsure = before;
    return !good ? TRUTH_NO : *ret_unsure != 0 ? TRUTH_MAYBE : TRUTH_YES;
}
