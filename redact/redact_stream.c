#include "redact/redact_stream.h"

void redact_stream_close(struct redact_stream *s)
{
    buf_close(&s->line);
    buf_close(&s->shown);
    buf_close(&s->clean);
    *s = (struct redact_stream){0};
}

/* Sanitizes `text`, and outputs the result without the part that was already output. */
static void stream_output_new_part(struct redact_stream *s, struct slice text, struct buf *out)
{
    struct slice seen = buf_slice(&s->shown);
    if (text.n >= seen.n && memcmp(text.p, seen.p, seen.n) == 0) {
        text.p += seen.n;
        text.n -= seen.n;
    } else {
        /* The rest of the line has changed how the beginning is sanitized, and output cannot be
         * taken back: output the text again from its beginning, as a new line. */
        buf_addc(out, '\n');
    }
    buf_slice_add(out, text);
}

static void redact_and_output_line(struct redact_stream *s, struct slice line, bool ended,
                                   struct buf *out)
{
    struct redact *r = redact_get_current_sanitizer();
    size_t n = 0;
    if (r == NULL || s->line.failed || redact_line(r, &s->lines, line, &s->clean, &n) < 0)
        s->failed = true;
    else
        stream_output_new_part(s, n > 0 ? buf_slice(&s->clean) : line, out);
    if (ended)
        buf_addc(out, '\n');
    buf_clear(&s->shown);
}

/* Outputs the complete words of a line that exceeds the limit. */
static void stream_output_whole_words(struct redact_stream *s, struct buf *out)
{
    struct slice text = buf_slice(&s->line);
    size_t n = find_end_of_whole_words(text, REDACT_WORD_MAX);
    if (n == 0)
        n = text.n;
    redact_and_output_line(s, (struct slice){text.p, n}, false, out);
    memmove(s->line.p, s->line.p + n, text.n - n);
    s->line.n = text.n - n;
}

void redact_stream_feed(struct redact_stream *s, struct slice bytes, struct buf *out)
{
    while (bytes.n > 0) {
        const char *end = memchr(bytes.p, '\n', bytes.n);
        size_t n = end != NULL ? (size_t)(end - bytes.p) : bytes.n;
        size_t room = REDACT_STREAM_MAX - s->line.n;
        bool ended = end != NULL && n <= room;
        n = size_min(n, room);
        if (ended && s->line.n == 0) {
            redact_and_output_line(s, (struct slice){bytes.p, n}, true, out);
        } else {
            buf_add(&s->line, bytes.p, n);
            if (ended)
                redact_and_output_line(s, buf_slice(&s->line), true, out);
            else if (s->line.n >= REDACT_STREAM_MAX)
                stream_output_whole_words(s, out);
        }
        if (ended || s->line.failed)
            buf_clear(&s->line);
        bytes.p += n + ended;
        bytes.n -= n + ended;
    }
}

bool redact_stream_has_partial_line(const struct redact_stream *s)
{
    return s->line.n > 0;
}

void redact_stream_pause(struct redact_stream *s, struct buf *out)
{
    struct redact *r = redact_get_current_sanitizer();
    struct slice line = buf_slice(&s->line), head = line;
    size_t n = 0;
    head.n = find_end_of_whole_words(line, SIZE_MAX);
    if (r == NULL || head.n == 0)
        return;
    if (s->lines.in_key > 0 || memmem(line.p, line.n, "-----BEGIN ", 11) != NULL)
        return; /* the line may be part of a private key */
    if (redact_text(r, head, &s->clean, &n) < 0)
        return;
    if (n > 0)
        head = buf_slice(&s->clean);
    if (head.n <= s->shown.n || memcmp(head.p, buf_slice(&s->shown).p, s->shown.n) != 0)
        return;
    stream_output_new_part(s, head, out);
    buf_clear(&s->shown);
    buf_slice_add(&s->shown, head);
}

void redact_stream_end(struct redact_stream *s, struct buf *out)
{
    if (s->line.n > 0)
        redact_and_output_line(s, buf_slice(&s->line), false, out);
    buf_clear(&s->line);
}
