#include "cli/mcp/inbox.h"

#include "wire/json/text.h"
#include "wire/rpc.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <unistd.h>

#define HEAD_MAX ((size_t)64 << 10) /* maximum number of bytes kept of a line that is too long */

void inbox_open(struct inbox *b, int fd, size_t max_line)
{
    *b = (struct inbox){.fd = fd};
    b->last = &b->first;
    line_open(&b->reader, max_line);
}

static struct inbox_line *inbox_take_first_line(struct inbox *b)
{
    struct inbox_line *l = b->first;
    b->first = l->next;
    b->last = b->first == NULL ? &b->first : b->last;
    b->lines--;
    b->bytes -= l->n;
    return l;
}

void inbox_close(struct inbox *b)
{
    while (b->first != NULL)
        free(inbox_take_first_line(b));
    line_close(&b->reader);
    chunk_free_spare_memory();
}

static bool inbox_add(struct inbox *b, const struct line *line, bool too_long)
{
    size_t n = too_long ? size_min(line->n, HEAD_MAX) : line->n;
    struct inbox_line *l = malloc(sizeof *l + n);
    if (l == NULL) {
        b->failed = true;
        return false;
    }
    *l = (struct inbox_line){.too_long = too_long, .n = n};
    memcpy(l->text, line->p, n);
    *b->last = l;
    b->last = &l->next;
    b->lines++;
    b->bytes += n;
    return true;
}

static bool inbox_is_full(const struct inbox *b)
{
    return b->lines >= INBOX_LINES || b->bytes >= INBOX_BYTES || b->failed;
}

/* Moves complete lines from the reader to the list, as long as there is room. */
static void inbox_take_lines(struct inbox *b)
{
    struct line line;
    enum line_result got;
    while (!inbox_is_full(b) && (got = line_next(&b->reader, &line)) != LINE_NEED_MORE)
        if (!inbox_add(b, &line, got == LINE_TOO_LONG))
            return;
    if (!inbox_is_full(b) && b->ended &&
        (got = line_take_unfinished_line(&b->reader, &line)) != LINE_NEED_MORE)
        (void)inbox_add(b, &line, got == LINE_TOO_LONG);
}

/* Reads once. */
static void inbox_fill(struct inbox *b)
{
    size_t room;
    char *to = line_room(&b->reader, &room);
    if (to == NULL) {
        b->failed = true;
        return;
    }
    ssize_t n = read(b->fd, to, room);
    if (n > 0)
        line_add_filled(&b->reader, (size_t)n);
    else if (n == 0 || (errno != EINTR && errno != EAGAIN))
        b->ended = true;
    inbox_take_lines(b);
}

static bool inbox_wait_until_readable(const struct inbox *b, int timeout_ms)
{
    struct pollfd p = {.fd = b->fd, .events = POLLIN};
    return poll(&p, 1, timeout_ms) > 0;
}

int inbox_read_next_line(struct inbox *b, struct inbox_line **ret)
{
    inbox_take_lines(b);
    while (b->first == NULL && !b->ended && !b->failed)
        if (inbox_wait_until_readable(b, -1))
            inbox_fill(b);
    if (b->first == NULL)
        return b->failed ? MI_ENOMEM : MI_ENOENT;
    *ret = inbox_take_first_line(b);
    return 0;
}

static bool line_cancels_request(const struct inbox_line *l, struct json_value id)
{
    struct rpc m;
    return !l->too_long && rpc_read((struct slice){l->text, l->n}, &m) == 0 &&
           m.kind == RPC_NOTIFICATION && rpc_method_is(&m, "notifications/cancelled") &&
           json_equal(m.request_id, id);
}

bool inbox_is_cancelled(struct inbox *b, struct json_value id)
{
    while (!inbox_is_full(b) && !b->ended && inbox_wait_until_readable(b, 0))
        inbox_fill(b);
    for (const struct inbox_line *l = b->first; l != NULL; l = l->next)
        if (line_cancels_request(l, id))
            return true;
    return false;
}
