/* lenient.h - finds the id of a line that is not valid JSON, so that its request can be answered.
 *
 * Rules     An object that begins the line is read from its beginning and from its end, as far as
 *           brackets, commas and colons fit: wrong escapes, single quotes, keys without quotes,
 *           trailing commas, invalid bytes and unknown words are tolerated. Only members of this
 *           object count, never those of objects inside it. If the reading from the beginning and
 *           the reading from the end both find an id, the id of the former is used. The line is
 *           read from its end only if its brackets are balanced, because in a truncated line a
 *           nested object may look like the outer object.
 * Owns      nothing. Slices point into the line or into ret.
 * Work      linear in the line.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_LENIENT_H
#define MI_WIRE_LENIENT_H

#include "base/buf.h"
#include "wire/json/scan.h"

#define LENIENT_ID_MAX 128 /* maximum number of bytes of an id in single quotes */

struct lenient {
    /* the id in valid JSON, a number or a string; type JSON_NONE: the id cannot be read */
    struct json_value id;
    bool is_call;                 /* true: the object has a member `method` */
    bool is_answer;               /* true: the object has a member `result` or `error` */
    bool is_jsonrpc;              /* true: the object has a member `jsonrpc` */
    size_t n;                     /* bytes of the line up to the end of the object; 0: not known */
    char id_text[LENIENT_ID_MAX]; /* text of `id`, if the id is in single quotes in the line */
};

/* Reads a line. Do not move *ret while ret->id is used. */
void lenient_json_read(struct slice line, struct lenient *ret);
/* Reads the next object of a line that may have several objects. Removes the object, and the text
 * before it, from *rest; removes all of *rest if the end of the object is unknown. Returns false if
 * there is no object. */
bool lenient_json_read_next_object(struct slice *rest, struct lenient *ret);
/* Whether the line was meant as an answer. An `id` alone is not enough, because a log line may have
 * one. */
bool lenient_json_line_is_answer(const struct lenient *l);
/* Appends a description of the flaw at the offset where json_scan() or json_repair_add_line() has
 * stopped. It shows at most two characters of the text. */
void lenient_json_append_fault(enum json_fault_kind kind, struct slice text, size_t at,
                               struct buf *b);
/* Appends the text around an offset, at most LENIENT_EXCERPT bytes of it, as text_append_visible()
 * writes it. The text must be sanitized. */
#define LENIENT_EXCERPT 64
void lenient_json_append_excerpt(struct slice text, size_t at, struct buf *b);

#endif
