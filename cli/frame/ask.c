#include "cli/frame/ask.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <termios.h>
#include <unistd.h>

bool ask_user_has_terminal(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

bool ask_user_for_yes(const char *question)
{
    char *line = NULL;
    size_t room = 0;
    fprintf(stderr, "%s [y/N] ", question);
    ssize_t n = getline(&line, &room, stdin);
    if (n <= 0)
        fputc('\n', stderr);
    else
        line[strcspn(line, "\r\n")] = '\0';
    bool yes = n > 0 && (strcasecmp(line, "y") == 0 || strcasecmp(line, "yes") == 0);
    free(line);
    return yes;
}

static volatile sig_atomic_t arrived; /* number of the signal that arrived; 0: none */

static void ask_store_signal_number(int number)
{
    arrived = number;
}

static void read_line(struct buf *to)
{
    size_t from = to->n;
    char c;
    while (arrived == 0 && to->n - from <= ASK_SECRET_MAX) {
        ssize_t n = read(STDIN_FILENO, &c, 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || c == '\n')
            break;
        buf_addc(to, c);
    }
}

int ask_user_to_type_secret(const char *question, struct buf *ret)
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP};
    struct sigaction a = {.sa_handler = ask_store_signal_number}, before[MI_COUNT(signals)];
    struct termios shown, hidden;
    size_t from = ret->n;
    if (tcgetattr(STDIN_FILENO, &shown) != 0)
        return MI_ENOENT;
    arrived = 0;
    for (size_t i = 0; i < MI_COUNT(signals); i++)
        if (sigaction(signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            sigaction(signals[i], &a, NULL);
    hidden = shown;
    hidden.c_lflag &= ~(tcflag_t)ECHO;
    bool is_hidden = tcsetattr(STDIN_FILENO, TCSAFLUSH, &hidden) == 0;
    if (is_hidden) {
        fputs(question, stderr);
        read_line(ret);
        fputc('\n', stderr);
        (void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &shown);
    }
    for (size_t i = 0; i < MI_COUNT(signals); i++)
        sigaction(signals[i], &before[i], NULL);
    if (arrived != 0) {
        ret->n = from; /* after a signal: drop the input that was typed */
        raise(arrived);
    }
    return ret->n == from ? MI_ENOENT : ret->n - from > ASK_SECRET_MAX ? MI_EFULL : 0;
}
