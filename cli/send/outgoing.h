/* outgoing.h - the request that is sent: a recorded one, perhaps changed, or one from words of the command line.
 *
 * Owns      its texts; outgoing_close() frees them.
 * Errors    MI_EINVAL with a sentence in `error`; MI_ENOMEM.
 * Blocks    never. Pure, except outgoing_refuse_secrets(). */
#ifndef MI_CLI_SEND_OUTGOING_H
#define MI_CLI_SEND_OUTGOING_H

#include "cli/send/given.h"
#include "cli/send/secrets.h"
#include "wire/rpc.h"

struct outgoing {
    struct buf method; /* owned; plain text */
    struct buf target; /* owned; plain text: the name of a tool or prompt, a URI, …; empty: none */
    struct buf params;       /* owned; a JSON object; empty: none */
    struct given_list words; /* owned; values for `arguments`, or for other members of params */
    bool
        maybe_tool; /* the method is not one of MCP: it can also be the name of a tool, see outgoing_is_tool() */
};

void outgoing_close(struct outgoing *r);

/* ---- from words ---- */

/* Reads METHOD [TARGET] [NAME=VALUE]… or TOOL [NAME=VALUE]…; n > 0. Values are read from files, too. */
MI_MUST int outgoing_read(struct outgoing *r, char *const *words, int n, struct buf *error);
/* The first word is the name of a tool: the request becomes a tools/call of it. */
MI_MUST int outgoing_is_tool(struct outgoing *r);
bool outgoing_calls_tool(const struct outgoing *r);
/* Makes the params, or adds to what they are. input_schema: of the tool; type JSON_NONE: none. meta: the member `_meta`, JSON; n == 0: none. */
MI_MUST int outgoing_make(struct outgoing *r, struct json_value input_schema, struct slice meta);

/* ---- from a recording ---- */

MI_MUST int outgoing_copy(struct outgoing *r, const struct rpc *recorded);

/* ---- both ---- */

/* Changes params. sets: their names are JSON Pointers into params. A value that was given as text gets the type that the
 * schema of an argument wants, or else the type of the value that it replaces. Params may be `text` of another request. */
MI_MUST int outgoing_set(struct buf *params, const struct given_list *sets,
                         struct json_value input_schema, struct buf *error);
/* Reports the marks of the sanitizer in params, except in values that `sets` gives. */
MI_MUST int outgoing_secrets(struct slice params, const struct given_list *sets, secrets_fn fn,
                             void *ctx);
/* The same, with a line on stderr for each. EXIT_FINE: there is none. */
MI_MUST int outgoing_refuse_secrets(struct slice params, const struct given_list *sets);
/* The whole message, with the id 0. */
void outgoing_message(const struct outgoing *r, struct buf *b);

#endif
