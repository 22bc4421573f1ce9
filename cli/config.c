#include "cli/config.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/nearest.h"
#include "base/units.h"
#include "base/when.h"
#include "cli/paths.h"
#include "proxy/deadline.h"
#include "vault/redact.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NUMBER_MAX 1000000000

struct config_value {
    struct config_value *next;
    char text[];
};

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

/* NULL, or why this cannot be the value of that option. */
static const char *refuse(const struct opt *o, const char *value)
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

static void tell_refusal(struct buf *b, const struct opt *o, const char *value, const char *why)
{
    buf_printf(b, "'%s' %s", value, why);
    if (is_choice(o->arg)) {
        buf_addc(b, ' ');
        buf_adds(b, o->arg);
    }
}

/* ---- the file ---- */

struct reading {
    struct settings *s;
    const struct command *command;
    const char *path;
    const char *text; /* what inih has not seen yet; NUL-ended */
    int line;         /* of the last line handed to inih */
    int error_line;   /* 0: no error of ours */
    struct buf error; /* owned */
};

static void fail_at(struct reading *r, const char *what, const char *word, const char *near)
{
    r->error_line = r->line;
    buf_printf(&r->error, "%s '%s'", what, word);
    if (near != NULL)
        buf_printf(&r->error, "; did you mean '%s'?", near);
}

/* inih's reader, like fgets(). White space in front is left out, as inih would take an indented line
 * for more of the value before it. After an error there is nothing more to read. */
static char *next_line(char *line, int max, void *ctx)
{
    struct reading *r = ctx;
    if (*r->text == '\0' || r->error_line != 0)
        return NULL;
    r->line++;
    size_t n = strcspn(r->text, "\n");
    const char *from = r->text;
    const char *to = from + n;
    r->text = *to == '\n' ? to + 1 : to;
    while (from < to && isspace((unsigned char)*from))
        from++;
    n = (size_t)(to - from);
    if (n + 1 > (size_t)max - 1) {
        r->error_line = r->line;
        buf_printf(&r->error, "the line is longer than %d bytes", max - 2);
        n = 0;
    }
    memcpy(line, from, n);
    memcpy(line + n, "\n", 2);
    return line;
}

