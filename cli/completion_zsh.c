/* completion_zsh.c - for each command the arguments of _arguments. */
#include "cli/completion_inner.h"

static const char zsh_head[] =
    "#compdef mcp-interposer\n"
    "# zsh completion of mcp-interposer, made by: mcp-interposer completion zsh\n"
    "_mcp_interposer_sessions() {\n"
    "    local -a ids\n"
    "    ids=(${(f)\"$(command mcp-interposer sessions -n 50 2>/dev/null |\n"
    "        awk 'NR > 1 { print $1 \":\" $2 }')\"})\n"
    "    _describe session ids\n"
    "}\n"
    "_mcp_interposer() {\n"
    "    local -a all\n"
    "    all=(\n";

/* Between single quotes, in a description of _arguments or _describe. */
static void zsh_text(struct buf *b, const char *text)
{
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '\'')
            buf_adds(b, "'\\''");
        else if (strchr("[]:\\", *p) != NULL)
            buf_printf(b, "\\%c", *p);
        else
            buf_addc(b, *p);
    }
}

static void zsh_action(struct buf *b, const struct opt *o)
{
    buf_addc(b, ':');
    zsh_text(b, o->arg);
    buf_addc(b, ':');
    switch (completion_value_of(o)) {
    case VALUE_WORDS:
    case VALUE_CLIENT:
        buf_addc(b, '(');
        completion_add_choices(b, o);
        buf_addc(b, ')');
        break;
    case VALUE_FILE:
        buf_adds(b, "_files");
        break;
    case VALUE_DIR:
        buf_adds(b, "_directories");
        break;
    case VALUE_NONE:
    case VALUE_TEXT:
        break;
    }
}

/* '(-t --timeout)'{-t+,--timeout=}'[text]:DURATION:' */
static void zsh_option(struct buf *b, const struct opt *o)
{
    const char *plus = o->arg != NULL ? "+" : "";
    const char *equals = o->arg != NULL ? "=" : "";
    buf_adds(b, "            ");
    if (completion_many(o))
        buf_adds(b, "'*'");
    if (o->letter != 0 && !completion_many(o))
        buf_printf(b, "'(-%c --%s)'", o->letter, o->name);
    if (o->letter != 0)
        buf_printf(b, "{-%c%s,--%s%s}'", o->letter, plus, o->name, equals);
    else
        buf_printf(b, "'--%s%s", o->name, equals);
    buf_addc(b, '[');
    zsh_text(b, o->help);
    buf_addc(b, ']');
    if (o->arg != NULL)
        zsh_action(b, o);
    buf_adds(b, "' \\\n");
}

static void zsh_words(struct buf *b, const char *words)
{
    buf_adds(b, "            '1: :(");
    completion_add_words(b, words);
    buf_adds(b, ")'\n");
}

static void zsh_operands(struct buf *b, const struct command *c)
{
    bool session = completion_takes(c, "SESSION");
    bool file = completion_takes(c, "FILE");
    const char *words = completion_words_of(c);
    if (completion_server_of(c) == SERVER_OPERAND)
        buf_adds(b, "            '(-)1:server:_command_names -e' '*::arguments:_normal'\n");
    else if (session && file)
        buf_adds(b, "            '*:session or file:_alternative "
                    "sessions\\:session\\:_mcp_interposer_sessions files\\:file\\:_files'\n");
    else if (session)
        buf_adds(b, "            '*:session:_mcp_interposer_sessions'\n");
    else if (file)
        buf_adds(b, "            '*:file:_files'\n");
    else if (words != NULL)
        zsh_words(b, words);
    else
        buf_adds(b, "            '*: :'\n");
}

void completion_zsh(struct buf *b)
{
    buf_adds(b, zsh_head);
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_printf(b, "        '%s:", commands[i]->name);
        zsh_text(b, commands[i]->summary);
        buf_adds(b, "'\n");
    }
    buf_adds(b, "        'help:show the help of a command'\n    )\n"
                "    if ((CURRENT == 2)); then\n"
                "        _describe command all\n        return\n    fi\n"
                "    shift words\n    ((CURRENT--))\n"
                "    case $words[1] in\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        buf_adds(b, "    ");
        completion_add_names(b, commands[i], " | ");
        buf_adds(b, ")\n        _arguments -s -S \\\n");
        for (const struct opt *o = commands[i]->table; o->name != NULL; o++)
            zsh_option(b, o);
        zsh_operands(b, commands[i]);
        buf_adds(b, "        ;;\n");
    }
    buf_adds(b, "    help) _describe command all ;;\n    esac\n}\n"
                "if [[ $funcstack[1] == _mcp-interposer ]]; then\n"
                "    _mcp_interposer \"$@\"\nelse\n"
                "    compdef _mcp_interposer mcp-interposer\nfi\n");
}
