#include "cli/wrap/inspect.h"

#include "cli/proxy/commands.h"
#include "cli/settings/paths.h"
#include "cli/wrap/launch.h"
#include "cli/wrap/mcpfile/string.h"
#include "cli/wrap/server_members.h"

#include <stdlib.h>

#define WORDS_MAX 4096 /* maximum number of args of a server */

/* Returns whether `command` contains arguments. Some clients split such a command at blanks, as a
 * shell does; the proxy does not. */
static bool command_has_arguments(const char *command)
{
    if (command[0] == '/' || strpbrk(command, " \t\r\n") == NULL)
        return false;
    return strchr(command, '/') != NULL ? !path_is_program(command) : !path_has_program(command);
}

void server_argv_close(char **argv)
{
    for (size_t i = 0; argv != NULL && argv[i] != NULL; i++)
        free(argv[i]);
    free(argv);
}

char **wrap_make_server_argv(const struct mcpfile *f, const struct mcpfile_server *s)
{
    char **argv = calloc(s->args_n + 2, sizeof *argv);
    bool good = argv != NULL;
    for (size_t i = 0; good && i <= s->args_n; i++) {
        struct buf b = {0};
        if (i > 0)
            mcpfile_append_string(f, f->arg[s->first_arg + i - 1], &b);
        argv[i] = b.failed ? NULL : strdup(buf_str(&b));
        good = argv[i] != NULL;
        buf_close(&b);
    }
    if (!good)
        server_argv_close(argv);
    return good ? argv : NULL;
}

/* Parses the args of the interposer with the option table of `proxy`. argv[0] is not used. */
static void inspect_interposer_args(struct wrap_view *v, char **argv, int argc)
{
    struct opt_set set;
    int from = argc > 1 && strcmp(argv[1], "proxy") == 0 ? 2 : 1;
    int next = from;
    v->state = WRAP_ODD;
    v->why = "the command runs the interposer, but not as a proxy";
    if (from == 1 && (argc < 2 || argv[1][0] != '-')) {
        v->is_mcp = argc >= 2 && strcmp(argv[1], "mcp") == 0;
        return;
    }
    opt_open(&set, command_proxy.table);
    if (opt_parse(&set, argc, argv, from, NULL, &next) < 0) {
        v->why = "the command runs the interposer with unknown options";
    } else if (next < argc) {
        v->state = WRAP_WRAPPED;
        v->why = NULL;
        v->own = v->launch + (size_t)next - 1;
        v->had_no_args = next == from || strcmp(argv[next - 1], "--") != 0;
        size_t at = 0;
        for (const char *o; (o = opt_next_value(&set, "original", &at)) != NULL;)
            if (strcmp(o, MEMBER_NO_ARGS) == 0)
                v->had_no_args = true;
            else if (v->originals < WRAP_ORIGINALS_MAX)
                buf_adds(&v->original[v->originals++], o);
    } else {
        v->why = "the command runs the interposer without a server";
    }
    opt_close(&set);
}

int wrap_inspect_server(const struct mcpfile *f, const struct mcpfile_server *s,
                        struct wrap_view *ret)
{
    struct wrap_view v = {.state = WRAP_PLAIN};
    if (s->odd == NULL && s->command.value.n > 0)
        mcpfile_append_string(f, s->command.value, &v.command);
    const char *command = buf_str(&v.command);
    if (v.command.failed)
        return MI_ENOMEM;
    if (s->odd != NULL)
        v.why = s->odd;
    else if (s->unnamed)
        v.why = "the server has no `name`";
    else if (s->command.key.n == 0 && s->args.key.n == 0 && s->url.key.n > 0)
        v.state = WRAP_REMOTE;
    else if (command[0] == '\0')
        v.why = "the server has no command";
    else if (command[0] == '-')
        v.why = "the command begins with a dash";
    else if (command_has_arguments(command))
        v.why = "the command contains blanks, and no program has this name; move the arguments to "
                "`args`";
    else if (s->args_n > WORDS_MAX)
        v.why = "the server has too many args";
    if (v.why != NULL)
        v.state = WRAP_ODD;
    if (v.state == WRAP_PLAIN) {
        char **argv = wrap_make_server_argv(f, s);
        if (argv == NULL) {
            buf_close(&v.command);
            return MI_ENOMEM;
        }
        v.ours = launch_starts_interposer(command, (const char *const *)argv + 1, &v.launch);
        if (v.ours)
            inspect_interposer_args(&v, argv + v.launch, (int)(s->args_n - v.launch) + 1);
        server_argv_close(argv);
    }
    bool failed = false;
    for (size_t i = 0; i < v.originals; i++)
        failed |= v.original[i].failed;
    if (failed) {
        wrap_view_close(&v);
        return MI_ENOMEM;
    }
    *ret = v;
    return 0;
}

void wrap_view_close(struct wrap_view *v)
{
    buf_close(&v->command);
    for (size_t i = 0; i < v->originals; i++)
        buf_close(&v->original[i]);
}
