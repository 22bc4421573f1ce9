/* completion_fish.c - one `complete` for each command, option and operand. */
#include "cli/completion_inner.h"

static void fish_text(struct buf *b, const char *text)
{
    buf_addc(b, '\'');
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\'' || *p == '\\')
            buf_addc(b, '\\');
        buf_addc(b, *p);
    }
    buf_addc(b, '\'');
}

static void fish_begin(struct buf *b, const struct command *c)
{
    buf_adds(b, "complete -c mcp-interposer -n '__fish_seen_subcommand_from ");
    completion_add_names(b, c, " ");
    buf_adds(b, "'");
}

static void fish_option(struct buf *b, const struct command *c, const struct opt *o)
{
    fish_begin(b, c);
    buf_printf(b, " -l %s", o->name);
    if (o->letter != 0)
        buf_printf(b, " -s %c", o->letter);
    switch (completion_value_of(o)) {
    case VALUE_NONE:
        break;
    case VALUE_TEXT:
        buf_adds(b, " -x");
        break;
    case VALUE_WORDS:
    case VALUE_CLIENT:
        buf_adds(b, " -x -a '");
        completion_add_choices(b, o);
        buf_adds(b, "'");
        break;
    case VALUE_FILE:
        buf_adds(b, " -r -F");
        break;
    case VALUE_DIR:
        buf_adds(b, " -x -a '(__fish_complete_directories)'");
        break;
    }
    buf_adds(b, " -d ");
    fish_text(b, o->help);
    buf_addc(b, '\n');
}

static void fish_operands(struct buf *b, const struct command *c)
{
    if (completion_takes(c, "SESSION")) {
        fish_begin(b, c);
        buf_adds(b, " -k -a '(__mcp_interposer_sessions)'\n");
    }
    if (completion_takes(c, "FILE")) {
        fish_begin(b, c);
        buf_adds(b, " -F\n");
    }
    const char *words = completion_words_of(c);
    if (words != NULL) {
        fish_begin(b, c);
        buf_adds(b, " -a '");
        completion_add_words(b, words);
        buf_adds(b, "'\n");
    }
    if (completion_server_of(c) == SERVER_OPERAND) {
        fish_begin(b, c);
        buf_adds(b, " -a '(__fish_complete_subcommand --fcs-skip=2)'\n");
    }
}

void completion_fish(struct buf *b)
{
    buf_adds(
        b,
        "# fish completion of mcp-interposer, made by: mcp-interposer completion fish\n"
        "function __mcp_interposer_sessions\n"
        "    command mcp-interposer sessions -n 50 2>/dev/null |\n"
        "        awk 'NR > 1 { print $1 \"\\t\" $2 }'\n"
        "end\n"
        "complete -c mcp-interposer -f\n"
        "complete -c mcp-interposer -n __fish_use_subcommand -l version -d 'show the version'\n"
        "complete -c mcp-interposer -n __fish_use_subcommand -s h -l help -d 'show this help'\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_printf(b, "complete -c mcp-interposer -n __fish_use_subcommand -a %s -d ",
                   commands[i]->name);
        fish_text(b, commands[i]->summary);
        buf_addc(b, '\n');
        for (const struct opt *o = commands[i]->table; o->name != NULL; o++)
            fish_option(b, commands[i], o);
        fish_operands(b, commands[i]);
    }
    buf_adds(b, "complete -c mcp-interposer -n __fish_use_subcommand -a help -d "
                "'show the help of a command'\n"
                "complete -c mcp-interposer -n '__fish_seen_subcommand_from help' -a '");
    completion_add_all(b);
    buf_adds(b, "'\n");
}
