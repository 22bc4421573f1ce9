#include "cli/completion.h"

#include "cli/clients.h"

#include <ctype.h>

enum value {
    VALUE_NONE, /* a flag */
    VALUE_WORDS,
    VALUE_FILE,
    VALUE_DIR,
    VALUE_CLIENT,
    VALUE_TEXT,
};

enum server { SERVER_NONE, SERVER_OPERAND, SERVER_BEHIND_DASHES };

static bool is_word(const char *arg, const char *word)
{
    size_t n = strlen(word);
    return strncmp(arg, word, n) == 0 && (arg[n] == '\0' || strcmp(arg + n, "...") == 0);
}

static enum value value_of(const struct opt *o)
{
    if (o->arg == NULL)
        return VALUE_NONE;
    if (strchr(o->arg, '|') != NULL)
        return VALUE_WORDS;
    if (is_word(o->arg, "FILE"))
        return VALUE_FILE;
    if (is_word(o->arg, "DIR"))
        return VALUE_DIR;
    return is_word(o->arg, "CLIENT") ? VALUE_CLIENT : VALUE_TEXT;
}

static bool is_many(const struct opt *o)
{
    size_t n = o->arg != NULL ? strlen(o->arg) : 0;
    return n > 3 && strcmp(o->arg + n - 3, "...") == 0;
}

static bool takes(const struct command *c, const char *what)
{
    const char *at = c->usage;
    while ((at = strstr(at, what)) != NULL && at - c->usage >= 3 && memcmp(at - 3, "-o ", 3) == 0)
        at++; /* the value of an option */
    return at != NULL && c->operands_max > 0;
}

/* The words of which a command takes one; NULL: it takes none of its own. */
static const char *words_of(const struct command *c)
{
    const char *last = strrchr(c->usage, ' ');
    bool words = last != NULL && strchr(last, '|') != NULL && islower((unsigned char)last[1]);
    return words ? last + 1 : NULL;
}

static enum server server_of(const struct command *c)
{
    if (strstr(c->usage, "[--] SERVER") != NULL)
        return SERVER_OPERAND;
    return strstr(c->usage, "-- SERVER") != NULL ? SERVER_BEHIND_DASHES : SERVER_NONE;
}

/* a|b, or "a, b": blanks between. */
static void add_words(struct buf *b, const char *words)
{
    for (const char *p = words; *p != '\0'; p++)
        if (*p != ',')
            buf_addc(b, *p == '|' ? ' ' : *p);
}

static void add_choices(struct buf *b, const struct opt *o)
{
    add_words(b, value_of(o) == VALUE_CLIENT ? client_names() : o->arg);
}

static void add_names(struct buf *b, const struct command *c, const char *between)
{
    buf_adds(b, c->name);
    for (const char *at = c->aliases; at != NULL && *at != '\0'; at += strspn(at, " ")) {
        size_t n = strcspn(at, " ");
        buf_adds(b, between);
        buf_add(b, at, n);
        at += n;
    }
}

static void add_all_commands(struct buf *b)
{
    for (size_t i = 0; commands[i] != NULL; i++) {
        add_names(b, commands[i], " ");
        buf_addc(b, ' ');
    }
    buf_adds(b, "help");
}

/* ---- bash ---- */

static const char bash_head[] =
    "# bash completion of mcp-interposer, made by: mcp-interposer completion bash\n"
    "_mcp_interposer_from() {\n"
    "    mapfile -t COMPREPLY < <(compgen \"$@\" -- \"$cur\")\n"
    "}\n"
    "_mcp_interposer_paths() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    _mcp_interposer_from \"$1\"\n"
    "}\n"
    "# The words from $1 on are a command line of their own.\n"
    "_mcp_interposer_server() {\n"
    "    if declare -F _command_offset >/dev/null; then\n"
    "        _command_offset \"$1\"\n"
    "    elif ((COMP_CWORD == $1)); then\n"
    "        _mcp_interposer_from -c\n"
    "    else\n"
    "        _mcp_interposer_paths -f\n"
    "    fi\n"
    "}\n"
    "_mcp_interposer() {\n"
    "    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} "
    "cmd=${COMP_WORDS[1]}\n"
    "    local i=2 flags='' valued='' server='' sessions='' files='' words=''\n"
    "    COMPREPLY=()\n"
    "    # bash splits --name=value at the =\n"
    "    if [[ $cur == = ]]; then\n"
    "        cur=\n"
    "    elif [[ $prev == = ]]; then\n"
    "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
    "    fi\n"
    "    if ((COMP_CWORD == 1)); then\n";

