#include "proxy/session/deadline.h"

#include "base/grow.h"
#include "base/units.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"

#include <fnmatch.h>
#include <stdlib.h>

#define NAME_MAX_BYTES 1024 /* longest method or tool name; longer names match no rule */
#define SUGGESTED_MAX 64    /* longest name in a suggested rule */

/* Kinds of rules; a later kind is more specific. */
enum specific { FOR_GLOB, FOR_METHOD, FOR_TOOL_GLOB, FOR_TOOL };

struct deadline_rule {
    enum specific kind;
    size_t plain; /* number of characters in `pattern` that are not wildcards */
    int64_t us;
    char *pattern; /* owned */
};

void deadlines_open(struct deadlines *d)
{
    *d = (struct deadlines){.default_us = DEADLINE_DEFAULT_US};
}

void deadlines_close(struct deadlines *d)
{
    for (size_t i = 0; i < d->n; i++)
        free(d->rules[i].pattern);
    free(d->rules);
    *d = (struct deadlines){0};
}

static bool rule_is_glob(const char *s)
{
    return strpbrk(s, "*?[") != NULL;
}

static int add_deadline_rule(struct deadlines *d, const char *what, int64_t us, struct buf *error)
{
    bool tool = strncmp(what, "tool:", 5) == 0;
    const char *pattern = tool ? what + 5 : what;
    if (pattern[0] == '\0') {
        buf_printf(error,
                   "missing %s name before '=' in '%s=': use tool:NAME=30s or tools/call=30s",
                   tool ? "tool" : "method", what);
        return MI_EINVAL;
    }
    if (!tool && !rule_is_glob(what) && !method_is_plausible(what, error)) {
        buf_printf(error,
                   " Use a duration alone, METHOD=DURATION, a glob such as resources/*=DURATION, "
                   "or tool:%s=DURATION for a tool",
                   strchr(what, '/') == NULL ? what : "NAME");
        return MI_EINVAL;
    }
    if (d->n == DEADLINES_MAX) {
        buf_printf(error, "too many rules, the limit is %d: use globs", DEADLINES_MAX);
        return MI_EFULL;
    }
    if (!GROW(d->rules, d->n, d->cap))
        return MI_ENOMEM;
    char *copy = strdup(pattern);
    if (copy == NULL)
        return MI_ENOMEM;
    bool glob = rule_is_glob(pattern);
    size_t plain = 0;
    for (const char *c = pattern; *c != '\0'; c++)
        plain += *c != '*' && *c != '?';
    d->rules[d->n++] = (struct deadline_rule){
        .kind = tool   ? (glob ? FOR_TOOL_GLOB : FOR_TOOL)
                : glob ? FOR_GLOB
                       : FOR_METHOD,
        .plain = plain,
        .us = us,
        .pattern = copy,
    };
    return 0;
}

static int parse_and_set_deadline(struct deadlines *d, const char *what, const char *duration,
                                  struct buf *error)
{
    int64_t us;
    if (units_parse_duration(duration, &us) < 0) {
        buf_printf(error,
                   "invalid duration '%s': use a number and a unit, such as 500ms, 30s or 5m, or 0 "
                   "for never",
                   duration);
        return MI_EINVAL;
    }
    if (strcmp(what, "default") != 0 && strcmp(what, "*") != 0)
        return add_deadline_rule(d, what, us, error);
    d->default_us = us;
    return 0;
}

int deadlines_add(struct deadlines *d, const char *text, struct buf *error)
{
    char *copy = strdup(text);
    int st = copy == NULL ? MI_ENOMEM : 0;
    for (char *p = copy, *next; st == 0 && p != NULL; p = next) {
        next = strchr(p, ',');
        if (next != NULL)
            *next++ = '\0';
        /* A tool name may contain '=': the last '=' separates the name from the duration. */
        char *eq = strrchr(p, '=');
        if (eq != NULL)
            *eq = '\0';
        st = parse_and_set_deadline(d, eq != NULL ? p : "default", eq != NULL ? eq + 1 : p, error);
    }
    free(copy);
    return st;
}

/* Returns how specific the rule is for this request, or 0 if it does not match. */
static size_t compute_rule_specificity(const struct deadline_rule *r, const char *method,
                                       const char *tool)
{
    bool for_tool = r->kind == FOR_TOOL || r->kind == FOR_TOOL_GLOB;
    const char *name = for_tool ? tool : method;
    if (name == NULL || fnmatch(r->pattern, name, FNM_NOESCAPE) != 0)
        return 0;
    return (size_t)r->kind * 4096 + r->plain + 1;
}

/* Writes the name without JSON escapes into the buffer and returns it; NULL if it is too long. */
static const char *unescape_name(struct slice raw, char buffer[NAME_MAX_BYTES])
{
    size_t n;
    if (raw.p == NULL || json_unescape_to(raw, buffer, NAME_MAX_BYTES - 1, &n) < 0)
        return NULL;
    buffer[n] = '\0';
    return buffer;
}

/* Returns the most specific rule for this request, or NULL if only the default applies. */
static const struct deadline_rule *find_deadline_rule(const struct deadlines *d,
                                                      struct slice method, struct slice target)
{
    char method_buffer[NAME_MAX_BYTES], tool_buffer[NAME_MAX_BYTES];
    const struct deadline_rule *best = NULL;
    size_t best_fit = 0;
    const char *name = d->n > 0 ? unescape_name(method, method_buffer) : NULL;
    bool call = name != NULL && strcmp(name, "tools/call") == 0;
    const char *tool = call ? unescape_name(target, tool_buffer) : NULL;
    for (size_t i = 0; name != NULL && i < d->n; i++) {
        size_t f = compute_rule_specificity(&d->rules[i], name, tool);
        if (f > 0 && f >= best_fit) {
            best_fit = f;
            best = &d->rules[i];
        }
    }
    return best;
}

int64_t deadline_of_request(const struct deadlines *d, unsigned flags, struct slice method,
                            struct slice target)
{
    const struct deadline_rule *best = find_deadline_rule(d, method, target);
    if (flags & METHOD_PATIENT)
        return best != NULL && best->kind == FOR_METHOD ? best->us : 0;
    if (best != NULL)
        return best->us;
    int64_t initialize_us = d->login ? DEADLINE_LOGIN_US : DEADLINE_INITIALIZE_US;
    bool longer = d->default_us > 0 && d->default_us < initialize_us;
    return longer && json_key_is(method, "initialize") ? initialize_us : d->default_us;
}

int64_t deadline_of_repeated_initialize(const struct deadlines *d)
{
    const struct deadline_rule *rule =
        find_deadline_rule(d, slice_of("initialize"), (struct slice){0});
    return rule != NULL && rule->us > 0 ? rule->us : DEADLINE_DEFAULT_US;
}

int64_t deadline_suggest_minutes(int64_t us)
{
    int64_t minutes = (2 * us + 59999999) / 60000000;
    return minutes > 5 ? minutes : 5;
}

static bool name_needs_no_quotes(struct slice name)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./";
    size_t n = 0;
    while (n < name.n && name.p[n] != '\0' && strchr(good, name.p[n]) != NULL)
        n++;
    return n > 0 && n == name.n && n <= SUGGESTED_MAX;
}

void deadline_suggest_rule(struct buf *b, struct slice method, struct slice target)
{
    bool tool = json_key_is(method, "tools/call") && target.p != NULL;
    struct slice name = tool ? target : method;
    buf_adds(b, tool ? "tool:" : "");
    buf_slice_add(b, name_needs_no_quotes(name) ? name : slice_of(tool ? "NAME" : "METHOD"));
}
