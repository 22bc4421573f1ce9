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

/* false: the descriptor is not ready in time. */
static bool await(int fd, short events, int64_t until_us)
{
    struct pollfd p = {.fd = fd, .events = events};
    int n;
    do {
        int64_t left_us = until_us - clock_mono_us();
        n = left_us > 0 ? poll(&p, 1, (int)(left_us / 1000) + 1) : 0;
    } while (n < 0 && errno == EINTR);
    return n > 0;
}

/* A pipe that is ready takes PIPE_BUF bytes; more would block. */
static void write_until(struct slice s, int64_t until_us)
{
    while (s.n > 0 && await(STDOUT_FILENO, POLLOUT, until_us)) {
        ssize_t n = write(STDOUT_FILENO, s.p, size_min(s.n, PIPE_BUF));
        if (n < 0 && errno != EAGAIN && errno != EINTR)
            return;
        s.p += n > 0 ? n : 0;
        s.n -= n > 0 ? (size_t)n : 0;
    }
}

static void answer(const struct rpc *m, const char *why, int64_t until_us)
{
    struct buf b = {0}, text = {0};
    buf_adds(&text, "mcp-interposer did not start the server: ");
    buf_slice_add(&text, redact_log_filter(NULL, slice_of(why)));
    struct reply r = {
        .id = m->id.text,
        .code = rpc_is_modern(m) ? REPLY_SERVER_GONE_MODERN : REPLY_SERVER_GONE,
        .message = buf_str(&text),
        .cause = "not-started",
        .method = m->method,
        .target = rpc_target(m),
    };
    reply_write(&b, &r);
    buf_addc(&b, '\n');
    if (!b.failed && !text.failed)
        write_until(buf_slice(&b), until_us);
    buf_close(&b);
    buf_close(&text);
}

/* true: it was a request, and is answered. */
static bool take_line(struct slice line, const char *why, int64_t until_us)
{
    struct rpc m;
    if (rpc_read(line, &m) < 0 || m.kind != RPC_REQUEST)
        return false;
    answer(&m, why, until_us);
    return true;
}

static bool take_lines(struct line_reader *r, bool at_end, const char *why, int64_t until_us)
{
    struct line line;
    enum line_result found;
    while ((found = line_next(r, &line)) != LINE_NEED_MORE)
        if (found == LINE_READY && take_line((struct slice){line.p, line.n}, why, until_us))
            return true;
    return at_end && line_last(r, &line) == LINE_READY &&
           take_line((struct slice){line.p, line.n}, why, until_us);
}

void proxy_refuse(const char *why)
{
    int64_t until_us = clock_mono_us() + PROXY_REFUSE_MS * INT64_C(1000);
    struct line_reader r;
    bool done = isatty(STDIN_FILENO) == 1;
    signal(SIGPIPE, SIG_IGN);
    line_open(&r, PROXY_REFUSE_LINE);
    while (!done && await(STDIN_FILENO, POLLIN, until_us)) {
        size_t room;
        char *to = line_room(&r, &room);
        if (to == NULL)
            break; /* out of memory: there is none for an answer either */
        ssize_t n = read(STDIN_FILENO, to, room);
        if (n < 0 && (errno == EINTR || errno == EAGAIN))
            continue;
        line_filled(&r, n > 0 ? (size_t)n : 0);
        done = take_lines(&r, n <= 0, why, until_us) || n <= 0;
    }
    line_close(&r);
}
