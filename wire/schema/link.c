/* link.c - finds the targets of references, after the schema has been compiled.
 *
 * A reference can name a member, an element, an anchor or an address. Only compiled schemas define
 * anchors and addresses: an `$id` in an enum is an ordinary member. All names are collected in one
 * pass and sorted, so that a $ref costs a binary search for each of its tokens, however large the
 * schema is. A search takes steps of the schema's `work`.
 *
 * Limits    an address of more than NAMES_ADDRESS_MAX bytes cannot be referred to. MI_EFULL: all
 *           addresses together have more than NAMES_ADDRESSES_MAX bytes. */
#include "base/chars.h"
#include "base/grow.h"
#include "wire/json/pointer.h"
#include "wire/json/text.h"
#include "wire/schema/node.h"
#include "wire/schema/uri.h"

#include <stdlib.h>

#define NAMES_ADDRESS_MAX ((size_t)2048)
#define NAMES_ADDRESSES_MAX ((size_t)1 << 20)
/* maximum number of digits of the index of an array element; indexes are less than JSON_TREE_MAX */
#define INDEX_MAX 8

/* An unescaped name, and the node to which it refers. */
struct schema_name {
    /* scope of the name: for a member, the node of its parent; for an anchor, the node of its base;
     * for an address, 0 */
    uint32_t scope;
    uint32_t node;
    uint32_t rank; /* rank among equal names: the name with the lowest rank is used */
    struct slice text;
};

struct schema_name_list {
    struct schema_name *name; /* owned; sorted */
    size_t n, cap;
};

struct schema_names {
    struct schema *s;
    const struct json_tree *tree; /* the schema's tree */
    /* owned; for each node: the nearest schema around the node that has an `$id`, or the root */
    uint32_t *base;
    struct slice *address; /* owned; for each node that is a base: its address */
    struct schema_name_list members, anchors, addresses;
    struct schema_name_list dynamic; /* the dynamic anchors, which are in `anchors` as well */
    struct buf texts;                /* texts of unescaped names and of indices of elements */
    struct buf uris;                 /* texts of all addresses, one after the other */
    struct buf want, part;           /* buffers that the search for a target uses */
};

static const struct json_node *schema_get_node_at_index(const struct schema_names *n, uint32_t at)
{
    return &n->tree->node[at];
}

/* ---- collecting ----------------------------------------------------------------------------- */

/* Returns the URI without its fragment. */
static struct slice uri_without_fragment(struct slice uri)
{
    const char *hash = uri.n > 0 ? memchr(uri.p, '#', uri.n) : NULL;
    return (struct slice){uri.p, hash != NULL ? (size_t)(hash - uri.p) : uri.n};
}

/* Returns the unescaped name: the raw text itself, or a copy in n->texts, where
 * reserve_room_for_names() has made room. */
static struct slice schema_names_unescape(struct schema_names *n, struct slice raw)
{
    size_t from = n->texts.n;
    if (raw.n == 0 || memchr(raw.p, '\\', raw.n) == NULL)
        return raw;
    json_unescape(&n->texts, raw);
    return (struct slice){n->texts.p + from, n->texts.n - from};
}

/* Returns the `$id` of a schema if it defines a base URI, else {NULL, 0}. */
static struct slice schema_id_of_node(struct schema_names *n, uint32_t at)
{
    enum dialect d = n->s->dialect;
    uint32_t id = n->s->rule_of[at] != SCHEMA_NO_RULE
                      ? json_tree_get(n->tree, at, d == DIALECT_DRAFT4 ? "id" : "$id")
                      : 0;
    struct slice uri =
        id != 0 ? schema_names_unescape(n, json_string_raw(schema_get_node_at_index(n, id)->value))
                : (struct slice){0};
    if (uri.n == 0 || *uri.p == '#' ||
        (d <= DIALECT_DRAFT7 && json_tree_get(n->tree, at, "$ref") != 0))
        return (struct slice){0};
    return uri_without_fragment(uri);
}

static bool schema_names_add(struct schema_name_list *l, struct schema_name name)
{
    if (!GROW(l->name, l->n, l->cap))
        return false;
    l->name[l->n++] = name;
    return true;
}

/* Sets the base of each node, and the address of each base. A parent comes before its children in
 * the tree. */
