/* preview.h - the most useful part of a message, for one line of a list.
 *
 * This part is the arguments or params of a request, the text of a tool's result, the code and
 * message of an error, the data of a log notification, or the name and version in a handshake. For
 * any other kind of message, the preview is the whole message. Each run of white space becomes one
 * blank. A line of stderr is shown unchanged.
 *
 * Owns      nothing. The text is raw: print it with out_text() or out_add_fitting_text(), or write
 *           it with text_append_visible().
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_PREVIEW_H
#define MI_CLI_FRAME_PREVIEW_H

#include "vault/query/reader.h"

/* Appends the preview of a body to `b`, truncated at about `max` bytes. */
void preview_add_message(struct buf *b, const struct query_message *m, struct slice body,
                         size_t max);

#endif
