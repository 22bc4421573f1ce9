#include "cli/look/suggest.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/make_path.h"
#include "base/text.h"
#include "base/when.h"
#include "cli/frame/save.h"
#include "cli/frame/session.h"
#include "cli/settings/config_edit.h"
#include "cli/settings/paths.h"
#include "model/context.h"
#include "vault/query/count.h"
#include "wire/mcp/tool_rule.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- what was recorded ---------------------------------------------------------------------- */

struct basis {
    struct query *q;
    const char *server;
    int64_t sessions, days, first_at_us;
    char day[11]; /* of the last session counted; sessions come newest first */
    int status;
};

/* Only sessions that a client had: neither imported nor made by `send`. */
static bool on_session(void *ctx, const struct query_session *s)
{
    struct basis *b = ctx;
    bool sent = false;
    if (!slice_is(s->name, b->server) || query_is_imported(s))
        return true;
    b->status = query_is_sent(b->q, s->id, &sent);
    if (b->status < 0 || sent)
        return b->status == 0;
    struct clock_text at = clock_local(s->started_at_us);
    b->sessions++;
    b->first_at_us = s->started_at_us;
    if (memcmp(b->day, at.s, 10) != 0) {
        b->days++;
        memcpy(b->day, at.s, 10);
    }
    return true;
}

static int by_name(const void *a, const void *b)
{
    const struct tool *const *x = a, *const *y = b;
    size_t n = size_min((*x)->name.n, (*y)->name.n);
    int c = n > 0 ? memcmp((*x)->name.p, (*y)->name.p, n) : 0;
    return c != 0 ? c : ((*x)->name.n > (*y)->name.n) - ((*x)->name.n < (*y)->name.n);
}

/* The name as a glob of a rule: a character that a list cannot have becomes `?`. */
static void add_pattern(struct buf *b, struct slice name)
{
    for (size_t i = 0, len; i < name.n; i += len) {
        len = text_utf8_len(name.p + i, name.n - i);
        unsigned char c = (unsigned char)name.p[i];
        if (len == 0 || c <= 0x20 || c == 0x7F || strchr(",;[]", c) != NULL) {
            buf_addc(b, '?');
            len = len > 0 ? len : 1;
        } else {
            buf_add(b, name.p + i, len);
        }
    }
}

struct used {
    const struct tool **tool; /* owned; of the list, by name */
    size_t n;
    int64_t calls;
    size_t gone;      /* called with success, and not in the list */
    struct buf names; /* owned; of those, and of the others: the value of `tools` */
};

static int64_t calls_of(const struct count *c, const char *server, struct slice tool,
                        int64_t *ret_good)
{
    for (size_t i = 0; i < c->tally.n; i++) {
        struct slice key = intern_text(&c->tally.keys, c->tally.group[i].key);
        struct slice name = count_part(&key), of = count_part(&key);
        if (slice_is(name, server) && slice_eq(of, tool)) {
            *ret_good = c->tally.group[i].calls - c->tally.group[i].errors;
            return c->tally.group[i].calls;
        }
    }
    return 0;
}

/* Calls that were refused count, too: somebody wanted the tool. Names that the server does not list count if they worked. */
static int find_used(const struct count *c, const char *server, struct tool_list *list,
                     struct used *u)
{
    int64_t good;
    u->tool = calloc(list->tools.n + 1, sizeof *u->tool);
    if (u->tool == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < list->tools.n; i++) {
        int64_t calls = calls_of(c, server, list->tools.tool[i].name, &good);
        u->calls += calls;
        if (calls > 0)
            u->tool[u->n++] = &list->tools.tool[i];
    }
    qsort(u->tool, u->n, sizeof *u->tool, by_name);
    for (size_t i = 0; i < u->n; i++) {
        buf_adds(&u->names, u->names.n > 0 ? ", " : "");
        add_pattern(&u->names, u->tool[i]->name);
    }
    for (size_t i = 0; i < c->tally.n; i++) {
        struct slice key = intern_text(&c->tally.keys, c->tally.group[i].key);
        struct slice name = count_part(&key), of = count_part(&key);
        bool listed = false;
        for (size_t k = 0; k < list->tools.n && !listed; k++)
            listed = slice_eq(list->tools.tool[k].name, of);
        if (listed || of.n == 0 || !slice_is(name, server) ||
            c->tally.group[i].calls <= c->tally.group[i].errors)
            continue;
        u->gone++;
        buf_adds(&u->names, u->names.n > 0 ? ", " : "");
        add_pattern(&u->names, of);
    }
    return u->names.failed ? MI_ENOMEM : 0;
}

