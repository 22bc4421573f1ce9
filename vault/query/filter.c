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

/* Copies the text, because fnmatch() needs a terminating NUL. */
static bool text_fits_glob(const char *glob, struct slice text)
{
    struct buf b = {0};
    buf_slice_add(&b, text);
    bool fits = !b.failed && fnmatch(glob, buf_str(&b), 0) == 0;
    buf_close(&b);
    return fits;
}

/* Whether the text matches a name or glob. NULL matches every text. */
static bool text_fits_pattern(const char *glob, struct slice text)
{
    if (glob == NULL)
        return true;
    if (text.p == NULL)
        text = slice_of("");
    return filter_is_glob(glob) ? text_fits_glob(glob, text) : slice_is(text, glob);
}

static bool is_in_project(const char *project, struct slice cwd)
{
    if (project == NULL)
        return true;
    if (cwd.p == NULL)
        return false;
    if (filter_is_glob(project))
        return text_fits_glob(project, cwd);
    size_t n = strlen(project);
    while (n > 1 && project[n - 1] == '/')
        n--;
    bool below = n == 1 && project[0] == '/';
    return cwd.n >= n && memcmp(cwd.p, project, n) == 0 && (below || cwd.n == n || cwd.p[n] == '/');
}

bool filter_includes_time(const struct filter *f, int64_t at_us)
{
    return at_us >= f->since_us && at_us < f->until_us;
}

bool filter_matches_session(const struct filter *f, enum filter_time time,
                            const struct query_session *s)
{
    if (f->also != NULL && (!text_fits_pattern(f->also->server, s->name) ||
                            !text_fits_pattern(f->also->client, s->client_name)))
        return false;
    bool too_old = s->ended_at_us != 0 && s->ended_at_us < f->since_us;
    bool then = time == FILTER_BEGAN ? filter_includes_time(f, s->started_at_us)
                                     : !too_old && s->started_at_us < f->until_us;
    return then && (f->session_id == 0 || s->id == f->session_id) &&
           (f->up_to_id == 0 || s->id <= f->up_to_id) && text_fits_pattern(f->server, s->name) &&
           text_fits_pattern(f->client, s->client_name) && is_in_project(f->project, s->cwd);
}

bool filter_matches_call(const struct filter *f, struct slice method, struct slice target)
{
    if (!text_fits_pattern(f->method, method) ||
        (f->also != NULL && !filter_matches_call(f->also, method, target)))
        return false;
    return f->tool == NULL || (method.p != NULL && slice_is(method, "tools/call") &&
                               text_fits_pattern(f->tool, target));
}

static bool message_status_fits_filter(const struct filter *f, const struct query_message *m)
{
    enum call_status status =
        message_status(m->kind, m->action, m->origin, m->finding, m->request_action);
    return (!f->failed || m->action == ROW_REFUSED || call_status_failed(status)) &&
           (f->statuses == 0 || (f->statuses >> status & 1) != 0);
}

bool filter_matches_message(const struct filter *f, int64_t started_at_us,
                            const struct query_message *m)
{
    bool slow = m->has_request && m->t_us - m->request_t_us >= f->slow_us;
    return filter_includes_time(f, started_at_us + m->t_us) &&
           filter_matches_call(f, query_method_of_message(m), query_target_of_message(m)) &&
           message_status_fits_filter(f, m) && (f->kinds == 0 || (f->kinds >> m->kind & 1) != 0) &&
           (f->slow_us == 0 || slow) &&
           (f->also == NULL || filter_matches_message(f->also, started_at_us, m));
}

bool filter_matches_event(const struct filter *f, int64_t started_at_us,
                          const struct query_event *e)
{
    return !filter_has_call_conditions(f) && filter_includes_time(f, started_at_us + e->t_us);
}

bool filter_has_call_conditions(const struct filter *f)
{
    return f->tool != NULL || f->method != NULL || f->failed || f->slow_us > 0;
}

bool filter_selects_rows(const struct filter *f)
{
    return filter_has_call_conditions(f) || f->since_us != INT64_MIN || f->until_us != INT64_MAX;
}

/* ---- conditions ---- */

/* Adds " AND <before>?N<after>", and binds the value to ?N. */
static void filter_add_value(struct where *w, const char *before, struct cell value,
                             const char *after)
{
    assert(w->n < WHERE_VALUES);
    buf_printf(&w->sql, " AND %s?%zu%s", before, WHERE_FIRST + w->n, after);
    w->value[w->n++] = value;
}

static struct cell make_text_cell(const char *text)
{
    return (struct cell){.type = CELL_TEXT, .text = slice_of(text)};
}

static void filter_add_time(struct where *w, const char *condition, int64_t us)
{
    filter_add_value(w, condition, (struct cell){.type = CELL_INT, .number = us}, "");
}

