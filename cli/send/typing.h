/* typing.h - finds the type of a value that was given as text, from the tool's inputSchema.
 *
 * Rules     a text stays a string if the argument's schema allows a string, or if there is no
 *           schema. Otherwise these forms are tried in order, and the first form that fits is used:
 *           the text as JSON, an array of one string, an array with the JSON. If no form fits, the
 *           form with the most likely type is used; the check of all arguments then reports the
 *           error. Several values for one argument become an array. A value that was given as JSON
 *           does not change.
 * Owns      nothing.
 * Errors    out of memory: `failed` of the buffer.
 * Blocks    never. Pure. */
#ifndef MI_CLI_SEND_TYPING_H
#define MI_CLI_SEND_TYPING_H

#include "cli/send/cli_value.h"
#include "wire/json/scan.h"

/* Appends the values that the list has for this name, as JSON. input_schema: the schema of the
 * tool; a value of type JSON_NONE if there is no schema. */
void typing_add_values_of_name(struct buf *out, struct json_value input_schema, struct slice name,
                               const struct cli_value_list *l);
/* Appends the arguments of a tool call: a JSON object with a member for each name in the list. */
void typing_write_arguments(struct buf *out, struct json_value input_schema,
                            const struct cli_value_list *l);
/* Appends the value `g` of a member of `params`. The value is a string, unless the protocol
 * requires another type for this member of this method. */
void typing_write_param(struct buf *out, const char *method, const struct cli_value *g);

/* Returns true if the name is probably misspelt: the schema has properties, none has this name, and
 * no other keyword, such as additionalProperties or $ref, may define or allow it. */
bool typing_argument_is_undeclared(struct json_value input_schema, struct slice name);

#endif
