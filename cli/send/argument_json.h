/* argument_json.h - writes values that were given as text as JSON, with types from the tool's
 * inputSchema.
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
#ifndef MI_CLI_SEND_ARGUMENT_JSON_H
#define MI_CLI_SEND_ARGUMENT_JSON_H

#include "cli/send/cli_value.h"
#include "wire/json/scan.h"

/* Appends the values that the list has for this name, as JSON. input_schema: the schema of the
 * tool; a value of type JSON_NONE if there is no schema. */
void argument_json_append_argument(struct buf *out, struct json_value input_schema,
                                   struct slice name, const struct cli_value_list *l);
/* Appends the arguments of a tool call: a JSON object with a member for each name in the list. */
void argument_json_append_object(struct buf *out, struct json_value input_schema,
                                 const struct cli_value_list *l);
/* Appends the value `g` of a member of `params`. The value is a string, unless the protocol
 * requires another type for this member of this method. */
void argument_json_append_param(struct buf *out, const char *method, const struct cli_value *g);

/* Returns true if the name is probably misspelt: the schema has properties, none has this name, and
 * no other keyword, such as additionalProperties or $ref, may define or allow it. */
bool argument_json_name_is_undeclared(struct json_value input_schema, struct slice name);

#endif
