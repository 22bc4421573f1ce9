/* json_out.h - writes JSON: objects, arrays and members, with commas and escapes.
 *
 * Each function writes one value, or begins one. `name` is the member's name inside an object; NULL
 * inside an array and at the top level. Names are not escaped: they must be ASCII without quotes
 * and backslashes.
 *
 *     struct json_out j = json_out_to(&b);
 *     json_out_object(&j, NULL);
 *     json_out_int(&j, "seq", 7);
 *     json_out_end(&j);                      {"seq":7}
 *
 * Models    get the same values with `max_text`: texts are truncated, and invisible characters are
 *           escaped.
 * Owns      nothing: the text is appended to a buffer of the caller.
 * Nesting   at most JSON_OUT_MAX_DEPTH levels. Values at the top level are also separated by
 *           commas, unless json_out_line() is called between them; so parts of an array can be
 *           written to a separate buffer.
 * Errors    sticky, in the buffer (base/buf.h).
 * Blocks    never. Pure; allocates only when the buffer grows. */
#ifndef MI_BASE_JSON_OUT_H
#define MI_BASE_JSON_OUT_H

#include "base/buf.h"

#define JSON_OUT_MAX_DEPTH 64

struct json_out {
    struct buf *b; /* borrowed */
    /* a bit for each open level, the innermost level in bit 0; 1 means that the level is an
     * array */
    uint64_t arrays;
    unsigned depth; /* number of open levels */
    bool comma;     /* a value was written, so the next value needs a comma */
    /* Maximum bytes written of a text; 0: texts are written in full. With a maximum, "…" follows a
     * longer text, and texts are escaped like text_append_visible(), because a reader would undo
     * JSON's own escapes. json_out_add_visible_json() writes JSON as such a text. With a maximum,
     * members that are null are omitted. */
    size_t max_text;
};

static inline struct json_out json_out_to(struct buf *b)
{
    return (struct json_out){.b = b};
}
/* Continues a list of values in `b`: a comma precedes the first value unless `b` is empty. */
static inline struct json_out json_out_continue_list(struct buf *b)
{
    return (struct json_out){.b = b, .comma = b->n > 0};
}

void json_out_object(struct json_out *j, const char *name);
void json_out_array(struct json_out *j, const char *name);
void json_out_end(struct json_out *j); /* ends the innermost object or array */

/* Write a string of any bytes, escaped like text_append_json(). {NULL, 0} and NULL are written as
 * null. */
void json_out_text(struct json_out *j, const char *name, struct slice text);
void json_out_str(struct json_out *j, const char *name, const char *text);
/* Writes a string that is already escaped: the text between the quotes of a valid JSON string. */
void json_out_quoted(struct json_out *j, const char *name, struct slice raw);
void json_out_int(struct json_out *j, const char *name, int64_t v);
void json_out_uint(struct json_out *j, const char *name, uint64_t v);
void json_out_bool(struct json_out *j, const char *name, bool v);
void json_out_null(struct json_out *j, const char *name);
/* Write valid JSON text; {NULL, 0} is written as null. json_out_add_visible_json() writes the text
 * on one line and escapes control characters, like text_append_visible_json(). */
void json_out_raw(struct json_out *j, const char *name, struct slice valid);
void json_out_add_visible_json(struct json_out *j, const char *name, struct slice valid);
/* Adds members or values that were written to a separate buffer, joined by commas; "" adds
 * nothing. */
void json_out_add_written_members(struct json_out *j, struct slice written);
/* Writes only the comma and the name: the caller must append exactly one value to j->b. */
void json_out_name(struct json_out *j, const char *name);

/* Writes white space before the next value, after the comma if the value needs one. */
void json_out_add_whitespace(struct json_out *j, const char *space);
/* Ends a line of JSON lines: no comma precedes the next value at the top level. */
void json_out_line(struct json_out *j);

#endif
