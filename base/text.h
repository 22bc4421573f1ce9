/* text.h - text as people and files need it: UTF-8, JSON strings, visible control characters.
 *
 * Owns      nothing; everything is appended to a buffer of the caller (whose `failed` tells of errors).
 * Blocks    never. Pure. */
#ifndef MI_BASE_TEXT_H
#define MI_BASE_TEXT_H

#include "base/buf.h"

/* Is this one of the bytes behind the first of a character? */
static inline bool text_utf8_cont(const char *p)
{
    return ((unsigned char)*p & 0xC0) == 0x80;
}

/* Length in bytes of the well-formed UTF-8 character at p (RFC 3629: no surrogates, no overlong
 * forms, at most U+10FFFF), or 0 when the bytes there are not one. n > 0. */
static inline size_t text_utf8_len(const char *p, size_t n)
{
    unsigned char a = (unsigned char)p[0];
    if (a < 0x80)
        return 1;
    if (a < 0xC2 || a > 0xF4)
        return 0;
    if (a < 0xE0)
        return n >= 2 && text_utf8_cont(p + 1) ? 2 : 0;
    if (n < 3 || !text_utf8_cont(p + 1) || !text_utf8_cont(p + 2))
        return 0;
    unsigned char b = (unsigned char)p[1];
    if (a < 0xF0)
        return (a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) ? 0 : 3;
    if (n < 4 || !text_utf8_cont(p + 3))
        return 0;
    return (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F) ? 0 : 4;
}

/* Characters of a text, as the number of bytes that begin one. */
size_t text_utf8_chars(struct slice s);

/* Writes a code point, which is at most U+10FFFF, to ret: 1 to 4 bytes, how many comes back. */
static inline size_t text_utf8_put(uint32_t c, char *ret)
{
    if (c < 0x80) {
        ret[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        ret[0] = (char)(0xC0 | c >> 6);
        ret[1] = (char)(0x80 | (c & 0x3F));
        return 2;
    }
    if (c < 0x10000) {
        ret[0] = (char)(0xE0 | c >> 12);
        ret[1] = (char)(0x80 | (c >> 6 & 0x3F));
        ret[2] = (char)(0x80 | (c & 0x3F));
        return 3;
    }
    ret[0] = (char)(0xF0 | c >> 18);
    ret[1] = (char)(0x80 | (c >> 12 & 0x3F));
    ret[2] = (char)(0x80 | (c >> 6 & 0x3F));
    ret[3] = (char)(0x80 | (c & 0x3F));
    return 4;
}

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
/* Valid JSON text as it is, but for the same characters, which become escapes, and other white space,
 * which becomes blanks: a raw CR is the end of a line for some readers. One line for everybody. */
void text_json_again(struct buf *b, struct slice valid);
/* Text of an attribute or element of XML. What XML cannot hold is made visible, as text_visible() does. */
void text_xml(struct buf *b, struct slice text);
/* The longest head of s that has at most max bytes and ends between two characters. */
struct slice text_head(struct slice s, size_t max);

#endif
