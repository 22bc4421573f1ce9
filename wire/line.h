/* line.h - splits a byte stream into lines, in bounded memory and without copying.
 *
 * Owns      one chunk at a time, of LINE_CHUNK bytes; it grows for a line that does not fit.
 * Units     bytes; a line's length does not include its '\n'.
 * Errors    LINE_TOO_LONG once for each line longer than max_len, as soon as the limit is exceeded,
 *           with the bytes read so far; the rest is discarded, and the next line is read normally.
 *           line_end_too_long_line() does the same for a line for which there is not enough memory.
 * Lifetime  a line points into its chunk. It is valid until the next call on the reader, and as
 *           long as a caller holds the chunk (chunk_add_reference()). The byte after a line may be
 *           written, for a '\n'.
 * Rules     only 0x0A ends a line (mcp-wire.md 1.1).
 * Blocks    never. Pure; independent of JSON. */
#ifndef MI_WIRE_LINE_H
#define MI_WIRE_LINE_H

#include "base/chunk.h"
#include "wire/finding.h"

#define LINE_CHUNK ((size_t)64 << 10)

enum line_result { LINE_READY, LINE_NEED_MORE, LINE_TOO_LONG };

struct line {
    char *p;             /* borrowed; p[n] is writable */
    size_t n;            /* length of the line in bytes, without its '\n' */
    struct chunk *chunk; /* borrowed; the chunk to which `p` points */
};

struct line_reader {
    struct chunk *chunk; /* owned; the current chunk; NULL before the first line_room() */
    /* offset of the first byte that was not returned as a line; head <= scan <= tail <
     * chunk->cap */
    size_t head;
    size_t scan;    /* offset from which the search for the next '\n' continues */
    size_t tail;    /* offset of the byte after the last byte that was read */
    size_t max_len; /* longest line that the reader accepts, in bytes */
    bool skipping;  /* true: the bytes being read belong to a line that was reported as too long */
};

void line_open(struct line_reader *r, size_t max_len);
void line_close(struct line_reader *r); /* safe to call twice */
/* Returns the address to which the caller must read(). *ret_n: number of bytes that fit there, at
 * least 1. NULL: out of memory; call it again later. */
char *line_room(struct line_reader *r, size_t *ret_n);
/* call it after reading n bytes to the address that line_room() returned */
void line_add_filled(struct line_reader *r, size_t n);
MI_MUST enum line_result line_next(struct line_reader *r, struct line *ret);
/* Call it at the end of the stream: returns the bytes after the last '\n', or LINE_NEED_MORE if
 * there are none. */
MI_MUST enum line_result line_take_unfinished_line(struct line_reader *r, struct line *ret);
/* Ends the line being read with LINE_TOO_LONG, whatever its length. Call it after line_room()
 * returned NULL. */
MI_MUST enum line_result line_end_too_long_line(struct line_reader *r, struct line *ret);
/* Puts back the line that line_next() has just returned: the next call of line_next() returns it
 * again. */
void line_put_back_last_line(struct line_reader *r, const struct line *line);
/* Returns how many bytes of the unfinished line were read. */
size_t line_count_partial_bytes(const struct line_reader *r);

/* Returns the line without \r and byte order marks, which some readers reject around a message
 * (mcp-wire.md 7.2). */
struct slice line_strip_cr_bom(struct slice text, findings *found);
/* Whether s is empty or has only white space. */
bool line_is_blank(struct slice s);
/* Returns FIND_CONTENT_LENGTH or FIND_HTTP_OVER_STDIO if the text is a line of another framing,
 * else 0. *http: whether the stream has had a line of HTTP; then Content-Length is a header of
 * HTTP, not the framing of LSP. */
findings line_find_other_framing(struct slice text, bool *http);

#endif