/* ---- writing it ----------------------------------------------------------------------------- */

static void print_lines(const char *mark, struct slice text)
{
    while (text.n > 0) {
        const char *nl = memchr(text.p, '\n', text.n);
        size_t n = nl != NULL ? (size_t)(nl - text.p) : text.n;
        struct buf b = {0};
        text_visible(&b, (struct slice){text.p, n});
        fprintf(stderr, "%s%s\n", mark, buf_str(&b));
        buf_close(&b);
        n += nl != NULL;
        text = (struct slice){text.p + n, text.n - n};
    }
}

static int write_file(const char *path, struct slice old, const struct config_edit *e)
{
    struct save out;
    size_t at = (size_t)(e->before.p - old.p), behind = at + e->before.n;
    if (old.n - e->before.n + e->now.n > CONFIG_FILE_MAX) {
        log_error("the configuration would be longer than %d bytes: %s", CONFIG_FILE_MAX, path);
        return EXIT_TROUBLE;
    }
    fprintf(stderr, "--- %s\n+++ %s\n", path, path);
    print_lines("-", e->before);
    print_lines("+", buf_slice(&e->now));
    save_open(&out, path, SAVE_PRIVATE);
    bool good = save_write(&out, (struct slice){old.p, at}) && save_write(&out, buf_slice(&e->now)) &&
                save_write(&out, (struct slice){old.p + behind, old.n - behind});
    return save_close(&out, good);
}

static int read_file(const char *path, struct buf *b)
{
    FILE *f = fopen(path, "re");
    size_t n = 1;
    if (f == NULL)
        return errno == ENOENT ? 0 : MI_EIO;
    while (n > 0 && b->n <= CONFIG_FILE_MAX && buf_reserve(b, 4096)) {
        n = fread(b->p + b->n, 1, 4096, f);
        b->n += n;
    }
    int st = ferror(f) != 0 ? MI_EIO : b->failed ? MI_ENOMEM : 0;
    fclose(f);
    return st;
}

static int make_directory_of(const char *path)
{
    char *dir = strdup(path);
    if (dir == NULL)
        return MI_ENOMEM;
    char *slash = strrchr(dir, '/');
    if (slash != NULL)
        *slash = '\0';
    int st = slash != NULL && dir[0] != '\0' ? make_path(dir) : 0;
    free(dir);
    return st;
}

static int apply(const struct settings *s, const char *server, const char *names)
{
    struct buf old = {0};
    struct config_edit e = {0};
    char *path = path_config(settings_text(s, "config"));
    if (path == NULL) {
        log_error("cannot locate the configuration file: use --config FILE");
        return EXIT_TROUBLE;
    }
    int status = EXIT_TROUBLE;
    int st = make_directory_of(path);
    if (st == 0)
        st = read_file(path, &old);
    if (st < 0)
        log_error("cannot read configuration %s: %s", path,
                  st == MI_ENOMEM ? "out of memory" : strerror(errno));
    else if ((st = config_edit_server(buf_slice(&old), server, "tools", names, &e)) < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory"
                                        : "no section of the configuration can have the name of "
                                          "this server: use --tools of `proxy`");
    else
        status = write_file(path, buf_slice(&old), &e);
    if (status == EXIT_FINE)
        fprintf(stderr, "written; a running client has it when it starts the server again\n");
    buf_close(&e.now);
    buf_close(&old);
    free(path);
    return status;
}

