#include "vault/query/filter.h"

#include "journal/uid.h"
#include "vault/query/reader.h"

#include <assert.h>
#include <fnmatch.h>
#include <stdio.h>

/* ---- checks ---- */

bool filter_is_glob(const char *text)
{
    return strpbrk(text, "*?[") != NULL;
}

/* fnmatch() needs a NUL. */
static bool fits_glob(const char *glob, struct slice text)
{
    struct buf b = {0};
    buf_slice_add(&b, text);
    bool fits = !b.failed && fnmatch(glob, buf_str(&b), 0) == 0;
    buf_close(&b);
    return fits;
}

bool filter_name(const char *glob, struct slice text)
{
    if (glob == NULL)
        return true;
    if (text.p == NULL)
        text = slice_of("");
    return filter_is_glob(glob) ? fits_glob(glob, text) : slice_is(text, glob);
}

bool filter_project(const char *project, struct slice cwd)
{
    if (project == NULL)
        return true;
    if (cwd.p == NULL)
        return false;
    if (filter_is_glob(project))
        return fits_glob(project, cwd);
    size_t n = strlen(project);
    while (n > 1 && project[n - 1] == '/')
        n--;
    bool below = n == 1 && project[0] == '/';
    return cwd.n >= n && memcmp(cwd.p, project, n) == 0 && (below || cwd.n == n || cwd.p[n] == '/');
}

bool filter_at(const struct filter *f, int64_t at_us)
{
    return at_us >= f->since_us && at_us < f->until_us;
}

bool filter_session(const struct filter *f, enum filter_time time, const struct query_session *s)
{
    bool too_old = s->ended_at_us != 0 && s->ended_at_us < f->since_us;
    bool then = time == FILTER_BEGAN ? filter_at(f, s->started_at_us)
                                     : !too_old && s->started_at_us < f->until_us;
    return then && (f->session_id == 0 || s->id == f->session_id) &&
           (f->up_to_id == 0 || s->id <= f->up_to_id) && filter_name(f->server, s->name) &&
           filter_name(f->client, s->client_name) && filter_project(f->project, s->cwd);
}

bool filter_call(const struct filter *f, struct slice method, struct slice target)
{
    if (!filter_name(f->method, method))
        return false;
    return f->tool == NULL ||
           (method.p != NULL && slice_is(method, "tools/call") && filter_name(f->tool, target));
}

bool filter_has_call(const struct filter *f)
{
    return f->tool != NULL || f->method != NULL || f->failed;
}

bool filter_selects(const struct filter *f)
{
    return filter_has_call(f) || f->since_us != INT64_MIN || f->until_us != INT64_MAX;
}

/* ---- conditions ---- */

/* Adds a text whose %s is the parameter of the value. */
static void add_value(struct where *w, const char *before, struct cell value, const char *after)
{
    assert(w->n < WHERE_VALUES);
    buf_printf(&w->sql, " AND %s?%zu%s", before, WHERE_FIRST + w->n, after);
    w->value[w->n++] = value;
}

static struct cell text_cell(const char *text)
{
    return (struct cell){.type = CELL_TEXT, .text = slice_of(text)};
}

static void add_time(struct where *w, const char *condition, int64_t us)
{
    add_value(w, condition, (struct cell){.type = CELL_INT, .number = us}, "");
}

/* A name is compared by SQLite, which can then ask a store for it alone; a glob by filter_name(). */
static void add_name(struct where *w, const char *column, const char *name)
{
    char before[64];
    if (name == NULL)
        return;
    bool glob = filter_is_glob(name), empty = name[0] == '\0';
    snprintf(before, sizeof before,
             glob    ? "fits(%s, "
             : empty ? "ifnull(%s, '') = "
                     : "%s = ",
             column);
    add_value(w, before, text_cell(name), glob ? ")" : "");
}

