/* config_file.c - the configuration file: sections, keys, and what is wrong with them. */
#include "cli/config_inner.h"

#include "base/nearest.h"
#include "cli/paths.h"
#include "proxy/deadline.h"
#include "vault/redact.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <stdlib.h>
#include <unistd.h>

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
    const char *why = config_refuse(o, value);
    if (why != NULL) {
        r->error_line = r->line;
        buf_printf(&r->error, "%s: ", o->name);
        config_tell_refusal(&r->error, o, value, why);
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
        assert(o != NULL);
        const char *why = config_refuse(o, value);
        struct config_value *k = why == NULL ? keep_value(r->s, value) : NULL;
        if (why != NULL) {
            r->error_line = r->line;
            buf_printf(&r->error, "%s: ", name);
            config_tell_refusal(&r->error, o, value, why);
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

int config_read_file(struct settings *s, const struct command *c, struct buf *error)
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
