#include "cli/frame/ask.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <unistd.h>

bool ask_possible(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDERR_FILENO) == 1;
}

bool ask_yes(const char *question)
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
