/* set.h - changes one value in JSON text, which is otherwise copied byte for byte.
 *
 * Pointer   a JSON Pointer (RFC 6901) names the value; "" is the whole text. If members have the
 *           same name, the last of them is used. A missing member is added to its object, and so
 *           are the missing objects that lead to it; null counts as missing. An element of an array
 *           must exist; only the element after the last one may be new: its token is its index, or
 *           `-`.
 * Errors    MI_EINVAL with the reason in `error`, which continues a sentence that begins with the
 *           pointer.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_JSON_SET_H
#define MI_WIRE_JSON_SET_H

#include "base/buf.h"
#include "wire/json/scan.h"

/* Replaces the content of `out`. text and value must have passed json_scan(). Returns 0, MI_EINVAL
 * or MI_ENOMEM. */
MI_MUST int json_set_value_at_pointer(struct buf *out, struct slice text, struct slice pointer,
                                      struct slice value, struct buf *error);
/* Returns the value at this pointer; type JSON_NONE if there is none. */
struct json_value json_find_at_pointer(struct json_value root, struct slice pointer);

#endif
