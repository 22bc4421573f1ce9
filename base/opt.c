#include "base/opt.h"

#include "base/nearest.h"
#include "base/text.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

void opt_open(struct opt_set *s, const struct opt *table)
{
    *s = (struct opt_set){.table = table, .operands_before_dashes = -1};
    while (table[s->n].name != NULL)
        s->n++;
    assert(s->n <= OPT_MAX);
    for (size_t i = 0; i < s->n; i++)
        s->value[i] = table[i].def;
}

void opt_close(struct opt_set *s)
{
    buf_close(&s->error);
}

static size_t opt_find(const struct opt_set *s, const char *name, size_t len)
{
    size_t i = 0;
    while (i < s->n &&
           (strlen(s->table[i].name) != len || memcmp(s->table[i].name, name, len) != 0))
        i++;
    return i;
}

static void opt_set_value(struct opt_set *s, size_t i, const char *value, enum opt_from from)
{
    size_t n = s->table[i].arg != NULL ? strlen(s->table[i].arg) : 0;
    bool many = n > 3 && strcmp(s->table[i].arg + n - 3, "...") == 0;
    if (many && s->many_n == OPT_MANY_MAX)
        s->overflow = true;
    else if (many)
        s->many[s->many_n++] = (struct opt_many){i, value, from};
    if (from < s->from[i])
        return;
    s->value[i] = value;
    s->from[i] = from;
}

static int opt_fail(struct opt_set *s, const char *fmt, const char *a, const char *b)
{
    buf_clear(&s->error);
    for (const char *p = fmt; *p != '\0'; p++) { /* replaces $1 by `a`, $2 by `b` */
        if (*p == '$' && (p[1] == '1' || p[1] == '2'))
            buf_adds(&s->error, *++p == '1' ? a : b);
        else
            buf_addc(&s->error, *p);
    }
    return MI_EINVAL;
}

bool opt_parse_yes_or_no(const char *value, bool *ret)
{
    static const char *const yes[] = {"yes", "true", "on", "1"};
    static const char *const no[] = {"no", "false", "off", "0"};
    for (size_t k = 0; k < MI_COUNT(yes); k++) {
        *ret = strcmp(value, yes[k]) == 0;
        if (*ret || strcmp(value, no[k]) == 0)
            return true;
    }
    return false;
}

static int opt_set_flag(struct opt_set *s, size_t i, const char *value, enum opt_from from)
{
    bool yes;
    if (!opt_parse_yes_or_no(value, &yes))
        return opt_fail(s, "$1: invalid value '$2': use yes or no", s->table[i].name, value);
    opt_set_value(s, i, yes ? "yes" : "no", from);
    return 0;
}

static int opt_fail_unknown_option(struct opt_set *s, const char *written, const char *name,
                                   size_t len)
{
    char word[NEAREST_MAX + 2]; /* a name longer than NEAREST_MAX has no nearest candidate */
    s->unknown = written;
    snprintf(word, sizeof word, "%.*s", (int)size_min(len, sizeof word), name);
    struct nearest nearest = nearest_begin_search(word);
    for (size_t i = 0; i < s->n; i++)
        nearest_add_candidate(&nearest, s->table[i].name);
    if (nearest.best == NULL)
        return opt_fail(s, "unknown option $1", written, "");
    return opt_fail(s, "unknown option $1; did you mean --$2?", written, nearest.best);
}

static int opt_parse_long(struct opt_set *s, int argc, char **argv, int *at)
{
    const char *word = argv[*at] + 2;
    const char *eq = strchr(word, '=');
    size_t len = eq != NULL ? (size_t)(eq - word) : strlen(word);
    size_t i = opt_find(s, word, len);
    if (i == s->n)
        return opt_fail_unknown_option(s, argv[*at], word, len);
    if (s->table[i].arg == NULL) {
        if (eq != NULL)
            return opt_fail(s, "option --$1 does not take a value", s->table[i].name, "");
        return opt_set_flag(s, i, "yes", OPT_FLAG);
    }
    if (eq != NULL)
        return opt_set_value(s, i, eq + 1, OPT_FLAG), 0;
    if (*at + 1 >= argc)
        return opt_fail(s, "option --$1 requires a value: --$1 $2", s->table[i].name,
                        s->table[i].arg);
    opt_set_value(s, i, argv[++*at], OPT_FLAG);
    return 0;
}

static int opt_parse_letters(struct opt_set *s, int argc, char **argv, int *at)
{
    for (const char *p = argv[*at] + 1; *p != '\0'; p++) {
        size_t i = 0;
        while (i < s->n && s->table[i].letter != *p)
            i++;
        if (i == s->n)
            return opt_fail(s, "unknown option -$1", (char[]){*p, '\0'}, "");
        if (s->table[i].arg == NULL) {
            opt_set_value(s, i, "yes", OPT_FLAG);
            continue;
        }
        if (p[1] != '\0')
            return opt_set_value(s, i, p + 1, OPT_FLAG), 0;
        if (*at + 1 >= argc)
            return opt_fail(s, "option -$1 requires a value: -$1 $2", (char[]){*p, '\0'},
                            s->table[i].arg);
        opt_set_value(s, i, argv[++*at], OPT_FLAG);
        return 0;
    }
    return 0;
}

