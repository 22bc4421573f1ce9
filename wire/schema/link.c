/* link.c - finds the targets of references, after the schema has been compiled. */
#include "wire/json/text.h"
#include "wire/schema/names.h"
#include "wire/schema/node.h"

#include <stdlib.h>

/* A dynamic anchor. The anchors with one name are a group. */
struct named_anchor {
    struct slice text;
    uint32_t base, node;
};

struct linking {
    struct schema *s;
    struct schema_names names;
    struct named_anchor *named; /* owned; one for each of s->anchors, in the same order */
};

static int compare_named_anchors(const void *a, const void *b)
{
    const struct named_anchor *x = a, *y = b;
    int c = slice_cmp(x->text, y->text);
    return c != 0 ? c : (x->base > y->base) - (x->base < y->base);
}

/* Makes the table of dynamic anchors, unless it was made for an earlier reference. */
static int make_anchor_table(struct linking *l)
{
    struct schema *s = l->s;
    const struct schema_name_list *from = &l->names.dynamic;
    size_t bytes = from->n * sizeof *s->anchor;
    if (l->named != NULL)
        return 0;
    if (!quota_take(&s->limits->memory, bytes))
        return MI_EFULL;
    s->taken += bytes;
    s->anchor = malloc(bytes);
    l->named = malloc(from->n * sizeof *l->named);
    if (s->anchor == NULL || l->named == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < from->n; i++)
        l->named[i] =
            (struct named_anchor){from->name[i].text, from->name[i].scope, from->name[i].node};
    qsort(l->named, from->n, sizeof *l->named, compare_named_anchors);
    uint32_t group = 0;
    for (size_t i = 0; i < from->n; i++) {
        if (i == 0 || !slice_eq(l->named[i].text, l->named[i - 1].text))
            group++;
        s->anchor[i] =
            (struct schema_anchor){group, l->named[i].base, s->rule_of[l->named[i].node]};
    }
    s->anchors = from->n;
    return 0;
}

/* Returns the group of the dynamic anchors with this name, of which there is at least one. */
static uint32_t anchor_group_of_name(const struct linking *l, struct slice name)
{
    size_t low = 0, high = l->s->anchors;
    struct named_anchor want = {name, 0, 0};
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare_named_anchors(&l->named[mid], &want) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return l->s->anchor[low].group;
}

/* Links a $dynamicRef or $recursiveRef. It remains a plain reference unless its static target is a dynamic anchor. */
static int link_dynamic(struct linking *l, size_t i, struct slice ref, uint32_t target)
{
    struct schema *s = l->s;
    const char *hash = ref.n > 0 ? memchr(ref.p, '#', ref.n) : NULL;
    struct slice name = {"", 0};
    if (hash != NULL)
        name = (struct slice){hash + 1, (size_t)(ref.p + ref.n - hash) - 1};
    if (!schema_names_is_dynamic(&l->names, target, name))
        return 0;
    int st = make_anchor_table(l);
    if (st == 0)
        s->keyword[i].group = anchor_group_of_name(l, name);
    return st;
}

/* Links a reference. Compiles its target if necessary; schema_link() then also links the references that this adds. */
static int link_ref(struct linking *l, size_t i)
{
    struct schema *s = l->s;
    uint32_t at, value = s->keyword[i].at;
    struct buf ref = {0};
    json_unescape(&ref, json_string_raw(schema_node(s, value)->value));
    int st = ref.failed ? MI_ENOMEM : 0;
    if (st == 0 && schema_names_find(&l->names, schema_node(s, value)->up, buf_slice(&ref), &at)) {
        st = schema_compile(s, at);
        if (st == 0 && s->rule_of[at] != SCHEMA_NO_RULE)
            s->keyword[i].rule = s->rule_of[at] + 1;
        if (st == 0 && s->keyword[i].rule != 0 && s->keyword[i].word == KW_DYNAMIC_REF)
            st = link_dynamic(l, i, buf_slice(&ref), at);
    }
    buf_close(&ref);
    return st == 0 && s->work.steps < 0 ? MI_EFULL : st;
}

int schema_link(struct schema *s)
{
    struct linking l = {.s = s};
    int st = 0;
    for (size_t i = 0; st == 0 && i < s->keywords; i++) {
        uint8_t word = s->keyword[i].word;
        if ((word != KW_REF && word != KW_DYNAMIC_REF) ||
            schema_node(s, s->keyword[i].at)->value.type != JSON_STRING)
            continue;
        if (l.names.tree == NULL)
            st = schema_names_open(&l.names, s);
        if (st == 0)
            st = link_ref(&l, i);
    }
    for (uint32_t at = 0; st == 0 && s->anchors > 0 && at < s->tree.n; at++)
        if (s->rule_of[at] != SCHEMA_NO_RULE)
            s->rule[s->rule_of[at]].base = l.names.base[at];
    schema_names_close(&l.names);
    free(l.named);
    return st;
}
