/* shown.h - recorded text in the text of results: cut, and without characters that a reader cannot see.
 *
 * Control characters, bidirectional overrides, invisible characters and invalid bytes become \n, \x1b or \u{202e}, as
 * text_visible() writes them. structuredContent: json_out.max_text (base/json_out.h).
 *
 * Owns      nothing; everything is appended to buffers of the caller, whose `failed` reports errors.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCP_SHOWN_H
#define MI_CLI_MCP_SHOWN_H

#include "base/buf.h"

#define SHOWN_MAX 200   /* bytes of a text in structuredContent */
#define SHOWN_NAME 100  /* bytes of a name, such as that of a server, tool or method */
#define SHOWN_BRIEF 160 /* bytes of the beginning of a body */

/* At most max bytes of the text, with "…" if it is longer, in quotes, with quotes inside escaped. {NULL, 0}: "-", without
 * quotes. */
void shown_quoted(struct buf *b, struct slice text, size_t max);
/* The text with its line ends; everything else is escaped. In text each line begins with `prefix`, so that none can be
 * taken for one of ours. */
void shown_lines(struct buf *b, struct slice text, const char *prefix);
/* A space, and the method, and the target if there is one. */
void shown_subject(struct buf *b, struct slice method, struct slice target);

#endif
