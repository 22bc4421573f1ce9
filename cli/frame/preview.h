/* preview.h - the most useful part of a message, for one line of a list.
 *
 * For a request this is its arguments or params, for a tool's result its text, for an error its code and message, for
 * a log notification the logged data, for a handshake who it is, and otherwise the whole message. Each run of white space is
 * one blank. A line of stderr is shown as it is.
 *
 * Owns      nothing. The text is raw: print it with out_text() or out_fit(), or write it with text_visible().
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_PREVIEW_H
#define MI_CLI_FRAME_PREVIEW_H

#include "vault/query/reader.h"

/* Appends the preview of a body to b, truncated at about `max` bytes. */
void preview_add(struct buf *b, const struct query_message *m, struct slice body, size_t max);

#endif
