/* preview.h - the part of a message that tells a person what it is about, for one line of a list.
 *
 * A request shows its arguments or params, a tool's result its text, an error its code and message, a
 * log notification what it logs. Anything that cannot be read so is shown as it is.
 *
 * Owns      nothing. The text added is raw: it still has to be made visible.
 * Blocks    never. Pure. */
#ifndef MI_CLI_PREVIEW_H
#define MI_CLI_PREVIEW_H

#include "vault/query.h"

/* Adds the preview of a body to b; a long one is cut at about `max` bytes. */
void preview_add(struct buf *b, const struct query_message *m, struct slice body, size_t max);

#endif
