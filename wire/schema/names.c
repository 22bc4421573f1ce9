#include "wire/schema/names.h"

#include "base/grow.h"
#include "wire/json/pointer.h"
#include "wire/json/text.h"

#include <stdlib.h>

#define INDEX_MAX 8 /* digits of an index: a tree has at most JSON_TREE_MAX nodes */

static const struct json_node *node_at(const struct schema_names *n, uint32_t at)
{
    return &n->tree->node[at];
}

/* ---- URIs ------------------------------------------------------------------------------------- */

static bool is_absolute(struct slice uri)
{
    const char *colon = uri.n > 0 ? memchr(uri.p, ':', uri.n) : NULL;
    const char *slash = uri.n > 0 ? memchr(uri.p, '/', uri.n) : NULL;
    return colon != NULL && (slash == NULL || colon < slash);
}

/* Appends a reference resolved against a base URI: the part of RFC 3986 that schemas need. */
static void resolve(struct buf *b, struct slice base, struct slice ref)
{
    if (!is_absolute(ref) && base.n > 0) {
        const char *from = memmem(base.p, base.n, "://", 3);
        const char *cut = NULL;
        if (ref.n > 0 && *ref.p == '/' && from != NULL)
            cut = memchr(from + 3, '/', (size_t)(base.p + base.n - from) - 3);
        else if ((cut = slice_last(base, '/')) != NULL)
            cut++;
        buf_add(b, base.p, cut != NULL ? (size_t)(cut - base.p) : 0);
    }
    buf_slice_add(b, ref);
}

/* The `$id` of a schema, if it defines a base URI; {NULL, 0}: it does not. */
static struct slice id_of(const struct schema_names *n, uint32_t at)
{
    uint32_t id = json_tree_get(n->tree, at, "$id");
    struct slice raw = id != 0 ? json_string_raw(node_at(n, id)->value) : (struct slice){0};
    if (id == 0 || raw.n == 0 || *raw.p == '#' ||
        (n->draft7 && json_tree_get(n->tree, at, "$ref") != 0))
        return (struct slice){0};
    const char *hash = memchr(raw.p, '#', raw.n);
    return (struct slice){raw.p, hash != NULL ? (size_t)(hash - raw.p) : raw.n};
}

/* ---- collecting --------------------------------------------------------------------------------- */

static bool add(struct schema_name_list *l, struct schema_name name)
{
    if (!GROW(l->name, l->n, l->cap))
        return false;
    l->name[l->n++] = name;
    return true;
}

/* The bases of all nodes, and their addresses. Parents come before their children in a tree. */
static int add_addresses(struct schema_names *n)
{
    for (uint32_t at = 0; at < n->tree->n; at++) {
        uint32_t above = at > 0 ? n->base[node_at(n, at)->up] : 0;
        struct slice id = id_of(n, at);
        n->base[at] = id.p != NULL ? at : above;
        if (id.p == NULL)
            continue;
        if (!buf_reserve(&n->uris, NAMES_ADDRESSES_MAX - n->uris.n))
            return MI_ENOMEM;
        size_t from = n->uris.n;
        if (id.n + n->address[above].n > NAMES_ADDRESS_MAX)
            continue;
        if (NAMES_ADDRESSES_MAX - from < NAMES_ADDRESS_MAX)
            return MI_EFULL;
        resolve(&n->uris, n->address[above], id);
        n->address[at] = (struct slice){n->uris.p + from, n->uris.n - from};
        if (!add(&n->addresses, (struct schema_name){0, at, at, n->address[at]}))
            return MI_ENOMEM;
    }
    return 0;
}

/* The name unescaped: in the schema, or in n->texts, which has room for it. */
static struct slice plain(struct schema_names *n, struct slice raw)
{
    size_t from = n->texts.n;
    if (raw.n == 0 || memchr(raw.p, '\\', raw.n) == NULL)
        return raw;
    json_unescape(&n->texts, raw);
    return (struct slice){n->texts.p + from, n->texts.n - from};
}

/* Room for all indices and unescaped names, so that texts do not move. Unescaping makes no text longer. */
static bool reserve_texts(struct schema_names *n)
{
    size_t need = 1;
    for (uint32_t at = 1; at < n->tree->n; at++)
        need += node_at(n, at)->key.p != NULL ? node_at(n, at)->key.n : INDEX_MAX;
    return buf_reserve(&n->texts, need);
}

static bool add_members(struct schema_names *n, uint32_t parent)
{
    size_t index = 0;
    for (uint32_t c = node_at(n, parent)->child; c != 0; c = node_at(n, c)->next) {
        struct slice name = node_at(n, c)->key;
        if (name.p == NULL) {
            size_t from = n->texts.n;
            buf_uint(&n->texts, index++);
            name = (struct slice){n->texts.p + from, n->texts.n - from};
        } else {
            name = plain(n, name);
        }
        /* the last of several members with one name, as with json_tree_get() */
        if (!add(&n->members, (struct schema_name){parent, c, UINT32_MAX - c, name}))
            return false;
    }
    return true;
}

