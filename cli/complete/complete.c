#include "cli/complete/complete.h"

#include "cli/complete/cmdline.h"
#include "cli/complete/recorded.h"
#include "cli/look/search/question.h"
#include "cli/settings/config.h"
#include "cli/wrap/clients.h"
#include "wire/mcp/method.h"
#include "wire/mcp/rule.h"

#include <stdio.h>
#include <stdlib.h>

struct completing {
    const struct command *const *commands;
    struct cmdline line;
    struct candidates found;
};

/* Adds candidates from the vault that the typed command would read: --vault and --config of the
 * command line are used. */
static void complete_names_of_vault(struct completing *x, enum recorded what)
{
    struct buf vault = {0}, config = {0}, error = {0};
    struct settings s;
    char name[] = "mcp-interposer";
    char *argv[4] = {name};
    int argc = 1;
    if (x->line.vault != NULL) {
        buf_printf(&vault, "--vault=%s", x->line.vault);
        argv[argc++] = vault.p;
    }
    if (x->line.config != NULL) {
        buf_printf(&config, "--config=%s", x->line.config);
        argv[argc++] = config.p;
    }
    if (!vault.failed && !config.failed) {
        char *path = NULL;
        if (settings_read_all_sources(&s, x->commands, x->line.command, argc, argv, &error) ==
            SETTINGS_READY)
            path = settings_get_vault_path(&s);
        if (path != NULL)
            recorded_add_candidates(&x->found, what, path);
        free(path);
        settings_close(&s);
    }
    buf_close(&vault);
    buf_close(&config);
    buf_close(&error);
}

static void complete_command_names(struct completing *x)
{
    for (const struct command *const *c = x->commands; *c != NULL; c++) {
        candidates_add(&x->found, (*c)->name, (*c)->summary);
        if ((*c)->aliases != NULL)
            candidates_add_words(&x->found, (*c)->aliases);
    }
    candidates_add(&x->found, "help", "show the help of a command");
}

static void complete_option_names(struct completing *x)
{
    for (const struct opt *o = x->line.command->table; o->name != NULL; o++) {
        if (o->help == NULL)
            continue;
        char letter[] = {'-', o->letter, '\0'};
        struct buf name = {0};
        buf_printf(&name, "--%s", o->name);
        candidates_add(&x->found, buf_str(&name), o->help);
        if (o->letter != 0)
            candidates_add(&x->found, letter, o->help);
        buf_close(&name);
    }
}

/* Moves the elements of a comma-separated list, except the last one, from `word` to `before`, so
 * that only the last element is completed. */
static void select_last_list_element(struct candidates *c)
{
    const char *comma = strrchr(c->word, ',');
    if (comma == NULL)
        return;
    size_t n = (size_t)(comma + 1 - c->word);
    /* `before` ends where `word` begins, so this adds the moved elements to `before` */
    c->before.n += n;
    c->word += n;
}

static void complete_names_of_findings(struct completing *x, bool severities)
{
    if (severities)
        candidates_add_words(&x->found, "error|warning|note|none");
    for (size_t i = 0; i < FIND_COUNT; i++)
        candidates_add(&x->found, finding_name((enum finding)i), finding_meaning((enum finding)i));
    for (size_t i = 0; i < RULE_COUNT; i++)
        candidates_add(&x->found, rule_name((enum rule)i), rule_meaning((enum rule)i));
}

static void complete_recorded_names(struct completing *x, const char *option)
{
    bool is_server = strcmp(option, "server") == 0 ||
                     (strcmp(option, "name") == 0 && strcmp(x->line.command->name, "replay") == 0);
    if (is_server)
        complete_names_of_vault(x, RECORDED_SERVER);
    else if (strcmp(option, "client") == 0)
        complete_names_of_vault(x, RECORDED_CLIENT);
    else if (strcmp(option, "tool") == 0)
        complete_names_of_vault(x, RECORDED_TOOL);
    else if (strcmp(option, "method") == 0)
        complete_names_of_vault(x, RECORDED_METHOD);
}

/* Compares the name of the option's argument, but ignores the dots that mark a repeatable
 * option. */
static bool option_takes_argument(const struct opt *o, const char *name)
{
    size_t n = strlen(name);
    return strncmp(o->arg, name, n) == 0 && (o->arg[n] == '\0' || strcmp(o->arg + n, "...") == 0);
}