static int set_base_uri_of_nodes(struct schema_names *n)
{
    for (uint32_t at = 0; at < n->tree->n; at++) {
        uint32_t above = at > 0 ? n->base[schema_get_node_at_index(n, at)->up] : 0;
        struct slice id = schema_id_of_node(n, at);
        n->base[at] = id.p != NULL ? at : above;
        if (id.p == NULL)
            continue;
        if (!buf_reserve(&n->uris, NAMES_ADDRESSES_MAX - n->uris.n))
            return MI_ENOMEM;
        size_t from = n->uris.n;
        if (id.n + n->address[above].n > NAMES_ADDRESS_MAX)
            continue;
        if (NAMES_ADDRESSES_MAX - from <= NAMES_ADDRESS_MAX)
            return MI_EFULL;
        uri_resolve(&n->uris, n->address[above], id);
        n->address[at] = (struct slice){n->uris.p + from, n->uris.n - from};
        if (!schema_names_add(&n->addresses, (struct schema_name){0, at, at, n->address[at]}))
            return MI_ENOMEM;
    }
    return 0;
}

/* Reserves room in n->texts for all indexes and unescaped names, so that they never move.
 * Unescaping never makes a text longer. An `$id` is counted twice, because it is read as an address
 * and as an anchor. */
static bool reserve_room_for_names(struct schema_names *n)
{
    static const char *const names[] = {"$id", "id", "$anchor", "$dynamicAnchor"};
    size_t need = 1;
    for (uint32_t at = 1; at < n->tree->n; at++) {
        const struct json_node *v = schema_get_node_at_index(n, at);
        need += v->key.p != NULL ? v->key.n : INDEX_MAX;
        for (size_t i = 0; i < MI_COUNT(names) && v->value.type == JSON_STRING; i++)
            if (json_key_is(v->key, names[i]))
                need += 2 * v->value.text.n;
    }
    return buf_reserve(&n->texts, need);
}

static bool add_members(struct schema_names *n, uint32_t parent)
{
    size_t index = 0;
    for (uint32_t c = schema_get_node_at_index(n, parent)->child; c != 0;
         c = schema_get_node_at_index(n, c)->next) {
        struct slice name = schema_get_node_at_index(n, c)->key;
        if (name.p == NULL) {
            size_t from = n->texts.n;
            buf_add_uint(&n->texts, index++);
            name = (struct slice){n->texts.p + from, n->texts.n - from};
        } else {
            name = schema_names_unescape(n, name);
        }
        /* if several members have the same name, the last of them is used, as in json_tree_get() */
        if (!schema_names_add(&n->members, (struct schema_name){parent, c, UINT32_MAX - c, name}))
            return false;
    }
    return true;
}

/* Adds an anchor: an `$anchor`, a `$dynamicAnchor`, an `$id` that is only a fragment, or a
 * `$recursiveAnchor` of true, which has no name. */
static bool add_anchor(struct schema_names *n, uint32_t at)
{
    const struct json_node *v = schema_get_node_at_index(n, at);
    enum dialect d = n->s->dialect;
    if (v->key.n == 0 || n->s->rule_of[v->up] == SCHEMA_NO_RULE)
        return true;
    bool is_id = json_key_is(v->key, d == DIALECT_DRAFT4 ? "id" : "$id");
    bool dynamic = d == DIALECT_2020 && json_key_is(v->key, "$dynamicAnchor");
    bool is_anchor = dynamic || (d >= DIALECT_2019 && json_key_is(v->key, "$anchor"));
    struct slice text = {0};
    if (is_id || is_anchor)
        text = schema_names_unescape(n, json_string_raw(v->value));
    if (d == DIALECT_2019 && v->value.type == JSON_TRUE && n->base[v->up] == v->up &&
        json_key_is(v->key, "$recursiveAnchor")) {
        text = (struct slice){"", 0};
        dynamic = true;
    } else if (is_id && text.n > 1 && *text.p == '#') {
        text = (struct slice){text.p + 1, text.n - 1};
    } else if (!is_anchor || text.p == NULL) {
        return true;
    }
    struct schema_name name = {n->base[v->up], v->up, v->up, text};
    return schema_names_add(&n->anchors, name) && (!dynamic || schema_names_add(&n->dynamic, name));
}

/* ---- sorting and finding -------------------------------------------------------------------- */

static int compare_name_to_key(const struct schema_name *a, uint32_t scope, struct slice text)
{
    return a->scope != scope ? (a->scope > scope) - (a->scope < scope) : slice_cmp(a->text, text);
}

