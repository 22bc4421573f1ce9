/* excerpt.h - quotes an invalid line in the text of an error.
 *
 * Rules     The line is sanitized as a whole, because a part of a secret would not be recognized.
 *           If a secret is near the quoted offset, nothing is quoted.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_EXCERPT_H
#define MI_PROXY_SESSION_EXCERPT_H

#include "base/buf.h"

/* Appends ": " and the text around the offset `at`. */
void excerpt_add(struct buf *b, struct slice text, size_t at);
/* Appends the start of the text. */
void excerpt_add_start(struct buf *b, struct slice text);

#endif
