/* shown.h - recorded text in results: cut, and without characters that a reader cannot see.
 *
 * Control characters, bidirectional overrides, invisible characters and invalid bytes become \n, \x1b or \u{202e}, as
 * text_visible() writes them, also inside JSON, whose reader would undo JSON's own escapes.
 *
 * Owns      nothing; everything is appended to buffers of the caller, whose `failed` reports errors.
 * Blocks    never. Pure. */
#ifndef MI_CLI_MCP_SHOWN_H
#define MI_CLI_MCP_SHOWN_H

#include "base/json_out.h"

#define SHOWN_NAME 100  /* bytes of a name, such as that of a server, tool or method */
#define SHOWN_BRIEF 160 /* bytes of the beginning of a body */

/* A string member of at most max bytes of the text, with "…" if it is longer. {NULL, 0} and "": no member. */
void shown_member(struct json_out *j, const char *name, struct slice text, size_t max);
/* The same text, for a line of text: in quotes, with quotes inside escaped. {NULL, 0}: "-", without quotes. */
void shown_quoted(struct buf *b, struct slice text, size_t max);
/* The text with its line ends; everything else is escaped. In text each line begins with `prefix`, so that none can be
 * taken for one of ours. */
void shown_lines(struct buf *b, struct slice text, const char *prefix);

/* A time as RFC 3339 in UTC. */
void shown_time(struct json_out *j, const char *name, int64_t wall_us);
/* A duration in milliseconds, with microseconds after the point. Below 0: no member. */
void shown_ms(struct json_out *j, const char *name, int64_t us);

#endif
