/* names.h - what a reference can name in a schema: members and elements, anchors, addresses. Internal to wire/schema/.
 *
 * Only what is compiled defines anchors and addresses: an `$id` in an enum is an ordinary member. All names are collected in one pass and sorted: a $ref costs a binary search for each of its tokens, however large
 * the schema is.
 *
 * Owns      the sorted names, and the texts that the schema does not contain as they are.
 * Limits    an address of more than NAMES_ADDRESS_MAX bytes cannot be referred to. MI_EFULL: all addresses have more
 *           than NAMES_ADDRESSES_MAX bytes.
 * Lifetime  the schema is borrowed, and outlives the names. Finding a name takes steps of its work.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_SCHEMA_NAMES_H
#define MI_WIRE_SCHEMA_NAMES_H

#include "base/buf.h"
#include "wire/schema/node.h"

#define NAMES_ADDRESS_MAX ((size_t)2048)
#define NAMES_ADDRESSES_MAX ((size_t)1 << 20)

/* A name, unescaped, and the node that it names. */
struct schema_name {
    uint32_t scope; /* members: their parent; anchors: their base; addresses: 0 */
    uint32_t node;
    uint32_t rank; /* of equal names the one with the lowest rank counts */
    struct slice text;
};

struct schema_name_list {
    struct schema_name *name; /* owned; sorted */
    size_t n, cap;
};

struct schema_names {
    struct schema *s;
    const struct json_tree *tree; /* of that schema */
    uint32_t
        *base; /* owned; of each node: the nearest schema around it with an `$id`, or the root */
    struct slice *address; /* owned; of each node that is a base */
    struct schema_name_list members, anchors, addresses;
    struct schema_name_list dynamic; /* those of the anchors that are dynamic */
    struct buf texts;                /* unescaped names, indices of elements */
    struct buf uris;                 /* addresses, one after the other */
    struct buf want, part;           /* of the search */
};

/* 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int schema_names_open(struct schema_names *n, struct schema *s);
void schema_names_close(struct schema_names *n); /* safe to call twice */
/* The target of a reference that stands in the schema `from`. false: it is outside of the document, or nonexistent. */
bool schema_names_find(struct schema_names *n, uint32_t from, struct slice ref, uint32_t *ret);
/* Is the node the target of a dynamic anchor with this name? */
bool schema_names_dynamic(const struct schema_names *n, uint32_t node, struct slice name);

#endif