static const char bash_walk[] = "    for (( ; i < COMP_CWORD; i++)); do\n"
                                "        case ${COMP_WORDS[i]} in\n"
                                "        --)\n"
                                "            if [[ $server ]]; then\n"
                                "                _mcp_interposer_server $((i + 1))\n"
                                "                return\n"
                                "            fi\n"
                                "            ;;\n"
                                "        =) ((i++)) ;;\n"
                                "        -*)\n"
                                "            if [[ \" $valued \" == *\" ${COMP_WORDS[i]} \"* && "
                                "${COMP_WORDS[i + 1]} != = ]]; then\n"
                                "                ((i++))\n"
                                "            fi\n"
                                "            ;;\n"
                                "        *)\n"
                                "            if [[ $server == operand ]]; then\n"
                                "                _mcp_interposer_server \"$i\"\n"
                                "                return\n"
                                "            fi\n"
                                "            ;;\n"
                                "        esac\n"
                                "    done\n";

static const char bash_tail[] =
    "    if [[ $cur == -* ]]; then\n"
    "        _mcp_interposer_from -W \"$flags\"\n"
    "    elif [[ $server == operand ]]; then\n"
    "        _mcp_interposer_server \"$COMP_CWORD\"\n"
    "    elif [[ $files ]]; then\n"
    "        _mcp_interposer_paths -f\n"
    "    elif [[ $words ]]; then\n"
    "        _mcp_interposer_from -W \"$words\"\n"
    "    fi\n"
    "    if [[ $sessions && $cur != -* ]]; then\n"
    "        local ids\n"
    "        ids=$(command mcp-interposer sessions -n 50 2>/dev/null | awk 'NR > 1 { print $1 }')\n"
    "        while read -r i; do COMPREPLY+=(\"$i\"); done < <(compgen -W \"$ids\" -- \"$cur\")\n"
    "    fi\n"
    "}\n"
    "complete -F _mcp_interposer mcp-interposer\n";

/* --timeout -t …: those of a command, all or only those with a value. */
static void add_flags(struct buf *b, const struct command *c, bool valued)
{
    const char *gap = "";
    for (const struct opt *o = c->table; o->name != NULL; o++) {
        if (valued && o->arg == NULL)
            continue;
        buf_printf(b, "%s--%s", gap, o->name);
        if (o->letter != 0)
            buf_printf(b, " -%c", o->letter);
        gap = " ";
    }
}

static void bash_command(struct buf *b, const struct command *c)
{
    static const char *const servers[] = {"", " server=operand", " server=dashes"};
    buf_adds(b, "    ");
    add_names(b, c, " | ");
    buf_adds(b, ")\n        flags='");
    add_flags(b, c, false);
    buf_adds(b, "'\n        valued='");
    add_flags(b, c, true);
    buf_printf(b, "'%s%s%s", servers[server_of(c)], takes(c, "SESSION") ? " sessions=yes" : "",
               takes(c, "FILE") ? " files=yes" : "");
    const char *words = words_of(c);
    if (words != NULL) {
        buf_adds(b, " words='");
        add_words(b, words);
        buf_addc(b, '\'');
    }
    buf_adds(b, "\n        ;;\n");
}

