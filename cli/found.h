/* found.h - a message that `search` has found, with what was found in its context.
 *
 * Errors    those of the output (cli/out.h).
 * Blocks    on standard output. */
#ifndef MI_CLI_FOUND_H
#define MI_CLI_FOUND_H

#include "cli/out.h"
#include "vault/query.h"

/* All borrowed for the call. */
struct found {
    const struct query_message *message;
    int64_t session_id, started_at_us;
    const char *uid, *server;
    struct slice text; /* of the message, as it was searched */
    struct slice at;   /* what was found: a part of it */
};

void found_json(struct out *o, const struct found *f); /* a line */
void found_text(struct out *o, const struct found *f); /* two lines */

#endif