static void complete_option_value(struct completing *x)
{
    const struct opt *o = x->line.option;
    if (strchr(o->arg, '|') != NULL) {
        candidates_add_words(&x->found, o->arg);
    } else if (option_takes_argument(o, "CLIENT")) {
        for (size_t i = 0; client_name(i) != NULL; i++)
            candidates_add(&x->found, client_name(i), NULL);
    } else if (option_takes_argument(o, "FILE")) {
        candidates_request_from_shell(&x->found, "files");
    } else if (option_takes_argument(o, "DIR")) {
        candidates_request_from_shell(&x->found, "directories");
    } else if (option_takes_argument(o, "SESSION")) {
        complete_names_of_vault(x, RECORDED_SESSION);
    } else if (option_takes_argument(o, "LIST")) {
        select_last_list_element(&x->found);
        complete_names_of_findings(x, strcmp(o->name, "fail-on") == 0);
    } else if (option_takes_argument(o, "TOOLS")) {
        select_last_list_element(&x->found);
        complete_names_of_vault(x, RECORDED_TOOL);
    } else {
        complete_recorded_names(x, o->name);
    }
}

/* Adds the fields of `search` as `FIELD:`, or the values of a field that is already typed. */
static void complete_search_field(struct completing *x)
{
    struct candidates *c = &x->found;
    for (size_t i = 0; i < QUESTION_FIELDS; i++) {
        const char *values;
        const char *name = question_field(i, &values);
        size_t n = strlen(name);
        struct buf field = {0};
        buf_printf(&field, "%s:", name);
        if (strncmp(c->word, name, n) != 0 || c->word[n] != ':') {
            candidates_add(c, buf_str(&field), NULL);
        } else {
            c->before = (struct slice){c->word, n + 1};
            c->word += n + 1;
            if (values != NULL)
                candidates_add_words(c, values);
            else
                complete_recorded_names(x, name);
            i = QUESTION_FIELDS;
        }
        buf_close(&field);
    }
}

/* The first operand is a method that a client may request, or the name of a tool. The second
 * operand is the name of a tool. */
static void complete_request_operand(struct completing *x)
{
    const struct method *m;
    for (size_t i = 0; x->line.operands == 0 && (m = method_at_index(i)) != NULL; i++)
        if (m->is_request && m->from_client != 0)
            candidates_add(&x->found, m->name, NULL);
    if (x->line.operands < 2)
        complete_names_of_vault(x, RECORDED_TOOL);
}

static void complete_operand(struct completing *x)
{
    const struct command *c = x->line.command;
    const char *last = strrchr(c->usage, ' ');
    if (cmdline_takes_operand(c, "SESSION"))
        complete_names_of_vault(x, RECORDED_SESSION);
    if (cmdline_takes_operand(c, "[METHOD]"))
        complete_request_operand(x);
    if (cmdline_takes_operand(c, "[SERVER]"))
        complete_names_of_vault(x, RECORDED_SERVER);
    if (cmdline_takes_operand(c, "FIELD:"))
        complete_search_field(x);
    else if (last != NULL && last[1] >= 'a' && last[1] <= 'z')
        /* the usage ends with words such as bash|zsh|fish */
        candidates_add_words(&x->found, last + 1);
    if (cmdline_takes_operand(c, "FILE"))
        candidates_request_from_shell(&x->found, "files");
}

void complete_command_line(struct buf *ret, const struct command *const *commands, int n,
                           char *const *words)
{
    struct completing x = {.commands = commands};
    cmdline_read(&x.line, commands, n, words);
    x.found.before = x.line.before;
    x.found.word = x.line.word;
    switch (x.line.want) {
    case CMDLINE_NOTHING:
        break;
    case CMDLINE_COMMAND:
        complete_command_names(&x);
        candidates_add(&x.found, "--help", "show the help");
        candidates_add(&x.found, "--version", "show the version");
        if (x.line.word[0] == '-')
            complete_option_names(&x);
        break;
    case CMDLINE_VERB:
        for (const struct command *const *v = x.line.command->verbs; *v != NULL; v++)
            candidates_add(&x.found, strchr((*v)->name, ' ') + 1, (*v)->summary);
        candidates_add(&x.found, "--help", "show the help");
        break;
    case CMDLINE_HELP_TOPIC:
        complete_command_names(&x);
        break;
    case CMDLINE_OPTION:
        complete_option_names(&x);
        break;
    case CMDLINE_VALUE:
        complete_option_value(&x);
        break;
    case CMDLINE_OPERAND:
        complete_operand(&x);
        break;
    case CMDLINE_SERVER: {
        char text[32];
        snprintf(text, sizeof text, "server %d", x.line.server_at);
        candidates_request_from_shell(&x.found, text);
        break;
    }
    }
    buf_slice_add(ret, buf_slice(&x.found.lines));
    ret->failed |= x.found.lines.failed;
    buf_close(&x.found.lines);
}
