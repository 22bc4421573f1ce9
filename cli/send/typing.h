/* typing.h - the type of a value that was given as text: what the tool's inputSchema wants.
 *
 * Rules     a text stays a string if the schema of the argument allows that, or if there is none. Otherwise these forms are
 *           tried, and the first one that fits is taken: the text as JSON, an array of one string, an array with the
 *           JSON. Several values for one argument are an array. A value that was given as JSON stays as it is. If no
 *           form fits, one is taken whose type was likely meant; the check of all arguments then says what is wrong.
 * Owns      nothing.
 * Errors    in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_SEND_TYPING_H
#define MI_CLI_SEND_TYPING_H

#include "cli/send/given.h"
#include "wire/json/scan.h"

/* Appends the values that the list has for this name, as JSON. input_schema: of the tool; type JSON_NONE: none. */
void typing_add(struct buf *out, struct json_value input_schema, struct slice name,
                const struct given_list *l);
/* Appends the object with all names of the list. */
void typing_arguments(struct buf *out, struct json_value input_schema, const struct given_list *l);
/* Appends a value for this member of params: a string, unless the protocol wants another type for this method. */
void typing_param(struct buf *out, const char *method, const struct given *g);

/* Whether the schema lists its properties, and this name is not one of them, although it does not speak of others, or does not
 * allow them. The name is then most likely misspelt. */
bool typing_is_unknown(struct json_value input_schema, struct slice name);

#endif
