/* tree.h - JSON text as a tree, for schemas and the values that are checked against them.
 *
 * The text must have passed json_scan(), because the tokenizer, jsmn, also accepts invalid JSON.
 * Forwarded messages are never turned into trees.
 *
 * Owns      the nodes; json_tree_close() frees them. The text is borrowed.
 * Errors    MI_EFULL: more than JSON_TREE_MAX values, JSON_TREE_TEXT_MAX bytes or JSON_TREE_DEPTH
 *           levels, or thousands of values in hundreds of levels, for which the tokenizer would
 *           need more than JSON_TREE_CLIMBS steps. MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_TREE_H
#define MI_WIRE_JSON_TREE_H

#include "wire/json/scan.h"

#define JSON_TREE_MAX ((size_t)65536)
#define JSON_TREE_TEXT_MAX ((size_t)16 << 20)
#define JSON_TREE_CLIMBS ((size_t)1 << 20)

/* A node of the tree. Nodes are identified by number; 0 is the root. `child` and `next` are 0 if
 * there is no child or no next node. */
struct json_node {
    struct json_value value;
    /* raw key of the member, without quotes; {NULL, 0}: the parent is not an object */
    struct slice key;
    uint32_t child, next;
    uint32_t count; /* number of children of the node */
    uint32_t up;    /* index of the node's parent */
    uint32_t depth; /* depth: number of objects and arrays that contain the node */
};

struct json_tree {
    struct json_node *node; /* owned */
    size_t n;
};

MI_MUST int json_tree_open(struct json_tree *t, struct slice text);
void json_tree_close(struct json_tree *t); /* safe to call twice */
/* Returns the last member with this name, compared unescaped; 0: none. */
uint32_t json_tree_get(const struct json_tree *t, uint32_t object, const char *name);

#endif
