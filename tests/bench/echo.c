/* echo.c - the bare server of the benchmark.
 *
 *     echo [--flood COUNT SIZE | --answer SIZE]
 *
 * Answers initialize, and each request of load.c: with the request's text (lines.h has the
 * formats), or with --answer with another text, so that the answer has SIZE bytes. With --flood it
 * also sends COUNT notifications of SIZE bytes after notifications/initialized. It must not be the
 * slowest part of the chain, so it accepts only the spellings of load.c. It exits with status 1 at
 * any other line, which detects a changed byte of the envelope.
 *
 * Owns    the input buffer, which grows to the longest line, and one output buffer.
 * Blocks  in read() and write(); the client reads while it writes. */
#include "tests/bench/lines.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define MAX_LINE ((size_t)256 << 20)
#define MAX_ID 64
#define COPY_MAX ((size_t)32 << 10) /* longer texts are written directly from the input buffer */

static char out[256 << 10];
static size_t out_len;
static size_t answer_size; /* --answer; 0: the size of the request */
static char *answer_text;  /* --answer: the longest text that is needed */

static void die(const char *what, const char *line, size_t len)
{
    int n = len < 200 ? (int)len : 200;
    fprintf(stderr, "echo: %s: %.*s\n", what, n, line);
    exit(1);
}

static void write_all(struct iovec *v, int n)
{
    while (n > 0) {
        ssize_t done = writev(STDOUT_FILENO, v, n);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            die("cannot write", strerror(errno), strlen(strerror(errno)));
        size_t left = (size_t)done;
        while (n > 0 && left >= v->iov_len) {
            left -= v->iov_len;
            v++;
            n--;
        }
        if (n > 0) {
            v->iov_base = (char *)v->iov_base + left;
            v->iov_len -= left;
        }
    }
}

static void out_flush(void)
{
    struct iovec v = {out, out_len};
    if (out_len > 0)
        write_all(&v, 1);
    out_len = 0;
}

static void out_add(const char *p, size_t n)
{
    if (n > sizeof out - out_len)
        out_flush();
    memcpy(out + out_len, p, n); /* n is at most COPY_MAX plus a head */
    out_len += n;
}

static bool starts(const char *p, size_t n, const char *with, size_t with_len)
{
    return n >= with_len && memcmp(p, with, with_len) == 0;
}

/* Answers the request in `line`, which starts with REQUEST_HEAD. len counts its newline. */
static void answer(char *line, size_t len)
{
    char *id = line + LEN(REQUEST_HEAD);
    char *end = line + len;
    char *comma = memchr(id, ',', len - LEN(REQUEST_HEAD));
    if (comma == NULL || comma - id > MAX_ID ||
        !starts(comma, (size_t)(end - comma), REQUEST_TEXT, LEN(REQUEST_TEXT)) ||
        (size_t)(end - comma) < LEN(REQUEST_TEXT REQUEST_END) ||
        memcmp(end - LEN(REQUEST_END), REQUEST_END, LEN(REQUEST_END)) != 0)
        die("not a request of load", line, len);

    char *text = comma + LEN(REQUEST_TEXT);
    size_t text_len = (size_t)(end - text) - LEN(REQUEST_END);
    if (answer_size > 0) {
        text = answer_text;
        text_len = answer_size - LEN(ANSWER_HEAD ANSWER_TEXT ANSWER_END) - (size_t)(comma - id);
    }
    out_add(ANSWER_HEAD, LEN(ANSWER_HEAD));
    out_add(id, (size_t)(comma - id));
    out_add(ANSWER_TEXT, LEN(ANSWER_TEXT));
    if (text_len <= COPY_MAX) {
        out_add(text, text_len);
    } else {
        struct iovec v[] = {{out, out_len}, {text, text_len}};
        out_len = 0;
        write_all(v, 2);
    }
    out_add(ANSWER_END, LEN(ANSWER_END));
}

static void flood(size_t count, size_t size)
{
    if (count == 0)
        return;
    char *line = malloc(size);
    if (line == NULL)
        die("no memory", "", 0);
    memset(line, 'x', size);
    memcpy(line, FLOOD_HEAD, LEN(FLOOD_HEAD));
    memcpy(line + size - LEN(FLOOD_END), FLOOD_END, LEN(FLOOD_END));
    line[LEN(FLOOD_HEAD) + FLOOD_DIGITS] = ' ';
    for (size_t i = 0; i < count; i++) {
        size_t left = i;
        for (size_t d = FLOOD_DIGITS; d-- > 0; left /= 10)
            line[LEN(FLOOD_HEAD) + d] = (char)('0' + left % 10);
        out_add(line, size);
    }
    free(line);
}

static bool set_answer(size_t size)
{
    if (size < ANSWER_MIN_SIZE || size > ANSWER_MAX_SIZE)
        return false;
    answer_size = size;
    answer_text = malloc(size);
    if (answer_text == NULL)
        die("no memory", "", 0);
    lines_fill(answer_text, size, false);
    return true;
}

int main(int argc, char **argv)
{
    size_t flood_n = 0;
    size_t flood_size = 0;
    bool usage_ok = argc == 1;
    if (argc == 3 && strcmp(argv[1], "--answer") == 0)
        usage_ok = set_answer(strtoul(argv[2], NULL, 10));
    if (argc == 4 && strcmp(argv[1], "--flood") == 0) {
        flood_n = strtoul(argv[2], NULL, 10);
        flood_size = strtoul(argv[3], NULL, 10);
        usage_ok = flood_n <= FLOOD_MAX && flood_size >= FLOOD_MIN_SIZE && flood_size <= COPY_MAX;
    }
    if (!usage_ok) {
        fprintf(
            stderr,
            "usage: echo [--flood COUNT SIZE | --answer SIZE], SIZE from %zu to %zu, or from %zu "
            "to %zu\n",
            FLOOD_MIN_SIZE, COPY_MAX, ANSWER_MIN_SIZE, ANSWER_MAX_SIZE);
        return 2;
    }

    size_t cap = (size_t)1 << 20;
    char *buf = malloc(cap);
    size_t head = 0; /* head <= scan <= tail <= cap: first byte not answered, */
    size_t scan = 0; /* first byte not searched for a newline, */
    size_t tail = 0; /* one past the last byte read */
    if (buf == NULL)
        die("no memory", "", 0);
    for (;;) {
        char *nl = memchr(buf + scan, '\n', tail - scan);
        if (nl != NULL) {
            char *line = buf + head;
            size_t len = (size_t)(nl + 1 - line);
            head = scan = (size_t)(nl + 1 - buf);
            if (len == LEN(INITIALIZE) && memcmp(line, INITIALIZE, len) == 0)
                out_add(INITIALIZE_ANSWER, LEN(INITIALIZE_ANSWER));
            else if (starts(line, len, REQUEST_HEAD, LEN(REQUEST_HEAD)))
                answer(line, len);
            else if (len == LEN(INITIALIZED) && memcmp(line, INITIALIZED, len) == 0)
                flood(flood_n, flood_size);
            else
                die("not a line of load", line, len);
            continue;
        }
        out_flush();
        memmove(buf, buf + head, tail - head);
        tail -= head;
        scan = tail;
        head = 0;
        if (tail == cap) {
            cap *= 2;
            buf = cap <= MAX_LINE ? realloc(buf, cap) : NULL;
            if (buf == NULL)
                die("line too long", "", 0);
        }
        ssize_t n = read(STDIN_FILENO, buf + tail, cap - tail);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n == 0 && tail == 0 ? 0 : 1;
        tail += (size_t)n;
    }
}
