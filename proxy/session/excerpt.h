/* excerpt.h - quotes an invalid line in the text of an error.
 *
 * Rules     The line is sanitized as a whole, since half a secret is not recognized. If a secret is near the place,
 *           nothing is quoted.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_EXCERPT_H
#define MI_PROXY_SESSION_EXCERPT_H

#include "base/buf.h"

/* Appends ": " and the text around an offset. */
void excerpt_add(struct buf *b, struct slice text, size_t at);
/* Appends the start of the text. */
void excerpt_add_start(struct buf *b, struct slice text);

#endif
