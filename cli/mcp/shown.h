/* shown.h - recorded text in the text of results: cut, and without characters that a reader
 * cannot see.
 *
 * Control characters, bidirectional overrides, invisible characters and invalid bytes become \n,
 * \x1b or \u{202e}, as in text_append_visible(). For structuredContent see json_out.max_text
 * (base/json_out.h).
 *
 * Owns      nothing. Everything is appended to buffers of the caller; their `failed` reports
 *           errors.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCP_SHOWN_H
#define MI_CLI_MCP_SHOWN_H

#include "base/buf.h"

#define SHOWN_MAX 200   /* maximum bytes of a text in structuredContent */
#define SHOWN_NAME 100  /* maximum bytes of a name, such as that of a server, tool or method */
#define SHOWN_BRIEF 160 /* maximum bytes shown of a body */

/* Appends at most max bytes of the text in quotes; quotes inside are escaped. If the text is
 * longer, "…" follows. For {NULL, 0}, appends "-" without quotes. */
void append_quoted_text_or_dash(struct buf *b, struct slice text, size_t max);
/* Appends the text with its line ends; every other special character is escaped. Each line begins
 * with `prefix`, so that no recorded line looks like a line of this program. */
void append_lines_with_prefix(struct buf *b, struct slice text, const char *prefix);
/* Appends a space, the method, and the target if there is one. */
void append_quoted_method_and_target(struct buf *b, struct slice method, struct slice target);

#endif
