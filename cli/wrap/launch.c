#include "cli/wrap/launch.h"

#include "cli/wrap/which.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

static const char name[] = "mcp-interposer";

static const char *base_name_of_command(const char *command)
{
    const char *slash = strrchr(command, '/');
    return slash != NULL ? slash + 1 : command;
}

static bool command_is_interposer(const char *command)
{
    return strcmp(base_name_of_command(command), name) == 0;
}

/* Whether the word is mcp-interposer, with or without @VERSION. */
static bool word_names_interposer(const char *word)
{
    size_t n = sizeof name - 1;
    return strncmp(word, name, n) == 0 && (word[n] == '\0' || word[n] == '@');
}

/* Returns the number of args that a package runner has before the package: its verb, such as
 * `exec`, and options. Returns SIZE_MAX if the command is not a package runner. */
static size_t count_runner_args(const char *command, const char *const *args)
{
    static const struct {
        const char *command, *verb;
    } runners[] = {
        {"npx", NULL},   {"npm", "exec"}, {"pnpx", NULL},
        {"pnpm", "dlx"}, {"yarn", "dlx"}, {"bunx", NULL},
    };
    for (size_t i = 0; i < MI_COUNT(runners); i++) {
        const char *verb = runners[i].verb;
        size_t n = verb != NULL;
        if (strcmp(base_name_of_command(command), runners[i].command) != 0)
            continue;
        if (verb != NULL && (args[0] == NULL || strcmp(args[0], verb) != 0))
            continue;
        while (args[n] != NULL && args[n][0] == '-')
            n++;
        return n;
    }
    return SIZE_MAX;
}

bool launch_starts_interposer(const char *command, const char *const *args, size_t *ret_n)
{
    size_t n = 0;
    if (!command_is_interposer(command)) {
        n = count_runner_args(command, args);
        if (n == SIZE_MAX || args[n] == NULL || !word_names_interposer(args[n]))
            return false;
        n++;
    }
    *ret_n = n;
    return true;
}

/* Splits l->text into words. Returns false if the text has no words or too many. */
static bool launch_split_words(struct launch *l)
{
    size_t n = 0;
    char *rest = l->text;
    for (char *word; (word = strtok_r(rest, " \t", &rest)) != NULL; n++) {
        if (n == LAUNCH_WORDS_MAX)
            return false;
        l->words[n] = word;
    }
    return n > 0;
}

/* Sets l->words from the value of the environment variable. Returns 0, MI_ENOMEM, or MI_EINVAL with
 * a sentence in `error`. */
static int launch_read_variable(struct launch *l, const char *value, struct buf *error)
{
    size_t n;
    l->text = strdup(value);
    if (l->text == NULL)
        return MI_ENOMEM;
    bool good = launch_split_words(l) && launch_starts_interposer(l->words[0], l->words + 1, &n) &&
                l->words[n + 1] == NULL;
    if (!good) {
        buf_printf(error,
                   LAUNCH_VARIABLE ": '%s' does not start this program: expected a command such as "
                                   "npx -y mcp-interposer, or unset the variable",
                   value);
        return error->failed ? MI_ENOMEM : MI_EINVAL;
    }
    l->by_runner = n > 0;
    l->in_path = n == 0 && strchr(l->words[0], '/') == NULL;
    return 0;
}

int launch_find_command(struct launch *l, struct buf *error)
{
    const char *value = getenv(LAUNCH_VARIABLE);
    *l = (struct launch){0};
    if (value != NULL && value[0] != '\0') {
        int st = launch_read_variable(l, value, error);
        if (st < 0 || l->by_runner)
            return st;
    }
    char *path = which_get_own_path();
    int reason = errno;
    free(l->text);
    l->text = path;
    l->words[0] = path;
    l->in_path = l->in_path || which_program_is_in_path();
    if (path == NULL)
        buf_printf(error, "cannot find the path of this program: %s", strerror(reason));
    else if (!command_is_interposer(path))
        buf_printf(error,
                   "this program is %s, but wrapped servers are recognized by the name "
                   "mcp-interposer; rename it",
                   path);
    return error->failed ? MI_ENOMEM : error->n > 0 ? MI_EIO : 0;
}

bool launch_word_names_other_version(const struct launch *l, struct slice word)
{
    size_t n = sizeof name - 1, last = 0;
    if (!l->by_runner || !slice_begins(word, "mcp-interposer@") || n + 1 >= word.n ||
        !isdigit((unsigned char)word.p[n + 1]))
        return false;
    while (l->words[last + 1] != NULL)
        last++;
    return !slice_is(word, l->words[last]); /* the last word of the command is the package */
}

void launch_append_command(const struct launch *l, struct buf *b)
{
    if (!l->by_runner) {
        buf_adds(b, name);
        return;
    }
    for (size_t n = 0; l->words[n] != NULL; n++) {
        buf_adds(b, n > 0 ? " " : "");
        buf_adds(b, l->words[n]);
    }
}

void launch_close(struct launch *l)
{
    free(l->text);
    *l = (struct launch){0};
}
