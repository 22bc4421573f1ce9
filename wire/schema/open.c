/* open.c - opens and closes schemas. */
#include "wire/schema/node.h"

#include <stdlib.h>

/* Allocates the arrays that have an element for each node. */
static int schema_allocate_arrays(struct schema *s)
{
    size_t n = s->tree.n, node = sizeof *s->tree.node + sizeof *s->rule + sizeof *s->rule_of +
                                 sizeof *s->pattern + sizeof *s->keyword;
    if (!quota_reserve(&s->limits->memory, s->text_n + n * node))
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

static int schema_parse_text(struct schema *s, struct slice text, struct buf *why)
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
    enum json_type type = schema_get_node(s, 0)->value.type;
    if (type != JSON_OBJECT && type != JSON_TRUE && type != JSON_FALSE) {
        buf_adds(why, "a schema must be an object, true or false");
        return MI_EINVAL;
    }
    uint32_t dialect = json_tree_get(&s->tree, 0, "$schema");
    s->dialect =
        dialect != 0 ? schema_read_dialect(schema_get_node(s, dialect)->value) : DIALECT_2020;
    return schema_allocate_arrays(s);
}

/* Appends the name of the limit that was exceeded, unless `why` has a reason already. */
static void schema_explain_open_failure(const struct schema *s, struct buf *why)
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
    s->work = work_begin_with_limits(SCHEMA_OPEN_STEPS, s->limits->cpu_us);
    int st = schema_parse_text(s, text, why);
    if (st == 0)
        st = schema_compile(s, 0);
    if (st == 0)
        st = schema_link_references(s);
    if (st == MI_EFULL)
        schema_explain_open_failure(s, why);
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
    quota_return_bytes(&s->limits->memory, s->taken);
    free(s->pattern);
    free(s->anchor);
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
