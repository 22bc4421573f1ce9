/* names.h - what a reference can name in a schema: members, elements, anchors, addresses.
 *
 * Only compiled schemas define anchors and addresses: an `$id` in an enum is an ordinary member.
 * All names are collected in one pass and sorted: a $ref costs a binary search for each of its
 * tokens, however large the schema is.
 *
 * Owns      the sorted names, and texts that differ from the schema's text.
 * Limits    an address of more than NAMES_ADDRESS_MAX bytes cannot be referred to. MI_EFULL: all
 *           addresses together have more than NAMES_ADDRESSES_MAX bytes.
 * Lifetime  the schema is borrowed and must outlive the names. Finding a name takes steps of the
 *           schema's `work`.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_SCHEMA_NAMES_H
#define MI_WIRE_SCHEMA_NAMES_H

#include "base/buf.h"
#include "wire/schema/node.h"

#define NAMES_ADDRESS_MAX ((size_t)2048)
#define NAMES_ADDRESSES_MAX ((size_t)1 << 20)

/* A name, unescaped, and the node that it names. */
struct schema_name {
    uint32_t scope; /* of a member: its parent; of an anchor: its base; of an address: 0 */
    uint32_t node;
    uint32_t rank; /* among equal names, the one with the lowest rank is used */
    struct slice text;
};

struct schema_name_list {
    struct schema_name *name; /* owned; sorted */
    size_t n, cap;
};

struct schema_names {
    struct schema *s;
    const struct json_tree *tree; /* the schema's tree */
    uint32_t *base;        /* owned; of each node: the nearest schema around it with an `$id`, or
                            * the root */
    struct slice *address; /* owned; of each node that is a base */
    struct schema_name_list members, anchors, addresses;
    struct schema_name_list dynamic; /* the anchors that are dynamic */
    struct buf texts;                /* unescaped names, indices of elements */
    struct buf uris;                 /* all addresses, concatenated */
    struct buf want, part;           /* used by the search */
};

/* Returns 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int schema_names_open(struct schema_names *n, struct schema *s);
void schema_names_close(struct schema_names *n); /* safe to call twice */
/* Finds the target of a reference in the schema `from`. Returns false if the target is in another
 * document, or does not exist. */
bool schema_names_find(struct schema_names *n, uint32_t from, struct slice ref, uint32_t *ret);
/* Whether the node is the target of a dynamic anchor with this name. */
bool schema_names_is_dynamic(const struct schema_names *n, uint32_t node, struct slice name);

#endif
