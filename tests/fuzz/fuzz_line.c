/* Any stream, split anywhere: the reader returns exactly the lines between the newlines.
 *
 * The input describes a stream that is long enough to cross chunks: byte 0 selects the limit of a line,
 * byte 1 seeds the splits, then a byte below 0x80 is copied and any other byte becomes a run of
 * letters. */
#include "wire/line.h"

#include "tests/fuzz/fuzz.h"

#define STREAM_MAX ((size_t)1 << 20)

static const size_t runs[] = {1,
                              2,
                              15,
                              16,
                              100,
                              4095,
                              4096,
                              20000,
                              32767,
                              32768,
                              LINE_CHUNK - 2,
                              LINE_CHUNK - 1,
                              LINE_CHUNK,
                              LINE_CHUNK + 1,
                              100000,
                              200000};
static const size_t limits[] = {
    0,      1,         5, 100, 4096, LINE_CHUNK - 2, LINE_CHUNK - 1, LINE_CHUNK, LINE_CHUNK + 1,
    150000, STREAM_MAX};

static char stream[STREAM_MAX];

static size_t cook(const uint8_t *data, size_t size)
{
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        size_t run = data[i] < 0x80 ? 1 : runs[data[i] % MI_COUNT(runs)];
        if (run > STREAM_MAX - n)
            break;
        memset(stream + n, data[i] < 0x80 ? data[i] : 'a' + data[i] % 26, run);
        n += run;
    }
    return n;
}

struct split {
    uint64_t random;
    struct {
        struct line line;
        char first;
    } held[8]; /* some lines are kept while others are read, as a queue of unsent bytes does */
};

static size_t random_below(struct split *s, size_t below)
{
    s->random ^= s->random << 13;
    s->random ^= s->random >> 7;
    s->random ^= s->random << 17;
    return (size_t)(s->random >> 11) % below;
}

static void hold(struct split *s, const struct line *line)
{
    size_t i = random_below(s, MI_COUNT(s->held));
    if (line->n == 0 || random_below(s, 3) != 0)
        return;
    if (s->held[i].line.chunk != NULL) {
        MUST(s->held[i].line.p[0] == s->held[i].first);
        chunk_release(s->held[i].line.chunk);
    }
    s->held[i].line = *line;
    s->held[i].first = line->p[0];
    chunk_add_reference(line->chunk);
    line->p[line->n] = '\n'; /* the byte after a line belongs to it */
}

/* The offset of the next expected line in the stream. */
struct expected {
    size_t at, n, max_len;
};

/* The line must be the next expected one: complete, or the head of a line that is too long. */
static void expect(struct expected *e, const struct line *line, bool too_long)
{
    MUST(e->at < e->n);
    const char *nl = memchr(stream + e->at, '\n', e->n - e->at);
    size_t len = nl != NULL ? (size_t)(nl - stream) - e->at : e->n - e->at;
    MUST(too_long == (len > e->max_len));
    MUST(too_long ? line->n > e->max_len && line->n <= len : line->n == len);
    MUST(memcmp(line->p, stream + e->at, line->n) == 0);
    MUST(line->p >= line->chunk->data && line->p + line->n < line->chunk->data + line->chunk->cap);
    e->at += len + (nl != NULL);
}

static void run(size_t n, size_t max_len, uint64_t seed, size_t most)
{
    struct split s = {.random = seed};
    struct expected e = {.n = n, .max_len = max_len};
    struct line_reader r;
    struct line line;
    enum line_result got;
    chunk_free_spare_memory(); /* the large chunk of a run with another limit */
    line_open(&r, max_len);
    for (size_t fed = 0; fed < n;) {
        size_t room;
        char *to = line_room(&r, &room);
        MUST(to != NULL && room > 0);
        /* memory is bounded by a chunk, or four times the line: room for twice of it, as a power of two */
        MUST(r.chunk->cap <= 4 * (max_len + 2) + 2 * LINE_CHUNK);
        size_t some = size_min(1 + random_below(&s, most), size_min(room, n - fed));
        memcpy(to, stream + fed, some);
        line_add_filled(&r, some);
        fed += some;
        while ((got = line_next(&r, &line)) != LINE_NEED_MORE) {
            expect(&e, &line, got == LINE_TOO_LONG);
            if (got == LINE_READY)
                hold(&s, &line);
        }
        MUST(line_count_partial_bytes(&r) <= max_len);
    }
    if (line_take_unfinished_line(&r, &line) == LINE_READY)
        expect(&e, &line, false);
    MUST(e.at >= n); /* nothing is left over */
    MUST(line_take_unfinished_line(&r, &line) == LINE_NEED_MORE);
    for (size_t i = 0; i < MI_COUNT(s.held); i++)
        chunk_release(s.held[i].line.chunk);
    line_close(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    size_t max_len = limits[data[0] % MI_COUNT(limits)];
    size_t n = cook(data + 2, size - 2);
    run(n, max_len, 1 + data[1], STREAM_MAX);
    run(n, max_len, 1 + data[1], 1 + n / 8);
    run(n, max_len, 0x9E3779B97F4A7C15u + data[1], 2 * LINE_CHUNK);
    if (n < 20000)
        run(n, max_len, 77 + data[1], 3);
    return 0;
}