/* ---- the command ---------------------------------------------------------------------------- */

static bool is_enough(const struct settings *s, const struct basis *b)
{
    if (settings_on(s, "force") ||
        (b->sessions >= SUGGEST_SESSIONS_MIN && b->days >= SUGGEST_DAYS_MIN))
        return true;
    log_error("too little is recorded to suggest a rule: %lld session%s on %lld day%s, and it takes %d "
              "on %d; --force suggests one nevertheless, --since looks further back",
              (long long)b->sessions, b->sessions == 1 ? "" : "s", (long long)b->days,
              b->days == 1 ? "" : "s", SUGGEST_SESSIONS_MIN, SUGGEST_DAYS_MIN);
    return false;
}

static void explain(const struct basis *b, const struct tool_list *l, const struct used *u)
{
    fprintf(stderr,
            "%s: %zu of %zu tools were called, %lld times in %lld session%s on %lld day%s since %.10s\n",
            b->server, u->n, l->tools.n, (long long)u->calls, (long long)b->sessions,
            b->sessions == 1 ? "" : "s", (long long)b->days, b->days == 1 ? "" : "s",
            clock_local(b->first_at_us).s);
    int64_t all = 0, kept = 0;
    for (size_t i = 0; i < l->tools.n; i++)
        all += context_definition_tokens(l->tools.tool[i].text);
    for (size_t i = 0; i < u->n; i++)
        kept += context_definition_tokens(u->tool[i]->text);
    fprintf(stderr, "the definitions of the others have ~%lld of ~%lld tokens\n",
            (long long)(all - kept), (long long)all);
    if (u->gone > 0)
        fprintf(stderr, "%zu tool%s that the server no longer lists, but that worked, %s kept\n",
                u->gone, u->gone == 1 ? "" : "s", u->gone == 1 ? "is" : "are");
}

static int suggest(const struct settings *s, const struct basis *b, struct tool_list *list,
                   const struct count *c)
{
    struct used u = {0};
    struct buf why = {0};
    int status = EXIT_FOUND;
    int st = find_used(c, b->server, list, &u);
    const char *names = buf_str(&u.names);
    if (st < 0) {
        status = command_fail(st, &why);
    } else if (u.names.n == 0) {
        log_error("no tool of %s was called: a rule would hide all of them", b->server);
    } else if (!is_enough(s, b)) {
        status = EXIT_FOUND;
    } else if (tool_rule_check(names, &why) < 0) {
        log_error("the tools that were called make no rule: %s", buf_str(&why));
    } else {
        explain(b, list, &u);
        struct out o;
        out_open(&o);
        out_printf(&o, "tools = %s\n", names);
        status = out_close(&o);
        if (status == EXIT_FINE && settings_on(s, "apply"))
            status = apply(s, b->server, names);
    }
    free(u.tool);
    buf_close(&u.names);
    buf_close(&why);
    return status;
}

int suggest_rule(struct query *q, const struct settings *s, const char *server,
                 struct tool_list *list)
{
    struct basis b = {.q = q, .server = server};
    int64_t since_us = 0;
    const char *since = settings_text(s, "since");
    if (when_parse(since != NULL ? since : "30d", clock_wall_us(), &since_us) < 0)
        return EXIT_USAGE; /* it was checked */
    struct count c = {.by = COUNT_TOOL, .filter = FILTER_ANY, .requests = true};
    c.filter.server = server;
    c.filter.since_us = since_us;
    int st = query_sessions_of(q, &c.filter, FILTER_BEGAN, 0, on_session, &b);
    if (st == 0)
        st = b.status;
    if (st == 0)
        st = count_calls(&c, q);
    int status = st < 0 ? session_fail(q, st) : suggest(s, &b, list, &c);
    count_close(&c);
    return status;
}
