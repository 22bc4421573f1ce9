/* text.h - reads and writes encodings of text: UTF-8, JSON strings, XML, visible control
 * characters.
 *
 * Owns      nothing; results are appended to a buffer of the caller, whose `failed` reports errors.
 * Blocks    never. Pure. */
#ifndef MI_BASE_TEXT_H
#define MI_BASE_TEXT_H

#include "base/buf.h"

/* Returns true if *p is a continuation byte of a UTF-8 character. */
static inline bool text_is_utf8_continuation(const char *p)
{
    return ((unsigned char)*p & 0xC0) == 0x80;
}

/* Returns the length in bytes of the well-formed UTF-8 character at p (RFC 3629: no surrogates, no
 * overlong forms, at most U+10FFFF), or 0 if there is none. n: bytes at p; must be > 0. */
static inline size_t text_utf8_len(const char *p, size_t n)
{
    unsigned char a = (unsigned char)p[0];
    if (a < 0x80)
        return 1;
    if (a < 0xC2 || a > 0xF4)
        return 0;
    if (a < 0xE0)
        return n >= 2 && text_is_utf8_continuation(p + 1) ? 2 : 0;
    if (n < 3 || !text_is_utf8_continuation(p + 1) || !text_is_utf8_continuation(p + 2))
        return 0;
    unsigned char b = (unsigned char)p[1];
    if (a < 0xF0)
        return (a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) ? 0 : 3;
    if (n < 4 || !text_is_utf8_continuation(p + 3))
        return 0;
    return (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F) ? 0 : 4;
}

/* Returns the number of characters: bytes that are not continuation bytes. */
size_t text_count_utf8_chars(struct slice s);

/* Writes a code point, at most U+10FFFF, to ret. Returns the number of bytes, 1 to 4. */
static inline size_t text_put_utf8_char(uint32_t c, char *ret)
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

/* Returns the columns of a terminal that a printable character takes: 0 (combining), 1 or 2 (wide).
 * len: the result of text_utf8_len(). */
size_t text_columns_of_char(const char *p, size_t len);
/* Returns the columns of a text that text_append_visible() has written. */
size_t text_count_columns(struct slice s);

/* Returns the code point of a character; len is the result of text_utf8_len(). */
static inline uint32_t text_utf8_code(const char *p, size_t len)
{
    static const unsigned char first[5] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t c = (unsigned char)p[0] & first[len];
    for (size_t i = 1; i < len; i++)
        c = c << 6 | ((unsigned char)p[i] & 0x3F);
    return c;
}

/* Returns the number of bytes before the first byte that is equal to `a` or `b`, or is not a
 * printable ASCII character (0x20 to 0x7E, RFC 20). `a` and `b` may be 0, which is not printable
 * either. */
size_t text_count_leading_plain_bytes(struct slice s, char a, char b);
/* Appends valid UTF-8 without NUL: each invalid byte and each NUL becomes U+FFFD. */
void text_append_valid_utf8(struct buf *b, struct slice s);
/* Writes the escape of a character that is not shown: \n, \t, \r, \xHH or \u{HHHH}, without a NUL.
 * Returns the length of the escape. */
#define TEXT_ESCAPE_MAX 10
size_t text_escape(uint32_t code, char ret[TEXT_ESCAPE_MAX]);
/* Writes the escape \xHH of a byte that is not part of a character. */
size_t text_escape_byte(char byte, char ret[TEXT_ESCAPE_MAX]);
/* Writes text as one line that cannot control a terminal: control characters (C0, DEL, C1), line
 * and paragraph separators, bidirectional overrides and invalid bytes become \n, \t, \xHH or
 * \u{HHHH}. */
void text_append_visible(struct buf *b, struct slice s);
/* Writes a JSON string with its quotes. Invalid bytes become U+FFFD; the characters that
 * text_append_visible() replaces become escapes. */
void text_append_json(struct buf *b, struct slice s);
/* Writes a JSON string truncated to max_chars characters; if the text is longer, "… [+N chars]"
 * follows. */
void text_append_json_truncated(struct buf *b, struct slice s, size_t max_chars);
/* Writes a JSON string of the first max_chars characters, and "…" if the text is longer. Does not
 * read the text beyond these characters. */
void text_append_shortened_json(struct buf *b, struct slice s, size_t max_chars);
/* Writes valid JSON text on one line. The characters that text_append_visible() escapes become JSON
 * escapes; white space becomes blanks, because a raw CR ends a line for some readers. */
void text_append_visible_json(struct buf *b, struct slice valid);
/* Writes the text of an XML attribute or element. Characters that XML forbids are made visible, as
 * by text_append_visible(). */
void text_append_xml(struct buf *b, struct slice text);
/* Appends a visible text in lines of at most `columns`. Each line begins at column `indent`; the
 * first line must already be there. The words of the text are separated by single blanks. A word
 * that is longer than a line is not broken. */
void text_append_wrapped(struct buf *b, struct slice text, size_t indent, size_t columns);
/* Writes a clause as a sentence, with a capital letter and a full stop. */
void text_append_as_sentence(struct buf *b, struct slice clause);
/* Returns the longest prefix of at most max bytes that does not split a character. */
struct slice text_prefix(struct slice s, size_t max);

#endif