void where_session(struct where *w, const struct filter *f, enum filter_time time)
{
    add_name(w, "s.name", f->server);
    add_name(w, "s.client_name", f->client);
    if (f->project != NULL)
        add_value(w, w->has_cwd ? "is_in_project(s.cwd, " : "is_in_project(NULL, ",
                  text_cell(f->project), ")");
    if (f->session_id != 0)
        add_value(w, "s.id = ", (struct cell){.type = CELL_INT, .number = f->session_id}, "");
    if (f->up_to_id != 0)
        add_value(w, "s.id <= ", (struct cell){.type = CELL_INT, .number = f->up_to_id}, "");
    if (f->until_us != INT64_MAX)
        add_time(w, "s.started_at_us < ", f->until_us);
    if (f->since_us == INT64_MIN)
        return;
    add_time(w,
             time == FILTER_BEGAN ? "s.started_at_us >= "
                                  : "ifnull(nullif(s.ended_at_us, 0), 9223372036854775807) >= ",
             f->since_us);
    if (time == FILTER_BEGAN && w->by_uid && f->since_us > 0) {
        uid_begin(f->since_us, w->uid);
        add_value(w, "s.uid >= ", text_cell(w->uid), "");
    }
}

/* The statuses of `failed` and `statuses`, as a list of words of ours. */
static void add_statuses(struct where *w, const struct filter *f)
{
    const char *comma = "";
    if (!f->failed && f->statuses == 0)
        return;
    buf_adds(&w->sql, " AND c.status IN (");
    for (unsigned i = 0; i < CALL_UNKNOWN; i++) {
        bool wanted = f->statuses == 0 || (f->statuses >> i & 1) != 0;
        if (!wanted || (f->failed && !call_status_failed((enum call_status)i)))
            continue;
        buf_printf(&w->sql, "%s'%s'", comma, call_status_name((enum call_status)i));
        comma = ", ";
    }
    buf_addc(&w->sql, ')');
}

void where_call(struct where *w, const struct filter *f)
{
    add_name(w, "c.method", f->method);
    if (f->tool != NULL) {
        buf_adds(&w->sql, " AND c.method = 'tools/call'");
        add_name(w, "c.target", strcmp(f->tool, "*") != 0 ? f->tool : NULL); /* any */
    }
    add_statuses(w, f);
    if (f->slow_us > 0)
        add_time(w, "c.duration_us >= ", f->slow_us);
    if (f->since_us != INT64_MIN)
        add_time(w, "s.started_at_us + c.t_us >= ", f->since_us);
    if (f->until_us != INT64_MAX)
        add_time(w, "s.started_at_us + c.t_us < ", f->until_us);
}

void where_close(struct where *w)
{
    buf_close(&w->sql);
    w->n = 0;
}

/* ---- functions of SQL ---- */

static struct slice text_of(sqlite3_value *v)
{
    const char *text = (const char *)sqlite3_value_text(v);
    return (struct slice){text, text != NULL ? (size_t)sqlite3_value_bytes(v) : 0};
}

/* fits(TEXT, GLOB), is_in_project(TEXT, PROJECT) */
static void sql_fits(sqlite3_context *to, int n, sqlite3_value **value)
{
    (void)n;
    const char *glob = (const char *)sqlite3_value_text(value[1]);
    sqlite3_result_int(to, filter_name(glob, text_of(value[0])));
}

static void sql_is_in_project(sqlite3_context *to, int n, sqlite3_value **value)
{
    (void)n;
    const char *project = (const char *)sqlite3_value_text(value[1]);
    sqlite3_result_int(to, filter_project(project, text_of(value[0])));
}

int filter_register(sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    int rc = sqlite3_create_function_v2(db, "fits", 2, flags, NULL, sql_fits, NULL, NULL, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_create_function_v2(db, "is_in_project", 2, flags, NULL, sql_is_in_project,
                                        NULL, NULL, NULL);
    return rc;
}
