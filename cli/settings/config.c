#include "cli/settings/config.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/time_point.h"
#include "base/units.h"
#include "cli/settings/config_file.h"
#include "cli/settings/guess.h"
#include "cli/settings/option_value.h"
#include "cli/settings/paths.h"
#include "redact/sanitizer.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static int check_option_values(struct settings *s, struct buf *error)
{
    for (size_t i = 0; i < s->set.n; i++) {
        const struct opt *o = &s->set.table[i];
        const char *value = s->set.value[i];
        struct buf why = {0};
        if (value == NULL || value_check_against_option(o, value, &why))
            continue;
        /* fails only if a default in the command's table is invalid */
        assert(s->set.from[i] != OPT_DEFAULT);
        if (s->set.from[i] == OPT_ENVIRONMENT) {
            buf_adds(error, "MCP_INTERPOSER_");
            for (const char *p = o->name; *p != '\0'; p++)
                buf_addc(error, *p == '-' ? '_' : (char)toupper((unsigned char)*p));
        } else {
            buf_printf(error, "--%s", o->name);
        }
        buf_printf(error, ": %s", buf_str(&why));
        buf_close(&why);
        return MI_EINVAL;
    }
    return 0;
}

/* Returns whether --help was given on the command line. MCP_INTERPOSER_HELP in the environment does
 * not count, because it must not disable a command. */
static bool help_option_is_given(const struct settings *s)
{
    return opt_is_on(&s->set, "help") && opt_get_source(&s->set, "help") == OPT_FLAG;
}

/* Reads the command line and the environment before the configuration file, because they may set
 * --config. opt_set() never replaces the value of a stronger source. */
static int read_arguments(struct settings *s, int argc, char **argv, struct buf *error)
{
    const struct command *c = s->command;
    if (!c->server_command) {
        s->gathered = calloc((size_t)argc + 1, sizeof *s->gathered);
        if (s->gathered == NULL)
            return MI_ENOMEM;
    }
    int next;
    int st = opt_parse(&s->set, argc, argv, 1, s->gathered, &next);
    if (st < 0 || help_option_is_given(s))
        return st;
    s->operands = c->server_command ? argv + next : s->gathered;
    s->operands_n = c->server_command ? argc - next : next;
    if (!c->server_command && s->operands_n > c->operands_max) {
        buf_printf(error, "unexpected argument '%s'", s->operands[c->operands_max]);
        return MI_EINVAL;
    }
    st = opt_read_environment(&s->set);
    return st < 0 ? st : check_option_values(s, error);
}

enum settings_result settings_read_all_sources(struct settings *s,
                                               const struct command *const *commands,
                                               const struct command *c, int argc, char **argv,
                                               struct buf *error)
{
    *s = (struct settings){.commands = commands, .command = c};
    opt_open(&s->set, c->table);
    enum settings_result invalid = SETTINGS_INVALID;
    int st = read_arguments(s, argc, argv, error);
    if (st == 0 && help_option_is_given(s))
        return SETTINGS_HELP;
    if (st == 0) {
        invalid = SETTINGS_BAD_FILE;
        st = settings_read_file(s, error);
    }
    const char *hint = s->set.unknown != NULL ? guess_hint_for_option(s->set.unknown) : NULL;
    if (st < 0 && hint != NULL)
        buf_printf(error, "unknown option %s; %s", s->set.unknown, hint);
    else if (st < 0 && error->n == 0)
        buf_adds(error, st == MI_ENOMEM ? "out of memory" : buf_str(&s->set.error));
    return st == MI_ENOMEM ? SETTINGS_NO_MEMORY : st < 0 ? invalid : SETTINGS_READY;
}

void settings_close(struct settings *s)
{
    opt_close(&s->set);
    redact_close(s->rules);
    s->rules = NULL;
    free(s->gathered);
    free(s->servers);
    s->gathered = NULL;
    s->servers = NULL;
    s->servers_n = s->servers_cap = 0;
    s->operands = NULL;
    buf_close(&s->file);
}

const char *settings_next_value(const struct settings *s, const char *name, size_t *at)
{
    return opt_next_value(&s->set, name, at);
}

const char *settings_get_text(const struct settings *s, const char *name)
{
    return opt_get(&s->set, name);
}

const char *settings_get_text_for_server(const struct settings *s, const char *server,
                                         const char *name)
{
    if (opt_get_source(&s->set, name) >= OPT_ENVIRONMENT)
        return opt_get(&s->set, name);
    for (size_t i = s->servers_n; i-- > 0;)
        if (strcmp(s->servers[i].server, server) == 0 && strcmp(s->servers[i].key, name) == 0)
            return s->servers[i].value;
    return opt_get(&s->set, name);
}

bool settings_value_equals(const struct settings *s, const char *name, const char *word)
{
    const char *v = opt_get(&s->set, name);
    return v != NULL && strcmp(v, word) == 0;
}

bool settings_is_on(const struct settings *s, const char *name)
{
    return opt_is_on(&s->set, name);
}

/* The values were checked when they were read, so reading them again can fail only if the command's
 * table is wrong. */
size_t settings_get_size(const struct settings *s, const char *name)
{
    size_t v = 0;
    int st = units_parse_size(opt_get(&s->set, name), &v);
    assert(st == 0);
    return v;
}

int64_t settings_duration_us(const struct settings *s, const char *name)
{
    int64_t v = 0;
    int st = units_parse_duration(opt_get(&s->set, name), &v);
    assert(st == 0);
    return v;
}

int64_t settings_get_number(const struct settings *s, const char *name)
{
    int64_t v = 0;
    bool ok = value_parse_number(opt_get(&s->set, name), &v);
    assert(ok);
    return v;
}

int64_t settings_get_time_us(const struct settings *s, const char *name)
{
    int64_t v = 0;
    int st = time_point_parse_text(opt_get(&s->set, name), clock_wall_us(), &v);
    assert(st == 0);
    return v;
}

int settings_fail_usage(const struct settings *s, const char *fmt, ...)
{
    char text[LOG_LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    return command_fail_usage(s->command, text);
}

char *settings_get_vault_path(const struct settings *s)
{
    char *path = path_of_vault(opt_get(&s->set, "vault"));
    if (path == NULL)
        log_error("%s",
                  errno == ENOENT
                      ? "cannot locate the vault: the home directory is unknown; use --vault DIR"
                      : "out of memory");
    return path;
}

bool settings_has_option(const struct settings *s, const char *name)
{
    for (const struct opt *o = s->set.table; o->name != NULL; o++)
        if (strcmp(o->name, name) == 0)
            return true;
    return false;
}

int settings_journal_dir(const struct settings *s, char **ret)
{
    const char *given =
        settings_has_option(s, "journal-dir") ? opt_get(&s->set, "journal-dir") : NULL;
    *ret = NULL;
    if (given == NULL)
        return EXIT_FINE;
    char *path = path_expand_home(given);
    if (path == NULL) {
        log_error("%s", errno == ENOENT
                            ? "cannot resolve --journal-dir: the home directory is unknown"
                            : "out of memory");
        return EXIT_TROUBLE;
    }
    *ret = path;
    return EXIT_FINE;
}
