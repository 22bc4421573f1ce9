#include "wire/line.h"

#include <assert.h>

#define LINE_PAGE 4096

void line_open(struct line_reader *r, size_t max_len)
{
    *r = (struct line_reader){.max_len = max_len};
}

void line_close(struct line_reader *r)
{
    chunk_release(r->chunk);
    r->chunk = NULL;
    r->head = r->scan = r->tail = 0;
}

static bool chunk_is_large(const struct line_reader *r)
{
    return r->chunk->cap >= CHUNK_LARGE;
}

/* Moves the partial line of a large chunk so that the address of the next byte to read is the start
 * of a page. The next byte is also the first byte of a page of the pipe, and the kernel copies such
 * a page up to three times as fast to the start of a page as to an address 1 to 31 bytes after it
 * (AMD Zen 3, `rep movsb`). The alignment remains as long as whole pages are read, even when the
 * chunk grows. */
static void align_tail_to_page(struct line_reader *r)
{
    char *at = r->chunk->data + r->head;
    size_t n = LINE_PAGE - (uintptr_t)(r->chunk->data + r->tail) % LINE_PAGE;
    if (n == LINE_PAGE || !chunk_is_large(r))
        return;
    memmove(at + n, at, r->tail - r->head);
    r->head += n;
    r->scan += n;
    r->tail += n;
}

/* Makes room after the partial line [head, tail). If the chunk has no other holder, it is reused.
 * Otherwise the partial line is copied to a new chunk, and the other holders keep the old chunk. */
static bool make_room_in_chunk(struct line_reader *r)
{
    size_t part = r->tail - r->head;
    if (r->chunk->refs == 1 && part <= r->chunk->cap / 2) {
        memmove(r->chunk->data, r->chunk->data + r->head, part);
    } else if (r->chunk->refs == 1 && r->head <= r->chunk->cap / 4) {
        if (chunk_grow(&r->chunk, r->chunk->cap * 2) < 0)
            return false;
        align_tail_to_page(r);
        return true;
    } else {
        size_t cap = LINE_CHUNK;
        while (cap < part * 2)
            cap *= 2;
        struct chunk *c = chunk_new(cap);
        if (c == NULL)
            return false;
        memcpy(c->data, r->chunk->data + r->head, part);
        chunk_release(r->chunk);
        r->chunk = c;
    }
    r->scan -= r->head;
    r->head = 0;
    r->tail = part;
    align_tail_to_page(r);
    return true;
}

/* Releases a chunk that grew for a long line, after the line was returned. The chunk's last holder
 * frees it. */
static void release_long_chunk(struct line_reader *r)
{
    if (r->chunk != NULL && r->head == r->tail && r->chunk->cap > LINE_CHUNK)
        line_close(r);
}

char *line_room(struct line_reader *r, size_t *ret_n)
{
    release_long_chunk(r);
    if (r->chunk == NULL) {
        r->chunk = chunk_new(LINE_CHUNK);
        if (r->chunk == NULL)
            return NULL;
    }
    if (r->head == r->tail && r->chunk->refs == 1)
        r->head = r->scan = r->tail = 0;
    /* One byte after the data stays free: if the last line has no '\n', the caller can write one
     * there. */
    if (r->chunk->cap - r->tail <= (chunk_is_large(r) ? LINE_PAGE : 1) && !make_room_in_chunk(r))
        return NULL;
    char *to = r->chunk->data + r->tail;
    *ret_n = r->chunk->cap - r->tail - 1;
    if (chunk_is_large(r))
        *ret_n -= (uintptr_t)(to + *ret_n) % LINE_PAGE;
    return to;
}

void line_add_filled(struct line_reader *r, size_t n)
{
    assert(n < r->chunk->cap - r->tail);
    r->tail += n;
}

/* Reports a line over the limit, with the bytes read so far. The rest of the line is discarded when
 * it arrives. */
static enum line_result return_too_long_line(struct line_reader *r, const char *nl,
                                             struct line *ret)
{
    size_t end = nl != NULL ? (size_t)(nl - r->chunk->data) : r->tail;
    *ret = (struct line){.p = r->chunk->data + r->head, .n = end - r->head, .chunk = r->chunk};
    r->skipping = nl == NULL;
    r->head = r->scan = nl != NULL ? end + 1 : end;
    return LINE_TOO_LONG;
}