static void bash_value(struct buf *b, const struct command *c, const struct opt *o)
{
    buf_printf(b, "    %s:--%s", c->name, o->name);
    if (o->letter != 0)
        buf_printf(b, " | %s:-%c", c->name, o->letter);
    buf_adds(b, ") ");
    switch (value_of(o)) {
    case VALUE_WORDS:
    case VALUE_CLIENT:
        buf_adds(b, "_mcp_interposer_from -W '");
        add_choices(b, o);
        buf_adds(b, "'; ");
        break;
    case VALUE_FILE:
        buf_adds(b, "_mcp_interposer_paths -f; ");
        break;
    case VALUE_DIR:
        buf_adds(b, "_mcp_interposer_paths -d; ");
        break;
    case VALUE_NONE:
    case VALUE_TEXT:
        break;
    }
    buf_adds(b, "return ;;\n");
}

/* An alias is completed like the name it stands for. */
static void bash_aliases(struct buf *b)
{
    buf_adds(b, "    case $cmd in\n    -*) cmd=proxy i=1 ;;\n");
    for (size_t i = 0; commands[i] != NULL; i++) {
        if (commands[i]->aliases == NULL)
            continue;
        buf_adds(b, "    ");
        add_names(b, commands[i], " | ");
        buf_printf(b, ") cmd=%s ;;\n", commands[i]->name);
    }
    buf_adds(b, "    esac\n");
}

void completion_bash(struct buf *b)
{
    buf_adds(b, bash_head);
    buf_adds(b, "        _mcp_interposer_from -W '");
    add_all_commands(b);
    buf_adds(b, " --help --version'\n        return\n    fi\n");
    bash_aliases(b);
    buf_adds(b, "    case $cmd in\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        bash_command(b, commands[i]);
    buf_adds(b, "    help)\n        ((COMP_CWORD == 2)) && _mcp_interposer_from -W '");
    add_all_commands(b);
    buf_adds(b, "'\n        return\n        ;;\n    *) return ;;\n    esac\n");
    buf_adds(b, bash_walk);
    buf_adds(b, "    case $cmd:$prev in\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        for (const struct opt *o = commands[i]->table; o->name != NULL; o++)
            if (o->arg != NULL)
                bash_value(b, commands[i], o);
    buf_adds(b, "    esac\n");
    buf_adds(b, bash_tail);
}

/* ---- zsh ---- */

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
    switch (value_of(o)) {
    case VALUE_WORDS:
    case VALUE_CLIENT:
        buf_addc(b, '(');
        add_choices(b, o);
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
    if (is_many(o))
        buf_adds(b, "'*'");
    if (o->letter != 0 && !is_many(o))
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
    add_words(b, words);
    buf_adds(b, ")'\n");
}

static void zsh_operands(struct buf *b, const struct command *c)
{
    bool session = takes(c, "SESSION");
    bool file = takes(c, "FILE");
    const char *words = words_of(c);
    if (server_of(c) == SERVER_OPERAND)
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
        add_names(b, commands[i], " | ");
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

/* ---- fish ---- */

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
    add_names(b, c, " ");
    buf_adds(b, "'");
}

static void fish_option(struct buf *b, const struct command *c, const struct opt *o)
{
    fish_begin(b, c);
    buf_printf(b, " -l %s", o->name);
    if (o->letter != 0)
        buf_printf(b, " -s %c", o->letter);
    switch (value_of(o)) {
    case VALUE_NONE:
        break;
    case VALUE_TEXT:
        buf_adds(b, " -x");
        break;
    case VALUE_WORDS:
    case VALUE_CLIENT:
        buf_adds(b, " -x -a '");
        add_choices(b, o);
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
    if (takes(c, "SESSION")) {
        fish_begin(b, c);
        buf_adds(b, " -k -a '(__mcp_interposer_sessions)'\n");
    }
    if (takes(c, "FILE")) {
        fish_begin(b, c);
        buf_adds(b, " -F\n");
    }
    const char *words = words_of(c);
    if (words != NULL) {
        fish_begin(b, c);
        buf_adds(b, " -a '");
        add_words(b, words);
        buf_adds(b, "'\n");
    }
    if (server_of(c) == SERVER_OPERAND) {
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
    add_all_commands(b);
    buf_adds(b, "'\n");
}