int opt_parse(struct opt_set *s, int argc, char **argv, int from, char **operands, int *ret_next)
{
    int operands_n = 0;
    int i = from;
    for (; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) {
            s->operands_before_dashes = operands_n;
            i++;
            break;
        }
        if (argv[i][0] != '-' || argv[i][1] == '\0') {
            if (operands == NULL)
                break;
            operands[operands_n++] = argv[i];
            continue;
        }
        *ret_next = i;
        int st = argv[i][1] == '-' ? opt_parse_long(s, argc, argv, &i)
                                   : opt_parse_letters(s, argc, argv, &i);
        if (st < 0)
            return st;
    }
    for (; operands != NULL && i < argc; i++)
        operands[operands_n++] = argv[i];
    *ret_next = operands != NULL ? operands_n : i;
    return 0;
}

int opt_read_environment(struct opt_set *s)
{
    for (size_t i = 0; i < s->n; i++) {
        char name[80] = "MCP_INTERPOSER_";
        size_t n = strlen(name);
        for (const char *p = s->table[i].name; *p != '\0' && n + 1 < sizeof name; p++)
            name[n++] = *p == '-' ? '_' : (char)toupper((unsigned char)*p);
        name[n] = '\0';
        const char *value = getenv(name);
        if (value == NULL || value[0] == '\0')
            continue;
        if (s->table[i].arg != NULL) {
            opt_set_value(s, i, value, OPT_ENVIRONMENT);
        } else {
            int st = opt_set_flag(s, i, value, OPT_ENVIRONMENT);
            if (st < 0)
                return st;
        }
    }
    return 0;
}

int opt_set_from_config(struct opt_set *s, const char *name, const char *value)
{
    size_t i = opt_find(s, name, strlen(name));
    if (i == s->n)
        return MI_ENOENT;
    if (s->table[i].arg == NULL)
        return opt_set_flag(s, i, value, OPT_CONFIG);
    opt_set_value(s, i, value, OPT_CONFIG);
    return 0;
}

static size_t opt_find_existing_option(const struct opt_set *s, const char *name)
{
    size_t i = opt_find(s, name, strlen(name));
    assert(i < s->n); /* the table has no option of this name */
    return i;
}

const char *opt_get(const struct opt_set *s, const char *name)
{
    return s->value[opt_find_existing_option(s, name)];
}

/* `*at` is source * OPT_MANY_MAX + index of a value: all values are tested for the first source,
 * then all for the next source. So the values are returned in the order of their sources. */
const char *opt_next_value(const struct opt_set *s, const char *name, size_t *at)
{
    size_t i = opt_find_existing_option(s, name);
    for (; *at < (OPT_FLAG + 1) * OPT_MANY_MAX; ++*at) {
        size_t k = *at % OPT_MANY_MAX;
        if (k >= s->many_n || s->many[k].i != i || s->many[k].from != *at / OPT_MANY_MAX)
            continue;
        ++*at;
        return s->many[k].value;
    }
    return NULL;
}

bool opt_is_on(const struct opt_set *s, const char *name)
{
    const char *v = opt_get(s, name);
    return v != NULL && strcmp(v, "yes") == 0;
}

enum opt_from opt_get_source(const struct opt_set *s, const char *name)
{
    return s->from[opt_find_existing_option(s, name)];
}

#define HELP_COLUMNS 80
/* maximum width of an option; the help text of a wider option begins on a new line */
#define HELP_LEFT_MAX 30

static void opt_write_syntax(struct buf *b, const struct opt *o)
{
    buf_clear(b);
    if (o->letter != 0)
        buf_printf(b, "  -%c, --%s", o->letter, o->name);
    else
        buf_printf(b, "      --%s", o->name);
    if (o->arg != NULL)
        buf_printf(b, " %s", o->arg);
}

void opt_write_help(struct buf *b, const struct opt *table)
{
    struct buf left = {0}, text = {0};
    size_t indent = 0;
    for (const struct opt *o = table; o->name != NULL; o++) {
        if (o->help == NULL)
            continue;
        opt_write_syntax(&left, o);
        if (left.n <= HELP_LEFT_MAX && left.n + 2 > indent)
            indent = left.n + 2;
    }
    for (const struct opt *o = table; o->name != NULL; o++) {
        if (o->help == NULL)
            continue;
        opt_write_syntax(&left, o);
        buf_clear(&text);
        buf_adds(&text, o->help);
        if (o->def != NULL)
            buf_printf(&text, " [%s]", o->def);
        buf_slice_add(b, buf_slice(&left));
        if (left.n + 2 > indent)
            buf_printf(b, "\n%*s", (int)indent, "");
        else
            buf_printf(b, "%*s", (int)(indent - left.n), "");
        text_append_wrapped(b, buf_slice(&text), indent, HELP_COLUMNS);
        buf_addc(b, '\n');
    }
    buf_close(&left);
    buf_close(&text);
}