enum line_result line_next(struct line_reader *r, struct line *ret)
{
    while (r->scan < r->tail) {
        char *nl = memchr(r->chunk->data + r->scan, '\n', r->tail - r->scan);
        size_t len = (nl != NULL ? (size_t)(nl - r->chunk->data) : r->tail) - r->head;
        if (r->skipping) { /* the bytes belong to a line that was reported as too long */
            r->skipping = nl == NULL;
            r->head = r->scan = r->head + len + (nl != NULL ? 1 : 0);
            continue;
        }
        if (len > r->max_len)
            return return_too_long_line(r, nl, ret);
        if (nl == NULL) {
            r->scan = r->tail;
            break;
        }
        *ret = (struct line){.p = r->chunk->data + r->head, .n = len, .chunk = r->chunk};
        r->head = r->scan = r->head + len + 1;
        return LINE_READY;
    }
    release_long_chunk(r);
    return LINE_NEED_MORE;
}

enum line_result line_take_unfinished_line(struct line_reader *r, struct line *ret)
{
    size_t len = r->tail - r->head;
    bool skipping = r->skipping;
    /* a line that is too long ends here, because the caller may continue with another stream */
    r->skipping = false;
    if (len > 0 && !skipping)
        *ret = (struct line){.p = r->chunk->data + r->head, .n = len, .chunk = r->chunk};
    r->head = r->scan = r->tail;
    return len > 0 && !skipping ? LINE_READY : LINE_NEED_MORE;
}

enum line_result line_end_too_long_line(struct line_reader *r, struct line *ret)
{
    if (line_count_partial_bytes(r) == 0 || r->skipping)
        return LINE_NEED_MORE;
    return return_too_long_line(r, NULL, ret);
}

void line_put_back_last_line(struct line_reader *r, const struct line *line)
{
    r->head = (size_t)(line->p - r->chunk->data);
    r->scan = r->head + line->n;
}

size_t line_count_partial_bytes(const struct line_reader *r)
{
    return r->tail - r->head;
}

struct slice line_strip_cr_bom(struct slice text, findings *found)
{
    if (text.n > 0 && text.p[text.n - 1] == '\r') {
        text.n--;
        *found |= FINDING(FIND_CRLF);
    }
    while (slice_begins(text, "\xEF\xBB\xBF")) {
        text.p += 3;
        text.n -= 3;
        *found |= FINDING(FIND_BOM);
    }
    return text;
}

bool line_is_blank(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
            return false;
    return true;
}

/* Whether the line begins a response or a request of HTTP, such as "HTTP/1.1 400 Bad Request",
 * "POST /mcp HTTP/1.1" or "PRI * HTTP/2.0". */
static bool line_is_http(struct slice s)
{
    static const char before[] = " HTTP/";
    size_t before_n = sizeof before - 1, method_n = 0, last = s.n;
    if (slice_begins(s, before + 1))
        return s.n > 5 && s.p[5] >= '1' && s.p[5] <= '9' && memchr(s.p, ' ', s.n) != NULL;
    while (method_n < s.n && s.p[method_n] >= 'A' && s.p[method_n] <= 'Z')
        method_n++;
    while (last > method_n &&
           (s.p[last - 1] == '.' || (s.p[last - 1] >= '0' && s.p[last - 1] <= '9')))
        last--;
    if (method_n == 0 || last == s.n || s.p[method_n] != ' ' || last < method_n + before_n + 2 ||
        memcmp(s.p + last - before_n, before, before_n) != 0)
        return false;
    /* offset of the request's target, which must not contain a blank */
    size_t target = method_n + 1;
    return memchr(s.p + target, ' ', last - before_n - target) == NULL;
}

findings line_find_other_framing(struct slice text, bool *http)
{
    if (!*http && slice_begins(text, "Content-Length:"))
        return FINDING(FIND_CONTENT_LENGTH);
    if (!line_is_http(text))
        return 0;
    *http = true;
    return FINDING(FIND_HTTP_OVER_STDIO);
}
