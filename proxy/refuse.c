#include "proxy/refuse.h"

#include "base/clock.h"
#include "proxy/session/reply.h"
#include "redact/sanitizer.h"
#include "wire/line.h"
#include "wire/rpc.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#define NEVER INT64_MAX

static int64_t refusal_deadline_us(void)
{
    return clock_mono_us() + PROXY_REFUSE_MS * INT64_C(1000);
}

/* Returns false if the descriptor is not ready in time. */
static bool wait_until_descriptor_ready(int fd, short events, int64_t until_us)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;
    do {
        int64_t left_us = until_us - clock_mono_us();
        int wait_ms = until_us == NEVER ? -1 : (int)(left_us / 1000) + 1;
        n = left_us > 0 ? poll(&p, 1, wait_ms) : 0;
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

/* Writes in pieces, because a pipe that is ready takes PIPE_BUF bytes; a longer write would block.
 * Returns false if the client does not read. */
static bool write_all_before_deadline(struct slice s)
{
    int64_t until_us = refusal_deadline_us();
    while (s.n > 0 && wait_until_descriptor_ready(STDOUT_FILENO, POLLOUT, until_us)) {
        ssize_t n = write(STDOUT_FILENO, s.p, size_min(s.n, PIPE_BUF));
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return false;
        s.p += n > 0 ? n : 0;
        s.n -= n > 0 ? (size_t)n : 0;
    }
    return s.n == 0;
}

/* Answers a request with an error. Returns false if writing failed, or if out of memory. */
static bool refuse_request(const struct rpc *m, const char *why)
{
    struct buf b = {0}, text = {0};
    buf_adds(&text, "mcp-interposer did not start the server: ");
    buf_slice_add(&text, redact_filter_log_line(NULL, slice_of(why)));
    struct reply r = {
        .id = m->id.text,
        .code = rpc_is_modern(m) ? REPLY_SERVER_GONE_MODERN : RPC_SERVER_GONE,
        .message = buf_str(&text),
        .cause = "not-started",
        .method = m->method,
        .target = rpc_target(m),
    };
    reply_write(&b, &r);
    buf_addc(&b, '\n');
    bool good = !b.failed && !text.failed && write_all_before_deadline(buf_slice(&b));
    buf_close(&b);
    buf_close(&text);
    return good;
}

/* State of the connection to the client. */
struct client {
    struct line_reader lines;
    const char *why; /* the reason, which is in every answer */
    bool asked;      /* the client has sent a request */
    bool gone;       /* the answer could not be written */
};

static void refuse_line_if_request(struct client *c, const struct line *line)
{
    struct rpc m;
    if (c->gone || rpc_read((struct slice){line->p, line->n}, &m) < 0 || m.kind != RPC_REQUEST)
        return;
    c->asked = true;
    c->gone = !refuse_request(&m, c->why);
}

void proxy_refuse_requests(const char *why)
{
    struct client c = {.why = why};
    int64_t first_until_us = refusal_deadline_us();
    bool ended = isatty(STDIN_FILENO) == 1;
    signal(SIGPIPE, SIG_IGN);
    line_open(&c.lines, PROXY_REFUSE_LINE);
    while (!ended && !c.gone &&
           wait_until_descriptor_ready(STDIN_FILENO, POLLIN, c.asked ? NEVER : first_until_us)) {
        size_t room;
        char *to = line_room(&c.lines, &room);
        if (to == NULL)
            break; /* no memory to read a request, and none to answer it */
        ssize_t n = read(STDIN_FILENO, to, room);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        ended = n <= 0;
        line_add_filled(&c.lines, n > 0 ? (size_t)n : 0);
        struct line line;
        enum line_result found;
        while ((found = line_next(&c.lines, &line)) != LINE_NEED_MORE)
            if (found == LINE_READY)
                refuse_line_if_request(&c, &line);
        if (ended && line_take_unfinished_line(&c.lines, &line) == LINE_READY)
            refuse_line_if_request(&c, &line);
    }
    line_close(&c.lines);
}
