/* main.c - finds the command that is meant, and runs it. */
#include "base/log.h"
#include "base/nearest.h"
#include "cli/command.h"
#include "vault/redact.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <unistd.h>

static int print(struct buf *b)
{
    bool ok = !b->failed && fwrite(b->p, 1, b->n, stdout) == b->n && fflush(stdout) == 0;
    buf_close(b);
    return ok ? EXIT_FINE : EXIT_TROUBLE;
}

static int unknown_command(const char *name)
{
    struct nearest n = nearest_to(name);
    for (size_t i = 0; commands[i] != NULL; i++)
        nearest_try(&n, commands[i]->name);
    nearest_try(&n, "help");
    if (n.best != NULL)
        log_error("unknown command '%s'; did you mean '%s'?", name, n.best);
    else
        log_error("unknown command '%s'", name);
    fputs("try: mcp-interposer --help\n", stderr);
    return EXIT_USAGE;
}

static int help(const char *name)
{
    struct buf b = {0};
    const struct command *c = name != NULL ? command_find(name) : NULL;
    if (name != NULL && c == NULL)
        return unknown_command(name);
    if (c != NULL)
        command_help(&b, c);
    else
        command_help_all(&b);
    return print(&b);
}

/* `mcp-interposer [OPTIONS] -- SERVER…`. Without the `--` it would be a guess which word is the
 * command: `mcp-interposer --vault v sessions` shall not start a server named sessions. */
static int short_form(int argc, char **argv)
{
    struct opt_set s;
    int next = 1;
    opt_open(&s, command_proxy.table);
    int st = opt_parse(&s, argc, argv, 1, NULL, &next);
    bool asks_help = st == 0 && opt_on(&s, "help");
    opt_close(&s);
    if (asks_help)
        return help(NULL);
    if (st == 0 && strcmp(argv[next - 1], "--") != 0) {
        log_error("options stand after the command, or a server's command after '--'");
        fputs("try: mcp-interposer --help\n", stderr);
        return EXIT_USAGE;
    }
    return command_proxy.run(argc, argv); /* it also tells of a wrong option */
}

/* Somebody may start us with stdin, stdout or stderr closed: no file of ours shall take their place. */
static void open_stdio(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd > STDERR_FILENO)
        close(fd);
}

int main(int argc, char **argv)
{
    open_stdio();
    log_set_filter(redact_log_filter, NULL);
    /* Blocks of this size are mapped by themselves and go back to the system when they are freed. The
     * C library would raise its threshold after the first large message, and keep all later ones. */
    (void)mallopt(M_MMAP_THRESHOLD, 256 * 1024);

    const char *word = argc > 1 ? argv[1] : NULL;
    if (word == NULL) {
        log_error("no command");
        fputs("try: mcp-interposer --help\n", stderr);
        return EXIT_USAGE;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
        return help(NULL);
    if (strcmp(word, "help") == 0)
        return help(argc > 2 ? argv[2] : NULL);
    if (strcmp(word, "--version") == 0) {
        struct buf b = {0};
        buf_adds(&b, "mcp-interposer " MI_VERSION "\n");
        return print(&b);
    }
    if (word[0] == '-')
        return short_form(argc, argv);
    const struct command *c = command_find(word);
    return c != NULL ? c->run(argc - 1, argv + 1) : unknown_command(word);
}
