/* outgoing.h - the request that is sent: a recorded request, possibly changed, or one made from
 * words of the command line.
 *
 * Owns      its texts; outgoing_close() frees them.
 * Errors    MI_EINVAL with a sentence in `error`; MI_ENOMEM.
 * Blocks    never. Pure, except outgoing_refuse_secrets(). */
#ifndef MI_CLI_SEND_OUTGOING_H
#define MI_CLI_SEND_OUTGOING_H

#include "cli/send/cli_value.h"
#include "cli/send/secrets.h"
#include "wire/rpc.h"

struct outgoing {
    struct buf method; /* owned; the method as plain text */
    /* owned; the target as plain text: a tool or prompt name, a URI, …; empty: none */
    struct buf target;
    struct buf params;           /* owned; params as a JSON object; empty: none */
    struct cli_value_list words; /* owned; values for `arguments`, or for other members of params */
    /* MCP does not define the method, so it may be the name of a tool: see
     * outgoing_make_tool_call() */
    bool may_be_tool;
};

void outgoing_close(struct outgoing *r);

/* ---- from words ---- */

/* Reads METHOD [TARGET] [NAME=VALUE]… or TOOL [NAME=VALUE]…; n > 0. A value may be read from a
 * file. */
MI_MUST int outgoing_read_words(struct outgoing *r, char *const *words, int n, struct buf *error);
/* Makes the request a tools/call, because its first word is the name of a tool. */
MI_MUST int outgoing_make_tool_call(struct outgoing *r);
bool outgoing_is_tool_call(const struct outgoing *r);
/* Makes the params, or adds members to them. input_schema: the schema of the tool; type JSON_NONE:
 * no schema. meta: JSON of the member `_meta`; n == 0: none. */
MI_MUST int outgoing_make_params(struct outgoing *r, struct json_value input_schema,
                                 struct slice meta);

/* ---- from a recording ---- */

MI_MUST int outgoing_copy_recorded_request(struct outgoing *r, const struct rpc *recorded);

/* ---- both ---- */

/* Changes params. The names in `sets` are JSON Pointers into params. A value given as text gets the
 * type that the argument's schema requires, or else the type of the value that it replaces.
 * `params` may be a buffer outside of the request. */
MI_MUST int outgoing_set_params(struct buf *params, const struct cli_value_list *sets,
                                struct json_value input_schema, struct buf *error);
/* Calls fn for each mark of the sanitizer in params, except in values that `sets` replaces. */
MI_MUST int outgoing_for_each_secret(struct slice params, const struct cli_value_list *sets,
                                     secrets_fn fn, void *ctx);
/* Reports on stderr the marks that `sets` does not replace, one line each. Returns EXIT_FINE if
 * there is none. */
MI_MUST int outgoing_refuse_secrets(struct slice params, const struct cli_value_list *sets);
/* Writes the complete message, with the id 0. */
void outgoing_write_message(const struct outgoing *r, struct buf *b);

#endif
