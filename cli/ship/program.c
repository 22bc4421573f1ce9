#include "cli/ship/commands.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/os/process.h"
#include "cli/settings/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool is_help(const char *word)
{
    return word == NULL || strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* The program beside this one, allocated; NULL: there is none. */
static char *beside(void)
{
    char *self = process_program();
    char *slash = self != NULL ? strrchr(self, '/') : NULL;
    struct buf b = {0};
    if (slash != NULL) {
        buf_add(&b, self, (size_t)(slash - self));
        buf_adds(&b, "/" SHIP_PROGRAM);
    }
    char *path = b.n > 0 && access(buf_str(&b), X_OK) == 0 ? strdup(buf_str(&b)) : NULL;
    buf_close(&b);
    free(self);
    return path;
}

static int help(const char *verb)
{
    struct buf b = {0};
    const struct command *c = verb != NULL ? command_verb(&command_ship, verb) : NULL;
    command_help(&b, c != NULL ? c : &command_ship);
    bool ok = !b.failed && fwrite(b.p, 1, b.n, stdout) == b.n && fflush(stdout) == 0;
    buf_close(&b);
    return ok ? EXIT_FINE : EXIT_TROUBLE;
}

/* Replaces this process. argv[0] is free for the program's path. */
static int run_program(char **argv)
{
    const char *rest = getenv("PATH");
    char *path = beside(), *name = argv[0];
    if (path == NULL && rest != NULL)
        path = path_search(rest, SHIP_PROGRAM, &rest);
    if (path == NULL) {
        log_error("%s is not installed: install the package %s, or build it with: make ship",
                  SHIP_PROGRAM, SHIP_PROGRAM);
        return EXIT_TROUBLE;
    }
    argv[0] = path;
    execv(path, argv);
    log_error("cannot run %s: %s", path, strerror(errno));
    argv[0] = name;
    free(path);
    return EXIT_TROUBLE;
}

int ship_program(int argc, char **argv)
{
    const char *verb = argc > 2 ? argv[2] : NULL;
    if (verb != NULL && is_help(verb))
        return help(NULL);
    if (argc == 4 && is_help(argv[3]) && command_verb(&command_ship, verb) != NULL)
        return help(verb);
    return run_program(argv + 1);
}

int ship_command(char **argv)
{
    return run_program(argv - 1);
}
