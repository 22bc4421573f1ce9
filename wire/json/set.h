/* set.h - changes one value in JSON text, which is otherwise copied byte for byte.
 *
 * Place     a JSON Pointer (RFC 6901); "" is the whole value. Among duplicate members the last one
 *           is used. A member that is missing is added to its object, and so are the objects that
 *           lead to it; null counts as missing. An element of an array must exist, or be the next
 *           one: its index, or `-`.
 * Errors    MI_EINVAL with the reason in `error`, which continues a sentence that begins with the
 *           pointer.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_SET_H
#define MI_WIRE_JSON_SET_H

#include "base/buf.h"
#include "wire/json/scan.h"

/* Replaces the content of `out`. text and value must have passed json_scan(). Returns 0, MI_EINVAL
 * or MI_ENOMEM. */
MI_MUST int json_set(struct buf *out, struct slice text, struct slice pointer, struct slice value,
                     struct buf *error);
/* Returns the value at this pointer; type JSON_NONE if there is none. */
struct json_value json_find_pointer(struct json_value root, struct slice pointer);

#endif
