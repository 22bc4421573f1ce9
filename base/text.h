/* text.h - text as people and files need it: UTF-8, JSON strings, visible control characters.
 *
 * Owns      nothing; everything is appended to a buffer of the caller (whose `failed` tells of errors).
 * Blocks    never. Pure. */
#ifndef MI_BASE_TEXT_H
#define MI_BASE_TEXT_H

#include "base/buf.h"

/* Length in bytes of the well-formed UTF-8 character at p (RFC 3629: no surrogates, no overlong
 * forms, at most U+10FFFF), or 0 when the bytes there are not one. n > 0. */
size_t text_utf8_len(const char *p, size_t n);
/* The code point of a character whose length text_utf8_len() gave. */
uint32_t text_utf8_code(const char *p, size_t len);

/* Valid UTF-8 without NUL: each bad byte and each NUL becomes U+FFFD. */
void text_utf8(struct buf *b, struct slice s);
/* One line that a terminal shows and does not obey: control characters (C0, DEL, C1), line and
 * paragraph separators, bidirectional overrides and bad bytes become \n, \t, \xHH or \u{HHHH}. */
void text_visible(struct buf *b, struct slice s);
/* A JSON string with its quotes. Bad bytes become U+FFFD; control characters, and the others that
 * text_visible() would not let through, become escapes. */
void text_json(struct buf *b, struct slice s);
/* The same, but no more than max_chars characters, then "… [+N chars]" when some were left out. */
void text_json_cut(struct buf *b, struct slice s, size_t max_chars);
/* The first max_chars characters, then "…" when there are more: looks at no byte behind them. */
void text_json_head(struct buf *b, struct slice s, size_t max_chars);
/* Valid JSON text as it is, but for the same characters, which become escapes: one line for everybody. */
void text_json_again(struct buf *b, struct slice valid);
/* The longest head of s that has at most max bytes and ends between two characters. */
struct slice text_head(struct slice s, size_t max);

#endif