/* An anchor is an `$anchor`, or an `$id` that is only a fragment. */
static bool add_anchor(struct schema_names *n, uint32_t at)
{
    const struct json_node *v = node_at(n, at);
    struct slice text = json_string_raw(v->value);
    if (text.p == NULL)
        return true;
    if (json_key_is(v->key, "$id") && text.n > 1 && *text.p == '#')
        text = (struct slice){text.p + 1, text.n - 1};
    else if (!json_key_is(v->key, "$anchor"))
        return true;
    return add(&n->anchors, (struct schema_name){n->base[v->up], v->up, v->up, text});
}

/* ---- sorting and finding ------------------------------------------------------------------------ */

static int compare_text(struct slice a, struct slice b)
{
    size_t n = size_min(a.n, b.n);
    int c = n > 0 ? memcmp(a.p, b.p, n) : 0;
    return c != 0 ? c : (a.n > b.n) - (a.n < b.n);
}

static int compare(const struct schema_name *a, uint32_t scope, struct slice text)
{
    return a->scope != scope ? (a->scope > scope) - (a->scope < scope)
                             : compare_text(a->text, text);
}

static int by_name(const void *a, const void *b)
{
    const struct schema_name *x = a, *y = b;
    int c = compare(x, y->scope, y->text);
    return c != 0 ? c : (x->rank > y->rank) - (x->rank < y->rank);
}

/* The index of the first entry that is not less. */
static size_t lower(const struct schema_name_list *l, uint32_t scope, struct slice text)
{
    size_t low = 0, high = l->n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (compare(&l->name[mid], scope, text) < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool find(const struct schema_name_list *l, uint32_t scope, struct slice text, uint32_t *ret)
{
    size_t i = lower(l, scope, text);
    if (i == l->n || compare(&l->name[i], scope, text) != 0)
        return false;
    *ret = l->name[i].node;
    return true;
}

int schema_names_open(struct schema_names *n, const struct json_tree *tree, bool draft7)
{
    *n = (struct schema_names){.tree = tree, .draft7 = draft7};
    n->base = calloc(tree->n, sizeof *n->base);
    n->address = calloc(tree->n, sizeof *n->address);
    int st = n->base == NULL || n->address == NULL || !reserve_texts(n) ? MI_ENOMEM : 0;
    if (st == 0)
        st = add_addresses(n);
    for (uint32_t at = 0; st == 0 && at < tree->n; at++)
        if (!add_members(n, at) || !add_anchor(n, at))
            st = MI_ENOMEM;
    if (st < 0 || n->texts.failed || n->uris.failed) {
        schema_names_close(n);
        return st < 0 ? st : MI_ENOMEM;
    }
    struct schema_name_list *all[] = {&n->members, &n->anchors, &n->addresses};
    for (size_t i = 0; i < MI_COUNT(all); i++)
        if (all[i]->n > 1)
            qsort(all[i]->name, all[i]->n, sizeof *all[i]->name, by_name);
    return 0;
}

void schema_names_close(struct schema_names *n)
{
    free(n->base);
    free(n->address);
    free(n->members.name);
    free(n->anchors.name);
    free(n->addresses.name);
    buf_close(&n->texts);
    buf_close(&n->uris);
    buf_close(&n->want);
    buf_close(&n->part);
    *n = (struct schema_names){0};
}

/* ---- following a $ref --------------------------------------------------------------------------- */

static int hex(char c)
{
    return c >= '0' && c <= '9'                     ? c - '0'
           : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10
                                                    : -1;
}

/* A token of a JSON Pointer in a URI fragment: %XX first, then ~1 and ~0. */
static struct slice read_token(struct schema_names *n, struct slice raw)
{
    buf_clear(&n->part);
    buf_clear(&n->want);
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '%' && i + 2 < raw.n && hex(raw.p[i + 1]) >= 0 && hex(raw.p[i + 2]) >= 0) {
            c = (char)(hex(raw.p[i + 1]) << 4 | hex(raw.p[i + 2]));
            i += 2;
        }
        buf_addc(&n->part, c);
    }
    (void)pointer_unescape(&n->want, buf_slice(&n->part));
    n->want.failed |= n->part.failed;
    return buf_slice(&n->want);
}

static bool follow_pointer(struct schema_names *n, uint32_t at, struct slice pointer, uint32_t *ret)
{
    struct slice raw;
    while (pointer_next(&pointer, &raw)) {
        struct slice token = read_token(n, raw);
        if (n->want.failed || !find(&n->members, at, token, &at))
            return false;
    }
    *ret = at;
    return true;
}

bool schema_names_find(struct schema_names *n, uint32_t from, struct slice ref, uint32_t *ret)
{
    const char *hash = ref.n > 0 ? memchr(ref.p, '#', ref.n) : NULL;
    struct slice uri = {ref.p, hash != NULL ? (size_t)(hash - ref.p) : ref.n};
    struct slice fragment =
        hash != NULL ? (struct slice){hash + 1, ref.n - uri.n - 1} : (struct slice){"", 0};
    uint32_t base = n->base[from];
    if (uri.n > 0) {
        buf_clear(&n->want);
        resolve(&n->want, n->address[base], uri);
        if (n->want.failed || !find(&n->addresses, 0, buf_slice(&n->want), &base))
            return false;
    }
    if (fragment.n == 0) {
        *ret = base;
        return true;
    }
    return *fragment.p == '/' ? follow_pointer(n, base, fragment, ret)
                              : find(&n->anchors, base, fragment, ret);
}