static const struct opt *find_opt(const struct command *c, const char *name)
{
    /* These two are for the command line alone. */
    if (strcmp(name, "config") == 0 || strcmp(name, "help") == 0)
        return NULL;
    for (const struct opt *o = c->table; o->name != NULL; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

static struct config_value *keep_value(struct settings *s, const char *value)
{
    size_t n = strlen(value) + 1;
    struct config_value *k = malloc(sizeof *k + n);
    if (k == NULL)
        return NULL;
    memcpy(k->text, value, n);
    k->next = s->values;
    s->values = k;
    return k;
}

static int apply(struct reading *r, const struct command *c, const struct opt *o, const char *value)
{
    const char *why = refuse(o, value);
    if (why != NULL) {
        r->error_line = r->line;
        buf_printf(&r->error, "%s: ", o->name);
        tell_refusal(&r->error, o, value, why);
        return 0;
    }
    struct opt_set scratch; /* a key of another command: checked, not used */
    bool mine = strcmp(c->name, r->command->name) == 0;
    struct opt_set *set = mine ? &r->s->set : &scratch;
    if (!mine)
        opt_open(&scratch, c->table);
    struct config_value *k = keep_value(r->s, value);
    if (k == NULL || opt_config(set, o->name, k->text) < 0) {
        r->error_line = r->line;
        buf_adds(&r->error, k == NULL ? "no memory" : buf_str(&set->error));
    }
    if (!mine)
        opt_close(&scratch);
    return r->error_line == 0;
}

/* `[timeout]`: a rule of --timeout in two halves. inih also takes the colon of `tool:NAME = 5m` for the
 * end of the key: then the rest of the rule is the value. */
static int on_timeout(struct reading *r, const char *name, const char *value)
{
    const struct command *c = &command_proxy;
    const struct opt *o = find_opt(c, "timeout");
    assert(o != NULL);
    struct deadlines scratch;
    struct buf rule = {0};
    const char *eq = strcmp(name, "tool") == 0 ? strrchr(value, '=') : NULL;
    const char *what_end = eq;
    while (what_end != NULL && what_end > value && isspace((unsigned char)what_end[-1]))
        what_end--;
    if (eq != NULL)
        buf_printf(&rule, "tool:%.*s=%s", (int)(what_end - value), value,
                   eq + 1 + strspn(eq + 1, " \t"));
    else
        buf_printf(&rule, "%s=%s", name, value);
    deadlines_open(&scratch);
    int ok = 0;
    if (strchr(buf_str(&rule), ',') != NULL) {
        r->error_line = r->line;
        buf_adds(&r->error, "a rule of [timeout] has no comma");
    } else if (deadlines_add(&scratch, buf_str(&rule), &r->error) < 0) {
        r->error_line = r->line;
    } else {
        ok = apply(r, c, o, buf_str(&rule));
    }
    deadlines_close(&scratch);
    buf_close(&rule);
    return ok;
}

/* `[redact]`: the user's rules of the sanitizer. */
static int on_redact(struct reading *r, const char *name, const char *value)
{
    struct settings *s = r->s;
    int st = s->rules == NULL ? redact_open(&s->rules, &r->error) : 0;
    if (st == 0)
        st = redact_add_rule(s->rules, name, value, &r->error);
    if (st == 0)
        return 1;
    r->error_line = r->line;
    if (st == MI_ENOMEM)
        buf_adds(&r->error, "no memory");
    return 0;
}

/* `[retention]`: kept as text, whatever the command. */
static int on_retention(struct reading *r, const char *name, const char *value)
{
    static const char *const keys[RETAIN_RULES] = {"older-than", "keep-last", "max-size"};
    struct nearest near = nearest_to(name);
    for (size_t i = 0; i < RETAIN_RULES; i++) {
        nearest_try(&near, keys[i]);
        if (strcmp(name, keys[i]) != 0)
            continue;
        const struct opt *o = find_opt(&command_prune, name);
        const char *why = refuse(o, value);
        struct config_value *k = why == NULL ? keep_value(r->s, value) : NULL;
        if (why != NULL) {
            r->error_line = r->line;
            buf_printf(&r->error, "%s: ", name);
            tell_refusal(&r->error, o, value, why);
        } else if (k == NULL) {
            r->error_line = r->line;
            buf_adds(&r->error, "no memory");
        } else {
            r->s->retention[i] = k->text;
        }
        return r->error_line == 0;
    }
    fail_at(r, "unknown key", name, near.best);
    return 0;
}

static int on_key(void *ctx, const char *section, const char *name, const char *value)
{
    struct reading *r = ctx;
    if (strcmp(section, "timeout") == 0)
        return on_timeout(r, name, value);
    if (strcmp(section, "retention") == 0)
        return on_retention(r, name, value);
    if (strcmp(section, "redact") == 0)
        return on_redact(r, name, value);
    struct nearest section_near = nearest_to(section);
    struct nearest key_near = nearest_to(name);
    bool section_known = section[0] == '\0';
    bool key_known = false;
    for (size_t i = 0; commands[i] != NULL; i++) {
        const struct command *c = commands[i];
        nearest_try(&section_near, c->name);
        if (section[0] != '\0' && strcmp(section, c->name) != 0)
            continue;
        section_known = true;
        for (const struct opt *o = c->table; o->name != NULL; o++)
            if (find_opt(c, o->name) != NULL)
                nearest_try(&key_near, o->name);
        const struct opt *o = find_opt(c, name);
        if (o == NULL)
            continue;
        key_known = true;
        if (!apply(r, c, o, value))
            return 0;
    }
    if (!section_known)
        fail_at(r, "there is no command for section", section, section_near.best);
    else if (!key_known)
        fail_at(r, "unknown key", name, key_near.best);
    return key_known;
}

/* The whole file in `b`. 0, MI_ENOENT or MI_EIO. */
static int slurp(const char *path, struct buf *b)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? MI_ENOENT : MI_EIO;
    ssize_t n = 1;
    while (n > 0 && b->n <= CONFIG_FILE_MAX) {
        if (!buf_room(b, 4096)) {
            errno = ENOMEM;
            n = -1;
            break;
        }
        n = read(fd, b->p + b->n, 4096);
        if (n > 0)
            b->n += (size_t)n;
    }
    int e = b->n > CONFIG_FILE_MAX ? EFBIG : n < 0 ? errno : 0;
    close(fd);
    errno = e;
    return e == 0 ? 0 : MI_EIO;
}

static int read_lines(struct settings *s, const struct command *c, const char *path,
                      struct buf *text, struct buf *error)
{
    struct reading r = {.s = s, .command = c, .path = path, .text = buf_str(text)};
    int st = 0;
    if (strlen(r.text) != text->n) {
        buf_printf(error, "%s: this is no text: it holds a NUL byte", path);
        return MI_EINVAL;
    }
    int line = ini_parse_stream(next_line, &r, on_key, &r);
    if (line < 0) {
        buf_printf(error, "%s: no memory to read it", path);
        st = MI_ENOMEM;
    } else if (line > 0 && (r.error_line == 0 || line < r.error_line)) {
        buf_printf(error, "%s:%d: neither 'key = value' nor '[section]'", path, line);
        st = MI_EINVAL;
    } else if (r.error_line != 0) {
        buf_printf(error, "%s:%d: %s", path, r.error_line, buf_str(&r.error));
        st = MI_EINVAL;
    }
    buf_close(&r.error);
    if (st == 0 && s->rules != NULL) {
        redact_use(s->rules);
        s->rules = NULL;
    }
    return st;
}

static int read_file(struct settings *s, const struct command *c, struct buf *error)
{
    const char *named = opt_get(&s->set, "config");
    char *path = path_config(named);
    if (path == NULL)
        return named == NULL && errno == ENOENT ? 0 : MI_ENOMEM; /* no home, no file */
    struct buf text = {0};
    int st = slurp(path, &text);
    if (st == 0) {
        st = read_lines(s, c, path, &text, error);
    } else if (st == MI_ENOENT && named == NULL) {
        st = 0;
    } else {
        buf_printf(error, "cannot read configuration %s: %s", path, strerror(errno));
    }
    buf_close(&text);
    free(path);
    return st;
}

/* ---- all together ---- */

static int check_values(struct settings *s, struct buf *error)
{
    for (size_t i = 0; i < s->set.n; i++) {
        const struct opt *o = &s->set.table[i];
        const char *value = s->set.value[i];
        const char *why = value != NULL ? refuse(o, value) : NULL;
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
        tell_refusal(error, o, value, why);
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
        st = read_file(s, c, error);
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
