/* command.c - `mcp-interposer completion SHELL`: prints the script that `make install` installs for
 * a shell. */
#include "cli/complete/commands.h"

#include "cli/complete/scripts.h"
#include "cli/frame/out.h"
#include "cli/settings/config.h"

static const struct opt table_of_options[] = {
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "`make install` installs the completion scripts. To use one without it:\n"
    "\n"
    "  bash   source <(mcp-interposer completion bash)\n"
    "  zsh    source <(mcp-interposer completion zsh)        after compinit\n"
    "  fish   mcp-interposer completion fish | source\n";
/* clang-format on */

static int completion_run(const struct settings *s)
{
    const struct {
        const char *shell, *text;
        size_t n;
    } scripts[] = {
        {"bash", completion_bash, completion_bash_n},
        {"zsh", completion_zsh, completion_zsh_n},
        {"fish", completion_fish, completion_fish_n},
    };
    if (s->operands_n == 0)
        return settings_fail_usage(s, "missing shell: use bash, zsh or fish");
    for (size_t i = 0; i < MI_COUNT(scripts); i++) {
        if (strcmp(s->operands[0], scripts[i].shell) != 0)
            continue;
        struct out out;
        out_open(&out);
        buf_add(&out.b, scripts[i].text, scripts[i].n);
        return out_close(&out);
    }
    return settings_fail_usage(s, "unknown shell '%s': use bash, zsh or fish", s->operands[0]);
}

/* The script does not depend on the configuration file, so an error in that file must not stop a
 * shell that starts. */
static int run_misconfigured(const struct settings *s, const char *error)
{
    (void)error;
    return completion_run(s);
}

const struct command command_completion = {
    .name = "completion",
    .summary = "print the completion script for bash, zsh or fish",
    .usage = "[OPTIONS] bash|zsh|fish",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = completion_run,
    .run_misconfigured = run_misconfigured,
};
