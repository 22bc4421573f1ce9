/* json_tree.h - JSON text as a tree, for what is looked at from several sides: schemas, arguments.
 *
 * The text must have passed json_scan(): the tokens are jsmn's, which takes almost anything for JSON.
 * A message on its way is never made into a tree.
 *
 * Owns      the nodes; json_tree_close() frees them. The text is borrowed.
 * Errors    MI_EFULL past JSON_TREE_MAX values or JSON_TREE_TEXT_MAX bytes; MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_TREE_H
#define MI_WIRE_JSON_TREE_H

#include "wire/json.h"

#define JSON_TREE_MAX ((size_t)65536)
#define JSON_TREE_TEXT_MAX ((size_t)16 << 20)

/* Nodes are known by their number; 0 is the root, and as child or next it stands for "none". */
struct json_node {
    struct json_value value;
    struct slice key; /* between the quotes, escapes as written; {NULL, 0}: not in an object */
    uint32_t child, next;
    uint32_t count; /* of children */
    uint32_t up;
};

struct json_tree {
    struct json_node *node; /* owned */
    size_t n;
};

MI_MUST int json_tree_open(struct json_tree *t, struct slice text);
void json_tree_close(struct json_tree *t); /* safe to call twice */
/* The last member of this name, escapes resolved; 0: none. */
uint32_t json_tree_get(const struct json_tree *t, uint32_t object, const char *name);

#endif