/* Adds the comparison of a column with a name or glob. A plain name is compared by SQLite, which
 * can ask a store for this name only; a glob is compared by the SQL function fits(). */
static void filter_add_name(struct where *w, const char *column, const char *name)
{
    char before[160];
    if (name == NULL)
        return;
    bool glob = filter_is_glob(name), empty = name[0] == '\0';
    snprintf(before, sizeof before,
             glob    ? "fits(%s, "
             : empty ? "ifnull(%s, '') = "
                     : "%s = ",
             column);
    filter_add_value(w, before, make_text_cell(name), glob ? ")" : "");
}

void where_add_session_conditions(struct where *w, const struct filter *f, enum filter_time time)
{
    filter_add_name(w, "s.name", f->server);
    filter_add_name(w, "s.client_name", f->client);
    if (f->project != NULL)
        filter_add_value(w, w->has_cwd ? "is_in_project(s.cwd, " : "is_in_project(NULL, ",
                         make_text_cell(f->project), ")");
    if (f->also != NULL) {
        filter_add_name(w, "s.name", f->also->server);
        filter_add_name(w, "s.client_name", f->also->client);
    }
    if (f->session_id != 0)
        filter_add_value(w, "s.id = ", (struct cell){.type = CELL_INT, .number = f->session_id},
                         "");
    if (f->up_to_id != 0)
        filter_add_value(w, "s.id <= ", (struct cell){.type = CELL_INT, .number = f->up_to_id}, "");
    if (f->until_us != INT64_MAX)
        filter_add_time(w, "s.started_at_us < ", f->until_us);
    if (f->since_us == INT64_MIN)
        return;
    filter_add_time(w,
                    time == FILTER_BEGAN
                        ? "s.started_at_us >= "
                        : "ifnull(nullif(s.ended_at_us, 0), 9223372036854775807) >= ",
                    f->since_us);
    if (time == FILTER_BEGAN && w->by_uid && f->since_us > 0) {
        uid_make_time_prefix(f->since_us, w->uid);
        filter_add_value(w, "s.uid >= ", make_text_cell(w->uid), "");
    }
}

/* Adds "COLUMN IN ('a', 'b')" with the words of the values whose bits are set. */
static void filter_add_words(struct buf *b, const char *column, const struct value_words *words,
                             unsigned values)
{
    const char *comma = "";
    buf_printf(b, "%s IN (", column);
    for (unsigned i = 0; i < words->n; i++) {
        if ((values >> i & 1) == 0)
            continue;
        buf_printf(b, "%s'%s'", comma, value_get_word(words, i));
        comma = ", ";
    }
    buf_addc(b, ')');
}

static unsigned make_failed_status_bits(void)
{
    unsigned failed = 0;
    for (unsigned i = 0; i < CALL_UNKNOWN; i++)
        failed |= call_status_failed((enum call_status)i) ? 1u << i : 0;
    return failed;
}

static void filter_add_call_statuses(struct where *w, unsigned statuses)
{
    buf_adds(&w->sql, " AND ");
    filter_add_words(&w->sql, "c.status", &call_statuses, statuses);
}

static void filter_add_tool(struct where *w, const char *method, const char *target,
                            const char *tool)
{
    if (tool == NULL)
        return;
    buf_printf(&w->sql, " AND %s = 'tools/call'", method);
    /* the tool to compare; NULL: any tool */
    filter_add_name(w, target, strcmp(tool, "*") != 0 ? tool : NULL);
}

void where_add_call_conditions(struct where *w, const struct filter *f)
{
    filter_add_name(w, "c.method", f->method);
    filter_add_tool(w, "c.method", "c.target", f->tool);
    if (f->failed)
        filter_add_call_statuses(w, make_failed_status_bits());
    if (f->statuses != 0)
        filter_add_call_statuses(w, f->statuses);
    if (f->slow_us > 0)
        filter_add_time(w, "c.duration_us >= ", f->slow_us);
    if (f->since_us != INT64_MIN)
        filter_add_time(w, "s.started_at_us + c.t_us >= ", f->since_us);
    if (f->until_us != INT64_MAX)
        filter_add_time(w, "s.started_at_us + c.t_us < ", f->until_us);
    if (f->also != NULL)
        where_add_call_conditions(w, f->also);
}

/* SQL for the method or target of a message. For an answer, it is the method or target of the
 * request. */
#define OF_MESSAGE(column)                                                                         \
    "CASE WHEN m.kind IN ('result', 'error') THEN r." column " ELSE m." column " END"

/* Adds the condition that a message has one of these statuses. It first compares columns, so that
 * message_status() is called for few messages. */
