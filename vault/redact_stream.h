/* redact_stream.h - bytes of a log on their way to a person: sanitized by lines, and never late.
 *
 * A secret may come in two reads, so a line is passed on when it has ended. What asks and waits for an
 * answer ends no line: after a pause the head of the line goes out as well, up to where a word may still be
 * growing. When the rest comes, the whole line is looked at again, and what was shown is not repeated.
 *
 * Owns      the line that has not ended: REDACT_STREAM_MAX bytes at most, then a part of it goes as a line.
 * Errors    without memory text is left out, never shown as it is; `failed` says so.
 * Blocks    never. Pure: no clock; who feeds it knows when a pause was long enough. */
#ifndef MI_VAULT_REDACT_STREAM_H
#define MI_VAULT_REDACT_STREAM_H

#include "vault/redact.h"

#define REDACT_STREAM_MAX ((size_t)16 << 10)

struct redact_stream {
    struct redact_lines lines;
    struct buf line;  /* owned: as it came */
    struct buf shown; /* owned: what was passed on of it */
    struct buf clean; /* owned: scratch */
    bool failed;
};

void redact_stream_close(struct redact_stream *s);
/* Appends to `out` what may be shown now. */
void redact_stream_feed(struct redact_stream *s, struct slice bytes, struct buf *out);
bool redact_stream_waits(const struct redact_stream *s); /* for the end of a line */
/* Nothing came for a while. */
void redact_stream_pause(struct redact_stream *s, struct buf *out);
/* Nothing comes any more. */
void redact_stream_end(struct redact_stream *s, struct buf *out);

#endif