static int compare_schema_names(const void *a, const void *b)
{
    const struct schema_name *x = a, *y = b;
    int c = compare_name_to_key(x, y->scope, y->text);
    return c != 0 ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Finds the node with this name. If there are several, they are sorted by rank, and the first one
 * is used. */
static bool schema_names_find_in_scope(const struct schema_name_list *l, uint32_t scope,
                                       struct slice text, uint32_t *ret)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare_name_to_key(&l->name[mid], scope, text) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    if (low == l->n || compare_name_to_key(&l->name[low], scope, text) != 0)
        return false;
    *ret = l->name[low].node;
    return true;
}

static void schema_names_close(struct schema_names *n)
{
    free(n->base);
    free(n->address);
    free(n->members.name);
    free(n->anchors.name);
    free(n->addresses.name);
    free(n->dynamic.name);
    buf_close(&n->texts);
    buf_close(&n->uris);
    buf_close(&n->want);
    buf_close(&n->part);
    *n = (struct schema_names){0};
}

/* Collects and sorts all names. Returns 0, MI_EFULL or MI_ENOMEM. The schema must outlive the
 * names. */
static int schema_names_open(struct schema_names *n, struct schema *s)
{
    const struct json_tree *tree = &s->tree;
    *n = (struct schema_names){.s = s, .tree = tree};
    n->base = calloc(tree->n, sizeof *n->base);
    n->address = calloc(tree->n, sizeof *n->address);
    int st = n->base == NULL || n->address == NULL || !reserve_room_for_names(n) ? MI_ENOMEM : 0;
    if (st == 0)
        st = set_base_uri_of_nodes(n);
    for (uint32_t at = 0; st == 0 && at < tree->n; at++)
        if (!add_members(n, at) || !add_anchor(n, at))
            st = MI_ENOMEM;
    if (st < 0 || n->texts.failed || n->uris.failed) {
        schema_names_close(n);
        return st < 0 ? st : MI_ENOMEM;
    }
    struct schema_name_list *all[] = {&n->members, &n->anchors, &n->addresses, &n->dynamic};
    for (size_t i = 0; i < MI_COUNT(all); i++)
        if (all[i]->n > 1)
            qsort(all[i]->name, all[i]->n, sizeof *all[i]->name, compare_schema_names);
    return 0;
}

/* ---- following a $ref ----------------------------------------------------------------------- */

/* Reads a token of a JSON Pointer in a URI fragment: decodes %XX first, then ~1 and ~0. */
static struct slice read_token(struct schema_names *n, struct slice raw)
{
    buf_clear(&n->part);
    buf_clear(&n->want);
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '%' && i + 2 < raw.n && char_hex_digit_value(raw.p[i + 1]) >= 0 &&
            char_hex_digit_value(raw.p[i + 2]) >= 0) {
            c = (char)(char_hex_digit_value(raw.p[i + 1]) << 4 |
                       char_hex_digit_value(raw.p[i + 2]));
            i += 2;
        }
        buf_addc(&n->part, c);
    }
    (void)pointer_unescape(&n->want, buf_slice(&n->part));
    n->want.failed |= n->part.failed;
    return buf_slice(&n->want);
}

/* Finds the target of a reference in the schema `from`. Returns false if the target is in another
 * document, or does not exist. */
static bool schema_names_find(struct schema_names *n, uint32_t from, struct slice ref,
                              uint32_t *ret)
{
    struct slice uri = uri_without_fragment(ref);
    struct slice fragment = uri.n < ref.n ? (struct slice){uri.p + uri.n + 1, ref.n - uri.n - 1}
                                          : (struct slice){"", 0};
    uint32_t base = n->base[from];
    if (uri.n > 0) {
        size_t text_n = n->address[base].n + uri.n;
        buf_clear(&n->want);
        if (!work_count_steps(&n->s->work, text_n / (memchr(uri.p, '.', uri.n) != NULL ? 4 : 32)))
            return false;
        uri_resolve(&n->want, n->address[base], uri);
        if (n->want.failed ||
            !schema_names_find_in_scope(&n->addresses, 0, buf_slice(&n->want), &base))
            return false;
    }
    if (fragment.n > 0 && *fragment.p != '/')
        return schema_names_find_in_scope(&n->anchors, base, fragment, ret);
    /* the fragment is a JSON Pointer; the empty fragment refers to the base itself */
    uint32_t at = base;
    for (struct slice raw; pointer_read_next_token(&fragment, &raw);) {
        struct slice token = read_token(n, raw);
        if (n->want.failed || !schema_names_find_in_scope(&n->members, at, token, &at))
            return false;
    }
    *ret = at;
    return true;
}

