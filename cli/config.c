#include "cli/config_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "base/when.h"
#include "cli/paths.h"
#include "vault/redact.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define NUMBER_MAX 1000000000

/* ---- values: the table's word for an argument is its type ---- */

static bool is_choice(const char *arg)
{
    return strchr(arg, '|') != NULL;
}

static bool is_one_of(const char *choices, const char *value)
{
    size_t n = strlen(value);
    for (const char *p = choices;; p++) {
        size_t len = strcspn(p, "|");
        if (len == n && memcmp(p, value, n) == 0)
            return true;
        p += len;
        if (*p == '\0')
            return false;
    }
}

static bool read_number(const char *value, int64_t *ret)
{
    int64_t n = 0;
    if (value[0] == '\0')
        return false;
    for (const char *p = value; *p != '\0'; p++) {
        if (!isdigit((unsigned char)*p))
            return false;
        n = n * 10 + (*p - '0');
        if (n > NUMBER_MAX)
            return false;
    }
    *ret = n;
    return true;
}

const char *config_refuse(const struct opt *o, const char *value)
{
    int64_t n;
    size_t size;
    if (o->arg == NULL)
        return NULL; /* opt.c has looked at flags */
    if (strcmp(o->arg, "SIZE") == 0)
        return units_size(value, &size) == 0 ? NULL : "is no size; write 512KiB, 64MiB or bytes";
    if (strcmp(o->arg, "DURATION") == 0)
        return units_duration(value, &n) == 0 ? NULL : "is no duration; write 500ms, 30s or 5m";
    if (strcmp(o->arg, "WHEN") == 0)
        return when_parse(value, 0, &n) == 0 ? NULL
                                             : "is no time; write 2h, today or 2026-01-31 17:05";
    if (strcmp(o->arg, "N") == 0)
        return read_number(value, &n) ? NULL : "is no number from 0 to 1000000000";
    if (is_choice(o->arg))
        return is_one_of(o->arg, value) ? NULL : "is none of";
    bool is_path = strcmp(o->arg, "DIR") == 0 || strcmp(o->arg, "FILE") == 0;
    return is_path && value[0] == '\0' ? "is no path" : NULL;
}

void config_tell_refusal(struct buf *b, const struct opt *o, const char *value, const char *why)
{
    buf_printf(b, "'%s' %s", value, why);
    if (is_choice(o->arg)) {
        buf_addc(b, ' ');
        buf_adds(b, o->arg);
    }
}

/* ---- all together ---- */

static int check_values(struct settings *s, struct buf *error)
{
    for (size_t i = 0; i < s->set.n; i++) {
        const struct opt *o = &s->set.table[i];
        const char *value = s->set.value[i];
        const char *why = value != NULL ? config_refuse(o, value) : NULL;
        if (why == NULL)
            continue;
        assert(s->set.from[i] != OPT_DEFAULT); /* our own table is wrong */
        if (s->set.from[i] == OPT_ENVIRONMENT) {
            buf_adds(error, "MCP_INTERPOSER_");
            for (const char *p = o->name; *p != '\0'; p++)
                buf_addc(error, *p == '-' ? '_' : (char)toupper((unsigned char)*p));
        } else {
            buf_printf(error, "--%s", o->name);
        }
        buf_adds(error, ": ");
        config_tell_refusal(error, o, value, why);
        return MI_EINVAL;
    }
    return 0;
}

/* Flags first: --config stands among them. A weaker source never replaces a stronger one. */
static int read_all(struct settings *s, const struct command *c, int argc, char **argv,
                    struct buf *error)
{
    if (!c->server_command) {
        s->gathered = calloc((size_t)argc + 1, sizeof *s->gathered);
        if (s->gathered == NULL)
            return MI_ENOMEM;
    }
    int next;
    int st = opt_parse(&s->set, argc, argv, 1, s->gathered, &next);
    if (st < 0)
        return st;
    if (opt_on(&s->set, "help") && opt_source(&s->set, "help") == OPT_FLAG)
        return 0;
    s->operands = c->server_command ? argv + next : s->gathered;
    s->operands_n = c->server_command ? argc - next : next;
    if (!c->server_command && s->operands_n > c->operands_max) {
        buf_printf(error, "'%s' is one argument too many", s->operands[c->operands_max]);
        return MI_EINVAL;
    }
    st = opt_env(&s->set);
    if (st == 0)
        st = check_values(s, error);
    if (st == 0)
        st = config_read_file(s, c, error);
    return st;
}

