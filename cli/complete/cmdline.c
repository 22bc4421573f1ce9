#include "cli/complete/cmdline.h"

/* Whether, and where, the words of a command contain the command line of a server. */
enum server_syntax {
    SERVER_NONE,
    SERVER_OPERAND,      /* the server's command line begins with the first operand */
    SERVER_AFTER_DASHES, /* the server's command line begins after `--` */
};

bool cmdline_takes_operand(const struct command *c, const char *operand)
{
    const char *at = c->usage;
    while ((at = strstr(at, operand)) != NULL && at - c->usage >= 3 &&
           memcmp(at - 3, "-o ", 3) == 0)
        at++; /* this word of the usage is the value of the option -o, not an operand */
    return at != NULL;
}

static const struct opt *find_long_option(const struct command *c, const char *name)
{
    size_t n = strcspn(name, "=");
    for (const struct opt *o = c->table; o->name != NULL; o++)
        if (strlen(o->name) == n && memcmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

static const struct opt *find_short_option(const struct command *c, char letter)
{
    for (const struct opt *o = c->table; o->name != NULL; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static void cmdline_store_value(struct cmdline *l, const struct opt *o, const char *value)
{
    if (strcmp(o->name, "vault") == 0)
        l->vault = value;
    else if (strcmp(o->name, "config") == 0)
        l->config = value;
}

/* Reads an option. If the next word is the value of the option, returns the option, otherwise
 * NULL. */
static const struct opt *cmdline_read_option(struct cmdline *l, const char *word)
{
    if (word[1] == '-') {
        const struct opt *o = find_long_option(l->command, word + 2);
        const char *eq = strchr(word, '=');
        if (o == NULL || o->arg == NULL)
            return NULL;
        if (eq != NULL)
            cmdline_store_value(l, o, eq + 1);
        return eq == NULL ? o : NULL;
    }
    for (const char *p = word + 1; *p != '\0'; p++) {
        const struct opt *o = find_short_option(l->command, *p);
        if (o == NULL || o->arg == NULL)
            continue;
        if (p[1] != '\0')
            cmdline_store_value(l, o, p + 1);
        return p[1] == '\0' ? o : NULL;
    }
    return NULL;
}

static void cmdline_read_last_word(struct cmdline *l, bool dashes, bool more_operands)
{
    const char *word = l->word;
    const char *eq = strchr(word, '=');
    if (!dashes && strncmp(word, "--", 2) == 0 && eq != NULL) {
        l->option = find_long_option(l->command, word + 2);
        l->want = l->option != NULL && l->option->arg != NULL ? CMDLINE_VALUE : CMDLINE_NOTHING;
        l->before = (struct slice){word, (size_t)(eq + 1 - word)};
        l->word = eq + 1;
    } else if (!dashes && word[0] == '-') {
        l->want = CMDLINE_OPTION;
    } else if (more_operands) {
        l->want = CMDLINE_OPERAND;
    }
}

/* Sets the command, and returns the index of the first word after its name. Returns -1 if the last
 * word is a part of the name, or if no such command exists. */
static int cmdline_read_command(struct cmdline *l, const struct command *const *commands, int n,
                                char *const *words)
{
    if (n <= 1) {
        l->want = CMDLINE_COMMAND;
        l->command = l->word[0] == '-' ? command_find(commands, "proxy") : NULL;
        if (strchr(l->word, '=') != NULL && l->command != NULL)
            cmdline_read_last_word(l, false, false);
        return -1;
    }
    bool help = strcmp(words[0], "help") == 0;
    if (help && n == 2) {
        l->want = CMDLINE_HELP_TOPIC;
        return -1;
    }
    bool short_form = words[0][0] == '-'; /* the words begin with an option: `proxy` is omitted */
    int first = short_form ? 0 : 1;
    l->command = command_find(commands, short_form ? "proxy" : words[help]);
    if (l->command != NULL && l->command->verbs != NULL) {
        if (n == 2 + help) {
            l->want = CMDLINE_VERB;
            return -1;
        }
        l->command = command_find_verb(l->command, words[1 + help]);
        first = 2;
    }
    return help || l->command == NULL ? -1 : first;
}

void cmdline_read(struct cmdline *l, const struct command *const *commands, int n,
                  char *const *words)
{
    *l = (struct cmdline){.word = n > 0 ? words[n - 1] : ""};
    l->before.p = l->word;
    int first = cmdline_read_command(l, commands, n, words);
    if (first < 0)
        return;
    enum server_syntax server = l->command->server_command ? SERVER_OPERAND
                                : strstr(l->command->usage, "-- SERVER") != NULL
                                    ? SERVER_AFTER_DASHES
                                    : SERVER_NONE;
    bool one = server == SERVER_AFTER_DASHES && !cmdline_takes_operand(l->command, "ARG=VALUE");
    int operands_max = one ? 1 : l->command->operands_max;
    int operands = 0;
    bool dashes = false;
    const struct opt *pending = NULL;
    for (int i = first; i < n - 1; i++) {
        const char *word = words[i];
        if (pending != NULL) {
            cmdline_store_value(l, pending, word);
            pending = NULL;
        } else if (!dashes && strcmp(word, "--") == 0) {
            dashes = true;
            if (server != SERVER_NONE)
                l->server_at = i + 1;
        } else if (!dashes && word[0] == '-' && word[1] != '\0') {
            pending = cmdline_read_option(l, word);
        } else {
            operands++;
            if (server == SERVER_OPERAND)
                l->server_at = i;
        }
        if (l->server_at > 0) {
            l->want = CMDLINE_SERVER;
            return;
        }
    }
    if (pending != NULL) {
        l->want = CMDLINE_VALUE;
        l->option = pending;
    } else if (server == SERVER_OPERAND && l->word[0] != '-') {
        l->want = CMDLINE_SERVER;
        l->server_at = n - 1;
    } else {
        l->operands = operands;
        cmdline_read_last_word(l, dashes, operands < operands_max);
    }
}
