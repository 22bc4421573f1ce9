/* json.h - is this text one JSON value? A strict check in one pass, which hands out shallow members.
 *
 * Rules     RFC 8259 grammar, UTF-8 (RFC 3629), exactly one value, no byte order mark, no raw NUL or
 *           other control character in a string, at most JSON_MAX_DEPTH levels. Lone surrogate escapes
 *           and duplicate keys are legal JSON: the first pass as they are, the second are reported.
 * Owns      nothing. All slices lie in the text given.
 * Errors    the kind of fault and the offset of the byte at which it was seen.
 * Blocks    never. Pure; 8 KiB of stack, of which a usual message touches little; no allocation. */
#ifndef MI_WIRE_JSON_H
#define MI_WIRE_JSON_H

#include "base/base.h"

#define JSON_MAX_DEPTH 512
#define JSON_KEYS_MAX 512        /* keys of all open objects that the search for duplicates holds */
#define JSON_OBJECT_KEYS_MAX 128 /* keys of one object that it holds */

enum json_type {
    JSON_NONE, /* not there */
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
    JSON_EMPTY,    /* nothing but white space */
    JSON_SYNTAX,   /* the grammar does not allow this byte here */
    JSON_CONTROL,  /* raw control character inside a string */
    JSON_UTF8,     /* not well-formed UTF-8 */
    JSON_DEEP,     /* more than JSON_MAX_DEPTH levels */
    JSON_CUT,      /* the text ends inside the value */
    JSON_TRAILING, /* something follows the value */
};

struct json_fault {
    enum json_fault_kind kind;
    size_t at; /* offset in bytes */
};

struct json_value {
    enum json_type type;
    struct slice text; /* the value as written, strings with their quotes */
};

/* A member of the root object (depth 1), or of an object that is one (depth 2; `outer` is its key).
 * Handed out when its value has ended, so members of an object come before the object itself.
 * Keys are the text between the quotes, escapes and all: json_key_is() compares. */
struct json_member {
    int depth;
    struct slice key;
    struct slice outer; /* {NULL, 0} at depth 1 */
    struct json_value value;
};
typedef void (*json_member_fn)(void *ctx, const struct json_member *m);

struct json_scan {
    struct json_fault fault;
    enum json_type type; /* of the root value */
    struct slice root;   /* the root value without the white space around it */
    bool duplicate_key;  /* some object, at any depth, has a key twice */
};

/* 0, or MI_EPROTO with ret->fault set. on_member may be NULL. */
MI_MUST int json_scan(struct slice text, json_member_fn on_member, void *ctx,
                      struct json_scan *ret);

/* The type of a value by its first byte, in text that is valid. */
enum json_type json_type_at(char first);
/* One sentence for people: "raw control character inside a string". Static text. */
const char *json_fault_text(enum json_fault_kind kind);

#endif
