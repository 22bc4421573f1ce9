/* preview.h - the most useful part of a message, for one line of a list.
 *
 * This part is the arguments or params of a request, the text of a result, the number and names of
 * the entries of a list such as tools, the code and message of an error, the data of a log
 * notification, the state in a progress notification, or the name and version in a handshake. A
 * result without text is shown as JSON; a body that is not a message is shown as it is. Each run of
 * white space becomes one blank. A line of stderr is shown unchanged.
 *
 * Owns      nothing. The text is raw: print it with out_add_text() or out_add_fitting_text(), or
 *           write it with text_append_visible().
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_PREVIEW_H
#define MI_CLI_FRAME_PREVIEW_H

#include "vault/query/reader.h"

/* Appends the preview of a body to `b`, truncated at about `max` bytes. */
void preview_add_message(struct buf *b, const struct query_message *m, struct slice body,
                         size_t max);

#endif
