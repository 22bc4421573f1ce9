/* token_cell.h - estimated numbers of tokens for people: "~60", "~1.1k", "~812k", "~2.4M".
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_SHOW_TOKEN_CELL_H
#define MI_SHOW_TOKEN_CELL_H

#include "show/show.h"

/* Appends a number of tokens. */
void show_append_tokens(struct buf *b, int64_t tokens);
/* The `text` function of a column; writes "-" if the number is unknown. */
void token_cell_append_or_dash(struct buf *b, const void *row, struct cell v);

#endif