static void filter_add_message_statuses(struct where *w, unsigned statuses)
{
    const unsigned results = 1u << CALL_OK | 1u << CALL_TOOL_ERROR;
    unsigned kinds = ((statuses & results) != 0 ? 1u << KIND_RESULT : 0) |
                     ((statuses & ~results) != 0 ? 1u << KIND_ERROR : 0);
    bool refused = (statuses >> CALL_REFUSED & 1) != 0;
    buf_adds(&w->sql, refused ? "(m.action = 'refused' OR " : "(");
    filter_add_words(&w->sql, "m.kind", &row_kinds, kinds | (refused ? 1u << KIND_RESULT : 0));
    buf_adds(&w->sql, ") AND ");
    filter_add_words(&w->sql, "message_status(m.kind, m.action, m.origin, m.finding, r.action)",
                     &call_statuses, statuses);
}

void where_add_message_conditions(struct where *w, const struct filter *f, int64_t started_at_us)
{
    filter_add_name(w, OF_MESSAGE("method"), f->method);
    filter_add_tool(w, OF_MESSAGE("method"), OF_MESSAGE("target"), f->tool);
    if (f->kinds != 0) {
        buf_adds(&w->sql, " AND ");
        filter_add_words(&w->sql, "m.kind", &row_kinds, f->kinds);
    }
    if (f->failed) { /* A rejected answer counts as failed, whatever its body contains. */
        buf_adds(&w->sql, " AND (m.action = 'refused' OR ");
        filter_add_message_statuses(w, make_failed_status_bits());
        buf_addc(&w->sql, ')');
    }
    if (f->statuses != 0) {
        buf_adds(&w->sql, " AND ");
        filter_add_message_statuses(w, f->statuses);
    }
    if (f->slow_us > 0)
        filter_add_time(w, "m.t_us - r.t_us >= ", f->slow_us);
    if (f->since_us != INT64_MIN)
        filter_add_time(w, "m.t_us >= ", f->since_us - started_at_us);
    if (f->until_us != INT64_MAX)
        filter_add_time(w, "m.t_us < ", f->until_us - started_at_us);
    if (f->also != NULL)
        where_add_message_conditions(w, f->also, started_at_us);
}

void where_add_event_conditions(struct where *w, const struct filter *f, int64_t started_at_us)
{
    if (f->since_us != INT64_MIN)
        filter_add_time(w, "e.t_us >= ", f->since_us - started_at_us);
    if (f->until_us != INT64_MAX)
        filter_add_time(w, "e.t_us < ", f->until_us - started_at_us);
}

void where_clause_close(struct where *w)
{
    buf_close(&w->sql);
    w->n = 0;
}

/* ---- functions of SQL ---- */

static struct slice filter_get_sql_value_text(sqlite3_value *v)
{
    const char *text = (const char *)sqlite3_value_text(v);
    return (struct slice){text, text != NULL ? (size_t)sqlite3_value_bytes(v) : 0};
}

/* The SQL functions fits(TEXT, GLOB) and is_in_project(TEXT, PROJECT). */
static void sql_function_fits_glob(sqlite3_context *to, int n, sqlite3_value **value)
{
    (void)n;
    const char *glob = (const char *)sqlite3_value_text(value[1]);
    sqlite3_result_int(to, text_fits_pattern(glob, filter_get_sql_value_text(value[0])));
}

static void sql_function_is_in_project(sqlite3_context *to, int n, sqlite3_value **value)
{
    (void)n;
    const char *project = (const char *)sqlite3_value_text(value[1]);
    sqlite3_result_int(to, is_in_project(project, filter_get_sql_value_text(value[0])));
}

/* The SQL function message_status(KIND, ACTION, ORIGIN, FINDING, ACTION OF THE REQUEST): NULL if
 * the message has no status. */
static void sql_function_message_status(sqlite3_context *to, int n, sqlite3_value **value)
{
    (void)n;
    enum call_status status =
        message_status(value_find_by_word(&row_kinds, filter_get_sql_value_text(value[0])),
                       value_find_by_word(&row_actions, filter_get_sql_value_text(value[1])),
                       value_find_by_word(&row_origins, filter_get_sql_value_text(value[2])),
                       filter_get_sql_value_text(value[3]),
                       value_find_by_word(&row_actions, filter_get_sql_value_text(value[4])));
    if (status != CALL_UNKNOWN)
        sqlite3_result_text(to, call_status_name(status), -1, SQLITE_STATIC);
}

int filter_register_functions(sqlite3 *db)
{
    static const struct {
        const char *name;
        int arguments;
        void (*run)(sqlite3_context *to, int n, sqlite3_value **value);
    } functions[] = {
        {"fits", 2, sql_function_fits_glob},
        {"is_in_project", 2, sql_function_is_in_project},
        {"message_status", 5, sql_function_message_status},
    };
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY;
    int rc = SQLITE_OK;
    for (size_t i = 0; rc == SQLITE_OK && i < MI_COUNT(functions); i++)
        rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments, flags, NULL,
                                        functions[i].run, NULL, NULL, NULL);
    return rc;
}
