/* completion_bash.c - a function that walks the words of the line, and what it asks about each command. */
#include "cli/completion_inner.h"

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
    completion_add_names(b, c, " | ");
    buf_adds(b, ")\n        flags='");
    add_flags(b, c, false);
    buf_adds(b, "'\n        valued='");
    add_flags(b, c, true);
    buf_printf(b, "'%s%s%s", servers[completion_server_of(c)],
               completion_takes(c, "SESSION") ? " sessions=yes" : "",
               completion_takes(c, "FILE") ? " files=yes" : "");
    const char *words = completion_words_of(c);
    if (words != NULL) {
        buf_adds(b, " words='");
        completion_add_words(b, words);
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
    switch (completion_value_of(o)) {
    case VALUE_WORDS:
    case VALUE_CLIENT:
        buf_adds(b, "_mcp_interposer_from -W '");
        completion_add_choices(b, o);
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
        completion_add_names(b, commands[i], " | ");
        buf_printf(b, ") cmd=%s ;;\n", commands[i]->name);
    }
    buf_adds(b, "    esac\n");
}

void completion_bash(struct buf *b)
{
    buf_adds(b, bash_head);
    buf_adds(b, "        _mcp_interposer_from -W '");
    completion_add_all(b);
    buf_adds(b, " --help --version'\n        return\n    fi\n");
    bash_aliases(b);
    buf_adds(b, "    case $cmd in\n");
    for (size_t i = 0; commands[i] != NULL; i++)
        bash_command(b, commands[i]);
    buf_adds(b, "    help)\n        ((COMP_CWORD == 2)) && _mcp_interposer_from -W '");
    completion_add_all(b);
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
