/* scan.h - checks in one pass that a text is exactly one valid JSON value, and reports members of
 * the top two levels.
 *
 * Rules     RFC 8259 grammar; UTF-8 (RFC 3629); exactly one value; no byte order mark; no raw NUL
 *           or other control character in a string; at most JSON_MAX_DEPTH levels. Lone surrogate
 *           escapes and duplicate keys are valid JSON: lone surrogates are accepted, duplicate keys
 *           are reported.
 * Depth     the scan needs a few bytes for each level, and no recursion. Code that descends into
 *           values by recursion, or needs more memory for each level, stops at JSON_TREE_DEPTH
 *           levels; its header says what happens to deeper values.
 * Owns      nothing. All slices point into the caller's text.
 * Errors    the kind of fault and the offset of the byte where it was detected.
 * Blocks    never. Pure; uses 30 KiB of stack and allocates nothing. */
#ifndef MI_WIRE_JSON_SCAN_H
#define MI_WIRE_JSON_SCAN_H

#include "base/base.h"

#define JSON_MAX_DEPTH 10000
/* number of levels in which duplicate keys are found (see "Depth" above) */
#define JSON_TREE_DEPTH 512
/* maximum number of keys, in all open objects together, that are checked for duplicates */
#define JSON_KEYS_MAX 512
/* maximum number of keys of one object that are checked for duplicates */
#define JSON_OBJECT_KEYS_MAX 128

enum json_type {
    JSON_NONE, /* absent */
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT,
};

enum json_fault_kind {
    JSON_OK,
    JSON_EMPTY,    /* the text is empty or only white space */
    JSON_SYNTAX,   /* the grammar does not allow the byte at this position */
    JSON_CONTROL,  /* the text contains a raw control character inside a string */
    JSON_UTF8,     /* the text contains bytes that are not well-formed UTF-8 */
    JSON_DEEP,     /* the text has more than JSON_MAX_DEPTH levels */
    JSON_CUT,      /* the text is truncated: it ends inside the value */
    JSON_TRAILING, /* more text follows the value */
};

struct json_fault {
    enum json_fault_kind kind;
    size_t at; /* offset of the fault, in bytes */
};

struct json_value {
    enum json_type type;
    struct slice text; /* the value as written; a string includes its quotes */
};

/* A member of the root object (depth 1), or of an object inside it (depth 2; `outer` is that
 * object's key). A member is reported at the end of its value, so the members of an object come
 * before the object itself. Keys are raw text without quotes; compare them with json_key_is(). */
struct json_member {
    int depth;
    struct slice key;
    struct slice outer; /* key of the object that contains the member; {NULL, 0} at depth 1 */
    struct json_value value;
};
typedef void (*json_member_fn)(void *ctx, const struct json_member *m);

struct json_scan {
    struct json_fault fault;
    enum json_type type; /* type of the root value */
    struct slice root;   /* the root value without surrounding white space */
    bool duplicate_key;  /* an object in the first JSON_TREE_DEPTH levels has the same key twice */
    bool deep;           /* true: the text has more than JSON_TREE_DEPTH levels */
};

/* Returns 0, or MI_EPROTO with ret->fault set. on_member may be NULL. */
MI_MUST int json_scan(struct slice text, json_member_fn on_member, void *ctx,
                      struct json_scan *ret);

/* Returns the type of a value in valid JSON from its first byte. */
enum json_type json_type_at(char first);
/* Returns a static text for people, such as "raw control character inside a string". */
const char *json_fault_text(enum json_fault_kind kind);

#endif
