/* stubborn.c - a server that does not exit.
 *
 *   stubborn PIDS [term] [eof] [child=KIND]... [leave=N]
 *
 * Appends `NAME PID` to the file PIDS for itself and for each child, then answers nothing.
 * term        ignore SIGTERM (children too)
 * eof         ignore the end of stdin (children too)
 * child=KIND  start a process: `group` in our group, `session` in a session of its own, `pipes`
 *             likewise, but it keeps stdin, stdout and stderr open (the others close them)
 * leave=N     exit with status N as soon as the children have started
 *
 * An alarm ends each process after two minutes, in case a test does not. */
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ignore_term, ignore_eof;

static void write_pid(const char *path, const char *name)
{
    char text[64];
    int n = snprintf(text, sizeof text, "%s %d\n", name, (int)getpid());
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, (size_t)n) != n)
        _exit(98);
    close(fd);
}

static void stay(void)
{
    char buf[4096];
    alarm(120);
    if (!ignore_eof)
        while (read(STDIN_FILENO, buf, sizeof buf) > 0)
            continue;
    while (ignore_eof)
        pause();
    _exit(0);
}

static void start(const char *pids, const char *kind)
{
    pid_t pid = fork();
    if (pid < 0)
        _exit(98);
    if (pid > 0)
        return;
    if (strcmp(kind, "group") != 0)
        setsid();
    if (strcmp(kind, "pipes") != 0) {
        close(STDOUT_FILENO);
        close(STDERR_FILENO);
    }
    write_pid(pids, kind);
    stay();
}

static int lines_in(const char *path)
{
    char text[1024];
    int fd = open(path, O_RDONLY | O_CLOEXEC), n = 0;
    ssize_t len = fd < 0 ? 0 : read(fd, text, sizeof text);
    for (ssize_t i = 0; i < len; i++)
        n += text[i] == '\n';
    close(fd);
    return n;
}

int main(int argc, char **argv)
{
    int children = 0, leave = -1;
    if (argc < 2)
        return 99;
    alarm(120);
    for (int i = 2; i < argc; i++) {
        ignore_term |= strcmp(argv[i], "term") == 0;
        ignore_eof |= strcmp(argv[i], "eof") == 0;
    }
    if (ignore_term)
        signal(SIGTERM, SIG_IGN);
    for (int i = 2; i < argc; i++) {
        if (strncmp(argv[i], "child=", 6) == 0) {
            start(argv[1], argv[i] + 6);
            children++;
        } else if (strncmp(argv[i], "leave=", 6) == 0) {
            leave = atoi(argv[i] + 6);
        }
    }
    while (lines_in(argv[1]) < children)
        usleep(1000);
    write_pid(argv[1], "server");
    if (leave >= 0)
        _exit(leave);
    stay();
}
