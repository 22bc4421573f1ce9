#include "replay/mock/fault.h"

#include "base/units.h"
#include "wire/mcp/method.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>

static const struct {
    /* value: what follows `=`, for error messages; NULL: the fault has no value */
    const char *name, *value;
} kinds[] = {
    [FAULT_HANG] = {"hang", NULL},         [FAULT_DELAY] = {"delay", "a duration"},
    [FAULT_ERROR] = {"error", "a code"},   [FAULT_CLOSE] = {"close", NULL},
    [FAULT_CRASH] = {"crash", NULL},       [FAULT_GARBAGE] = {"garbage", NULL},
    [FAULT_TRUNCATE] = {"truncate", NULL}, [FAULT_DUPLICATE] = {"duplicate", NULL},
    [FAULT_WRONG_ID] = {"wrong-id", NULL},
};

const char *fault_name(enum fault_kind kind)
{
    return kinds[kind].name;
}

static bool fault_is_pattern(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

static int read_error_code(const char *text, int *ret)
{
    char *end;
    long code = strtol(text, &end, 10);
    if (end == text || *end != '\0' || code < -2000000000 || code > 2000000000)
        return MI_EINVAL;
    *ret = (int)code;
    return 0;
}

static int read_fault_kind(struct fault *f, const char *kind, struct buf *error)
{
    size_t n = strcspn(kind, "=");
    const char *value = kind[n] == '=' ? kind + n + 1 : NULL;
    for (size_t i = 1; i < MI_COUNT(kinds); i++)
        if (strlen(kinds[i].name) == n && memcmp(kinds[i].name, kind, n) == 0)
            f->kind = (enum fault_kind)i;
    if (f->kind == FAULT_NONE) {
        buf_printf(error, "unknown fault '%.*s'; use one of:", (int)n, kind);
        for (size_t i = 1; i < MI_COUNT(kinds); i++)
            buf_printf(error, " %s%s", kinds[i].name, kinds[i].value != NULL ? "=…" : "");
        return MI_EINVAL;
    }
    const char *wanted = kinds[f->kind].value;
    int st = (wanted != NULL) == (value != NULL) ? 0 : MI_EINVAL;
    if (value != NULL && f->kind == FAULT_DELAY)
        st = units_parse_duration(value, &f->delay_us);
    else if (value != NULL && f->kind == FAULT_ERROR)
        st = read_error_code(value, &f->code);
    if (st < 0 && wanted != NULL)
        buf_printf(error, "'%s': use %s=VALUE, where VALUE is %s", kind, fault_name(f->kind),
                   wanted);
    else if (st < 0)
        buf_printf(error, "'%s': %s takes no value", kind, fault_name(f->kind));
    return st;
}

/* Removes `#N` from the end of the text; only digits may follow the `#`. */
static void parse_and_cut_occurrence_number(struct fault *f, char *text)
{
    char *hash = strrchr(text, '#');
    if (hash == NULL || !isdigit((unsigned char)hash[1]))
        return;
    uint64_t n = 0;
    for (const char *c = hash + 1; *c != '\0'; c++) {
        if (!isdigit((unsigned char)*c) || n > UINT32_MAX)
            return;
        n = n * 10 + (uint64_t)(*c - '0');
    }
    if (n == 0)
        return;
    f->nth = n;
    *hash = '\0';
}

static int read_fault(struct fault *f, struct buf *error)
{
    char *at = strchr(f->text, '@');
    if (at == NULL || at[1] == '\0') {
        buf_printf(error,
                   "invalid fault '%s': use KIND@METHOD[:TARGET][#N], such as "
                   "hang@tools/call:echo#2",
                   f->text);
        return MI_EINVAL;
    }
    *at = '\0';
    f->method = at + 1;
    parse_and_cut_occurrence_number(f, f->method);
    char *colon = strchr(f->method, ':');
    if (colon != NULL) {
        *colon = '\0';
        f->target = colon + 1;
    }
    int st = read_fault_kind(f, f->text, error);
    if (st == 0 && !fault_is_pattern(f->method) && !method_is_plausible(f->method, error)) {
        buf_adds(error, " Use KIND@METHOD[:TARGET][#N], such as hang@tools/call:echo#2");
        st = MI_EINVAL;
    }
    return st;
}

int faults_add(struct faults *f, const char *text, struct buf *error)
{
    struct fault *list = realloc(f->list, (f->n + 1) * sizeof *list);
    if (list == NULL)
        return MI_ENOMEM;
    f->list = list;
    struct fault *one = &list[f->n];
    *one = (struct fault){.text = strdup(text)};
    if (one->text == NULL)
        return MI_ENOMEM;
    int st = read_fault(one, error);
    if (st < 0) {
        free(one->text);
        return st;
    }
    f->n++;
    return 0;
}

void faults_close(struct faults *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->list[i].text);
    free(f->list);
    *f = (struct faults){0};
}

bool faults_append_next_unused_fault(const struct faults *f, size_t *at, struct buf *b)
{
    while (*at < f->n && f->list[*at].applied)
        ++*at;
    if (*at >= f->n)
        return false;
    const struct fault *one = &f->list[(*at)++];
    buf_printf(b, "%s@%s", one->text, one->method);
    if (one->target != NULL)
        buf_printf(b, ":%s", one->target);
    if (one->nth > 0)
        buf_printf(b, "#%llu", (unsigned long long)one->nth);
    return true;
}

static bool fault_matches_request(const char *pattern, struct slice text)
{
    if (!fault_is_pattern(pattern))
        return slice_is(text, pattern);
    char *copy = strndup(text.n > 0 ? text.p : "", text.n);
    bool yes = copy != NULL && fnmatch(pattern, copy, 0) == 0;
    free(copy);
    return yes;
}

const struct fault *faults_find_for_request(struct faults *f, struct slice method,
                                            struct slice target)
{
    const struct fault *found = NULL;
    for (size_t i = 0; i < f->n; i++) {
        struct fault *one = &f->list[i];
        if (!fault_matches_request(one->method, method) ||
            (one->target != NULL && !fault_matches_request(one->target, target)))
            continue;
        one->seen++;
        if (found == NULL && (one->nth == 0 || one->nth == one->seen)) {
            found = one;
            one->applied = true;
        }
    }
    return found;
}
