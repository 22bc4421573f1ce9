/* redact_stream.h - sanitizes a stream of log bytes line by line, without delaying prompts.
 *
 * A secret may arrive in two reads, so a line is output only when it is complete. A prompt has no
 * newline: after a pause, the complete words of the unfinished line are output. When the rest
 * arrives, the whole line is sanitized again, and only its new part is output.
 *
 * Owns      the unfinished line, up to REDACT_STREAM_MAX bytes; a longer line is output in parts.
 * Errors    if out of memory, text is dropped rather than output unsanitized, and `failed` is set.
 * Blocks    never. Pure: no clock; the caller decides when a pause was long enough. */
#ifndef MI_REDACT_REDACT_STREAM_H
#define MI_REDACT_REDACT_STREAM_H

#include "redact/sanitizer.h"

#define REDACT_STREAM_MAX ((size_t)16 << 10)

struct redact_stream {
    struct redact_lines lines;
    struct buf line;  /* owned: the unfinished line as received */
    struct buf shown; /* owned: what was output of the unfinished line so far */
    struct buf clean; /* owned: scratch */
    bool failed;
};

void redact_stream_close(struct redact_stream *s);
/* Takes bytes, and appends the text that can be output now to `out`. */
void redact_stream_feed(struct redact_stream *s, struct slice bytes, struct buf *out);
/* Whether a line is unfinished. */
bool redact_stream_has_partial_line(const struct redact_stream *s);
/* Call this function after a pause: appends the complete words of the unfinished line to `out`. */
void redact_stream_pause(struct redact_stream *s, struct buf *out);
/* Call this function at the end of the stream: appends the rest to `out`. */
void redact_stream_end(struct redact_stream *s, struct buf *out);

#endif