/* Whether the node is the target of a dynamic anchor with this name. */
static bool node_has_dynamic_anchor(const struct schema_names *n, uint32_t node, struct slice name)
{
    uint32_t found;
    return schema_names_find_in_scope(&n->dynamic, n->base[node], name, &found) && found == node;
}

/* ---- linking -------------------------------------------------------------------------------- */

/* A dynamic anchor. All anchors with the same name form a group. */
struct named_anchor {
    struct slice text;
    uint32_t base, node;
};

struct linking {
    struct schema *s;
    struct schema_names names;
    /* owned; for each dynamic anchor in s->anchor, with the same index: its name, base and node */
    struct named_anchor *named;
};

static int compare_named_anchors(const void *a, const void *b)
{
    const struct named_anchor *x = a, *y = b;
    int c = slice_cmp(x->text, y->text);
    return c != 0 ? c : (x->base > y->base) - (x->base < y->base);
}

/* Makes the table of dynamic anchors, unless it was made for an earlier reference. */
static int make_dynamic_anchor_table(struct linking *l)
{
    struct schema *s = l->s;
    const struct schema_name_list *from = &l->names.dynamic;
    size_t bytes = from->n * sizeof *s->anchor;
    if (l->named != NULL)
        return 0;
    if (!quota_reserve(&s->limits->memory, bytes))
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
static uint32_t find_dynamic_anchor_group(const struct linking *l, struct slice name)
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

/* Links a $dynamicRef or $recursiveRef. It remains a plain reference unless its static target is a
 * dynamic anchor. */
static int link_dynamic_reference(struct linking *l, size_t i, struct slice ref, uint32_t target)
{
    struct schema *s = l->s;
    const char *hash = ref.n > 0 ? memchr(ref.p, '#', ref.n) : NULL;
    struct slice name = {"", 0};
    if (hash != NULL)
        name = (struct slice){hash + 1, (size_t)(ref.p + ref.n - hash) - 1};
    if (!node_has_dynamic_anchor(&l->names, target, name))
        return 0;
    int st = make_dynamic_anchor_table(l);
    if (st == 0)
        s->keyword[i].group = find_dynamic_anchor_group(l, name);
    return st;
}

/* Links a reference to its target, which is compiled if necessary. Compiling may add references;
 * schema_link_references() links them later. */
static int link_reference(struct linking *l, size_t i)
{
    struct schema *s = l->s;
    uint32_t at, value = s->keyword[i].at;
    struct buf ref = {0};
    json_unescape(&ref, json_string_raw(schema_get_node(s, value)->value));
    int st = ref.failed ? MI_ENOMEM : 0;
    if (st == 0 &&
        schema_names_find(&l->names, schema_get_node(s, value)->up, buf_slice(&ref), &at)) {
        st = schema_compile(s, at);
        if (st == 0 && s->rule_of[at] != SCHEMA_NO_RULE)
            s->keyword[i].rule = s->rule_of[at] + 1;
        if (st == 0 && s->keyword[i].rule != 0 && s->keyword[i].word == KW_DYNAMIC_REF)
            st = link_dynamic_reference(l, i, buf_slice(&ref), at);
    }
    buf_close(&ref);
    return st == 0 && s->work.steps < 0 ? MI_EFULL : st;
}

int schema_link_references(struct schema *s)
{
    struct linking l = {.s = s};
    int st = 0;
    for (size_t i = 0; st == 0 && i < s->keywords; i++) {
        uint8_t word = s->keyword[i].word;
        if ((word != KW_REF && word != KW_DYNAMIC_REF) ||
            schema_get_node(s, s->keyword[i].at)->value.type != JSON_STRING)
            continue;
        if (l.names.tree == NULL)
            st = schema_names_open(&l.names, s);
        if (st == 0)
            st = link_reference(&l, i);
    }
    for (uint32_t at = 0; st == 0 && s->anchors > 0 && at < s->tree.n; at++)
        if (s->rule_of[at] != SCHEMA_NO_RULE)
            s->rule[s->rule_of[at]].base = l.names.base[at];
    schema_names_close(&l.names);
    free(l.named);
    return st;
}
