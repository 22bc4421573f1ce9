/* cmd_completion.c - `mcp-interposer completion SHELL`: what `make install` gives the shells. */
#include "cli/completion.h"
#include "cli/config.h"
#include "cli/out.h"

static const struct opt table_of_options[] = {
    COMMAND_OPTS,
};

static const char about[] =
    "`make install` puts all three where the shells look for them; without it:\n"
    "\n"
    "  bash   source <(mcp-interposer completion bash)\n"
    "  zsh    source <(mcp-interposer completion zsh)        after compinit\n"
    "  fish   mcp-interposer completion fish | source\n";

static const struct {
    const char *name;
    void (*write)(struct buf *b);
} shells[] = {
    {"bash", completion_bash},
    {"zsh", completion_zsh},
    {"fish", completion_fish},
};

static int print(void (*write)(struct buf *b))
{
    struct out out;
    out_open(&out);
    write(&out.b);
    return out_close(&out);
}

static int run(int argc, char **argv)
{
    struct settings s;
    if (!settings_read(&s, &command_completion, argc, argv))
        return s.exit_status;
    int status = EXIT_USAGE;
    size_t i = 0;
    while (s.operands_n > 0 && i < MI_COUNT(shells) && strcmp(s.operands[0], shells[i].name) != 0)
        i++;
    if (s.operands_n == 0)
        settings_usage(&command_completion, "no shell: bash, zsh or fish");
    else if (i == MI_COUNT(shells))
        settings_usage(&command_completion, "'%s' is none of bash, zsh and fish", s.operands[0]);
    else
        status = print(shells[i].write);
    settings_close(&s);
    return status;
}

const struct command command_completion = {
    .name = "completion",
    .summary = "print what completes a command line in bash, zsh or fish",
    .usage = "[OPTIONS] bash|zsh|fish",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = run,
};
