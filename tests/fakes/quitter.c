/* quitter.c - a server that ends, or closes a stream, at a given point of a handshake and two more requests.
 *
 *   quitter POINT HOW [FILE]
 *
 * POINT    `start`, before anything is read. Then for the first request (`init`), the notification that follows it
 *          (`initialized`), the second request (`list`) and the third (`call`), of any method:
 *            -half  -read       ten bytes of it are read; all of it is read, and no byte of what follows
 *            -note  -asked      a notification was sent; a request of the server was sent (`initialized-note`, …)
 *            -answer-half       the first bytes of its answer are written
 *            -answer-open       its answer is written without the newline
 *            -answered  -noise  its answer is written; that, and the beginning of a line that is not JSON
 * HOW      exit0  exit1  kill (itself, with SIGKILL)  stdout (closes it, and waits for a signal)  stdin (closes it,
 *          answers the request that it has read, and waits for a signal)
 * FILE     it quits only if it can create this file: of several processes, the first one does
 *
 * Later requests, and those of a process that does not quit, are answered. Ends with status 0 at the end of stdin. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fakes/pick.h"

#define HALF 10 /* bytes: less than the id of an answer */

static const char *quit_point, *quit_how;
static const char *stage; /* the message that is read or answered */
static bool deaf;         /* its stdin is closed */
static char line[1 << 16];

static void quit(void)
{
    if (strcmp(quit_how, "exit0") == 0)
        _exit(0);
    if (strcmp(quit_how, "exit1") == 0)
        _exit(1);
    if (strcmp(quit_how, "kill") == 0)
        raise(SIGKILL);
    if (strcmp(quit_how, "stdout") == 0) {
        close(STDOUT_FILENO);
        for (;;)
            pause();
    }
    deaf = true;
    close(STDIN_FILENO);
}

static void at(const char *event)
{
    char name[64];
    snprintf(name, sizeof name, "%s%s", stage, event);
    if (quit_point != NULL && strcmp(name, quit_point) == 0)
        quit();
}

/* Reads byte by byte: what follows the line stays in the pipe. */
static void read_line(void)
{
    size_t n = 0;
    while (!deaf && n + 1 < sizeof line && read(STDIN_FILENO, line + n, 1) == 1 && line[n] != '\n')
        if (++n == HALF)
            at("-half");
    while (deaf)
        pause();
    if (line[n] != '\n')
        _exit(0);
    line[n] = '\0';
    at("-read");
}

static void say(const char *text, size_t n)
{
    if (write(STDOUT_FILENO, text, n) != (ssize_t)n)
        _exit(3);
}

static void say_line(const char *text)
{
    say(text, strlen(text));
    say("\n", 1);
}

static const char *result_of(struct part method)
{
    if (method.n == 10 && memcmp(method.p, "initialize", 10) == 0)
        return "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{}},"
               "\"serverInfo\":{\"name\":\"quitter\",\"version\":\"1\"}}";
    if (method.n == 10 && memcmp(method.p, "tools/list", 10) == 0)
        return "{\"tools\":[{\"name\":\"echo\",\"inputSchema\":{\"type\":\"object\"}}]}";
    return "{\"content\":[{\"type\":\"text\",\"text\":\"done\"}]}";
}

static void note_and_ask(void)
{
    say_line("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":"
             "{\"level\":\"info\",\"data\":\"at work\"}}");
    at("-note");
    if (strcmp(stage, "call") == 0)
        say_line("{\"jsonrpc\":\"2.0\",\"id\":\"quitter\",\"method\":\"ping\"}");
    at("-asked");
}

static void answer(struct part id, struct part method)
{
    char text[1024];
    int n = snprintf(text, sizeof text, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}",
                     (int)id.n, id.p, result_of(method));
    say(text, HALF);
    at("-answer-half");
    say(text + HALF, (size_t)n - HALF);
    at("-answer-open");
    say("\n", 1);
    at("-answered");
    if (quit_point != NULL && strstr(quit_point, "-noise") != NULL &&
        strncmp(quit_point, stage, strlen(stage)) == 0)
        say("no JSON", 7);
    at("-noise");
}

int main(int argc, char **argv)
{
    static const char *const stages[] = {"init", "initialized", "list", "call"};
    if (argc < 3)
        return 99;
    quit_how = argv[2];
    if (argc < 4 || open(argv[3], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600) >= 0)
        quit_point = argv[1];
    stage = "start";
    at("");
    for (size_t i = 0;;) {
        stage = i < 4 ? stages[i] : "later";
        read_line();
        struct part m = {line, strlen(line)}, id = pick(m, "id"), method = pick_text(m, "method");
        if (method.p == NULL)
            continue; /* an answer to our own request */
        if (strcmp(stage, "initialized") == 0 || strcmp(stage, "call") == 0)
            note_and_ask();
        if (id.p != NULL)
            answer(id, method);
        i++;
    }
}
