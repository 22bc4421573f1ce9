/* line.h - cut a byte stream into newline-ended lines, in bounded memory and without copying.
 *
 * Owns      one chunk at a time, of LINE_CHUNK bytes; it grows for a line that does not fit.
 * Units     bytes; a line's length does not count its '\n'.
 * Errors    LINE_TOO_LONG once per line over max_len, as soon as it is over, with the bytes that are
 *           there; the rest is dropped, the next line reads normally. line_give_up() does the same
 *           to a line for which there is no memory.
 * Lifetime  a line lies in its chunk. It is good until the next call on the reader, and for as long as
 *           somebody else holds the chunk (chunk_hold). The byte behind a line belongs to it: a
 *           caller may write the '\n' there that the line is to end with.
 * Rules     only 0x0A ends a line (mcp-wire.md 1.1).
 * Blocks    never. No I/O, and no knowledge of JSON. */
#ifndef MI_WIRE_LINE_H
#define MI_WIRE_LINE_H

#include "base/chunk.h"

#define LINE_CHUNK ((size_t)64 << 10)

enum line_result { LINE_READY, LINE_NEED_MORE, LINE_TOO_LONG };

struct line {
    char *p;             /* borrowed; p[n] is writable */
    size_t n;            /* bytes, without '\n' */
    struct chunk *chunk; /* borrowed; where p lies */
};

struct line_reader {
    struct chunk *chunk; /* owned; NULL before the first line_room() */
    size_t head;         /* first byte not handed out; head <= scan <= tail < chunk->cap */
    size_t scan;         /* first byte not searched for '\n' */
    size_t tail;         /* one past the last byte read */
    size_t max_len;      /* longest line accepted */
    bool skipping;       /* inside a line already told of as too long */
};

void line_open(struct line_reader *r, size_t max_len);
void line_close(struct line_reader *r); /* safe to call twice */
/* Where to read() into, and how much fits (at least 1). NULL: no memory now; try again later. */
char *line_room(struct line_reader *r, size_t *ret_n);
void line_filled(struct line_reader *r, size_t n); /* n bytes were read there */
MI_MUST enum line_result line_next(struct line_reader *r, struct line *ret);
/* At the end of the stream: what stands behind the last '\n'. LINE_NEED_MORE: nothing does. */
MI_MUST enum line_result line_last(struct line_reader *r, struct line *ret);
/* LINE_TOO_LONG for the line that is being read, whatever its length: line_room() had no memory. */
MI_MUST enum line_result line_give_up(struct line_reader *r, struct line *ret);
/* Bytes of a line that has not ended yet. */
size_t line_partial(const struct line_reader *r);

#endif