static void hint(const struct command *c)
{
    fprintf(stderr, "try: mcp-interposer %s --help\n", c->name);
}

static bool print_help(const struct command *c)
{
    struct buf b = {0};
    command_help(&b, c);
    bool ok = !b.failed && fwrite(b.p, 1, b.n, stdout) == b.n && fflush(stdout) == 0;
    buf_close(&b);
    return ok;
}

bool settings_read(struct settings *s, const struct command *c, int argc, char **argv)
{
    *s = (struct settings){0};
    opt_open(&s->set, c->table);
    struct buf error = {0};
    int st = read_all(s, c, argc, argv, &error);
    bool help = st == 0 && opt_on(&s->set, "help") && opt_source(&s->set, "help") == OPT_FLAG;
    if (help) {
        s->exit_status = print_help(c) ? EXIT_FINE : EXIT_TROUBLE;
    } else if (st < 0) {
        s->exit_status = st == MI_ENOMEM ? EXIT_TROUBLE : EXIT_USAGE;
        const char *why = error.n > 0 ? buf_str(&error) : buf_str(&s->set.error);
        log_error("%s", st == MI_ENOMEM ? "no memory" : why);
        if (st != MI_ENOMEM)
            hint(c);
    }
    buf_close(&error);
    if (!help && st == 0)
        return true;
    settings_close(s);
    return false;
}

void settings_close(struct settings *s)
{
    opt_close(&s->set);
    redact_close(s->rules);
    s->rules = NULL;
    free(s->gathered);
    s->gathered = NULL;
    s->operands = NULL;
    while (s->values != NULL) {
        struct config_value *next = s->values->next;
        free(s->values);
        s->values = next;
    }
}

const char *settings_each(const struct settings *s, const char *name, size_t *at)
{
    return opt_each(&s->set, name, at);
}

const char *settings_text(const struct settings *s, const char *name)
{
    return opt_get(&s->set, name);
}

bool settings_is(const struct settings *s, const char *name, const char *word)
{
    const char *v = opt_get(&s->set, name);
    return v != NULL && strcmp(v, word) == 0;
}

bool settings_on(const struct settings *s, const char *name)
{
    return opt_on(&s->set, name);
}

/* All four were looked at when they were read: a failure here is a wrong table. */
size_t settings_size(const struct settings *s, const char *name)
{
    size_t v = 0;
    int st = units_size(opt_get(&s->set, name), &v);
    assert(st == 0);
    return v;
}

int64_t settings_duration_us(const struct settings *s, const char *name)
{
    int64_t v = 0;
    int st = units_duration(opt_get(&s->set, name), &v);
    assert(st == 0);
    return v;
}

int64_t settings_number(const struct settings *s, const char *name)
{
    int64_t v = 0;
    bool ok = read_number(opt_get(&s->set, name), &v);
    assert(ok);
    return v;
}

int64_t settings_when_us(const struct settings *s, const char *name)
{
    int64_t v = 0;
    int st = when_parse(opt_get(&s->set, name), clock_wall_us(), &v);
    assert(st == 0);
    return v;
}

int settings_usage(const struct command *c, const char *fmt, ...)
{
    char text[LOG_LINE_MAX];
    va_list ap;
    va_start(ap, fmt);
    if (vsnprintf(text, sizeof text, fmt, ap) < 0)
        text[0] = '\0';
    va_end(ap);
    log_error("%s", text);
    hint(c);
    return EXIT_USAGE;
}

char *settings_vault(const struct settings *s)
{
    char *path = path_vault(opt_get(&s->set, "vault"));
    if (path == NULL)
        log_error("%s",
                  errno == ENOENT
                      ? "no place for the vault: there is no home directory; name one with --vault"
                      : "no memory");
    return path;
}
