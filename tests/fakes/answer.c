/* answer.c - a quick server that answers every request.
 *
 *   answer [-l LOG] [-n NOTES] [-s SIZE]
 *
 * -l  append every byte received to LOG before any of it is answered
 * -n  send NOTES notifications before each answer
 * -s  put SIZE bytes of text into each answer
 *
 * It knows just enough JSON for the clients of the tests: the first "id": of a line is the id of a
 * request, a line without one is a notification. Ends with status 0 at the end of stdin. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MAX_LEN = 4 << 20, ID_MAX_LEN = 256 };

static char in[LINE_MAX_LEN], out[1 << 18];
static size_t in_len, out_len;
static char *pad;
static long notes_each, served;

static void flush_out(void)
{
    for (size_t done = 0; done < out_len;) {
        ssize_t n = write(STDOUT_FILENO, out + done, out_len - done);
        if (n <= 0)
            _exit(3);
        done += (size_t)n;
    }
    out_len = 0;
}

static void put(const char *p, size_t n)
{
    while (n > 0) {
        if (out_len == sizeof out)
            flush_out();
        size_t part = n < sizeof out - out_len ? n : sizeof out - out_len;
        memcpy(out + out_len, p, part);
        out_len += part;
        p += part;
        n -= part;
    }
}

static void say(const char *text)
{
    put(text, strlen(text));
}

static void answer(const char *line, size_t n)
{
    static const char key[] = "\"id\":";
    const char *id = memmem(line, n, key, sizeof key - 1);
    if (id == NULL)
        return;
    id += sizeof key - 1;
    size_t len = 0;
    while (id + len < line + n && id[len] != ',' && id[len] != '}' && len < ID_MAX_LEN)
        len++;

    char text[128];
    served++;
    for (long i = 0; i < notes_each; i++) {
        snprintf(text, sizeof text,
                 "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"
                 "{\"level\":\"info\",\"data\":\"%ld.%ld\"}}\n",
                 served, i);
        say(text);
    }
    say("{\"jsonrpc\":\"2.0\",\"id\":");
    put(id, len);
    if (memmem(line, n, "\"initialize\"", 12) != NULL) {
        say(",\"result\":{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
            "\"serverInfo\":{\"name\":\"answer\",\"version\":\"1\"}}}\n");
        return;
    }
    snprintf(text, sizeof text,
             ",\"result\":{\"n\":%ld,\"content\":[{\"type\":\"text\",\"text\":\"", served);
    say(text);
    say(pad);
    say("\"}]}}\n");
}

int main(int argc, char **argv)
{
    int log = -1, c;
    size_t size = 2;
    while ((c = getopt(argc, argv, "l:n:s:")) != -1) {
        if (c == 'l' && (log = open(optarg, O_WRONLY | O_CREAT | O_APPEND, 0600)) < 0)
            return 98;
        if (c == 'n')
            notes_each = atol(optarg);
        if (c == 's')
            size = (size_t)atol(optarg);
        if (c == '?')
            return 99;
    }
    if ((pad = malloc(size + 1)) == NULL)
        return 98;
    memset(pad, 'x', size);
    pad[size] = '\0';

    for (;;) {
        ssize_t n = read(STDIN_FILENO, in + in_len, sizeof in - in_len);
        if (n <= 0)
            break;
        if (log >= 0 && write(log, in + in_len, (size_t)n) != n)
            return 98;
        in_len += (size_t)n;
        size_t start = 0;
        char *end;
        while ((end = memchr(in + start, '\n', in_len - start)) != NULL) {
            answer(in + start, (size_t)(end - in) - start);
            start = (size_t)(end - in) + 1;
        }
        memmove(in, in + start, in_len - start);
        in_len -= start;
        flush_out();
    }
    return 0;
}
