#include "vault/scrub_inner.h"

#include "vault/connect.h"
#include "vault/dir.h"
#include "vault/schema.h"
#include "vault/search.h"
#include "wire/json_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define BATCH 256    /* rows changed in a transaction */
#define NAMES_MAX 32 /* rules that are told apart in one text */

static const char *const sql[S_COUNT] = {
    [S_SESSION] = "UPDATE sessions SET name = ?2, command = ?3, client_name = ?4,"
                  " client_version = ?5, server_name = ?6, server_version = ?7 WHERE id = ?1",
    [S_RULES] = "UPDATE sessions SET redact_rules = ?2 WHERE id = ?1",
    [S_MESSAGE] = "UPDATE messages SET method = ?2, target = ?3,"
                  " redactions = redactions + ?4 WHERE id = ?1",
    [S_BODY] = "UPDATE messages SET body = ?2, redactions = redactions + ?3 WHERE id = ?1",
    [S_LARGE] = "UPDATE messages SET body_offset = ?2, body_length = ?3,"
                " redactions = redactions + ?4 WHERE id = ?1",
    [S_EVENT] = "UPDATE events SET detail = ?2 WHERE id = ?1",
};

/* ---- opening ---- */

static int fail_sql(struct scrub *s)
{
    buf_clear(&s->error);
    buf_printf(&s->error, "cannot change %s/" VAULT_DB ": %s", query_vault(s->q),
               sqlite3_errmsg(s->db));
    return MI_ESTORE;
}

int scrub_fail(struct scrub *s, const char *what, const char *name)
{
    buf_clear(&s->error);
    buf_printf(&s->error, "cannot %s %s/%s: %s", what, query_vault(s->q), name, strerror(errno));
    return MI_EIO;
}

static int connect_to(struct scrub *s)
{
    char path[PATH_MAX];
    if (!connect_path(s->dir.path, path)) {
        errno = ENOENT;
        return scrub_fail(s, "open", VAULT_DB);
    }
    int rc = connect_open(&s->db, path, SQLITE_OPEN_READWRITE, SCRUB_WAIT_MS);
    if (s->db == NULL)
        return MI_ENOMEM;
    if (rc != SQLITE_OK || schema_ready(s->db) < 0 ||
        sqlite3_exec(s->db,
                     "PRAGMA secure_delete = ON; PRAGMA synchronous = FULL;"
                     " PRAGMA temp_store = MEMORY",
                     NULL, NULL, NULL) != SQLITE_OK)
        return fail_sql(s);
    for (int i = 0; i < S_COUNT; i++)
        if (sqlite3_prepare_v3(s->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &s->s[i], NULL) !=
            SQLITE_OK)
            return fail_sql(s);
    return 0;
}

int scrub_open(struct scrub **ret, struct query *q, bool apply, scrub_fn fn, void *ctx,
               struct buf *error)
{
    struct scrub *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    *s = (struct scrub){.q = q, .fn = fn, .ctx = ctx, .bodies_fd = -1, .rules = redact_present()};
    s->dir.fd = -1;
    int st = s->rules == NULL ? MI_ENOMEM : vault_dir_open(&s->dir, query_vault(q), false, error);
    if (st == 0 && apply) {
        st = connect_to(s);
        if (st < 0)
            buf_adds(error, st == MI_ENOMEM ? "no memory" : buf_str(&s->error));
    }
    if (st < 0) {
        scrub_close(s);
        return st;
    }
    *ret = s;
    return 0;
}

void scrub_close(struct scrub *s)
{
    if (s == NULL)
        return;
    for (int i = 0; i < S_COUNT; i++)
        sqlite3_finalize(s->s[i]);
    sqlite3_close(s->db);
    if (s->bodies_fd >= 0)
        close(s->bodies_fd);
    vault_dir_close(&s->dir);
    buf_close(&s->clean);
    buf_close(&s->second);
    buf_close(&s->body);
    buf_close(&s->names);
    buf_close(&s->error);
    free(s->ranges);
    free(s);
}

const char *scrub_error(struct scrub *s)
{
    return s->error.n > 0 ? buf_str(&s->error) : "no memory";
}

/* ---- what was found ---- */

struct names {
    struct slice name[NAMES_MAX];
    long count[NAMES_MAX];
    size_t n;
};

static void count_marks(struct names *names, struct slice text, long by)
{
    static const char mark[] = "[redacted:";
    const char *p = text.p, *end = text.p + text.n;
    while (p < end && (p = memmem(p, (size_t)(end - p), mark, sizeof mark - 1)) != NULL) {
        p += sizeof mark - 1;
        size_t n = 0, i = 0;
        while (p + n < end && n < REDACT_MARK_MAX && p[n] != ']')
            n++;
        struct slice name = {p, n};
        if (p + n == end || p[n] != ']')
            continue;
        while (i < names->n && !slice_eq(names->name[i], name))
            i++;
        if (i == NAMES_MAX)
            continue;
        if (i == names->n) {
            names->name[names->n] = name;
            names->count[names->n++] = 0;
        }
        names->count[i] += by;
    }
}

void scrub_rules(struct buf *b, struct slice before, struct slice after)
{
    struct names names = {.n = 0};
    bool first = true;
    count_marks(&names, after, 1);
    count_marks(&names, before, -1);
    for (size_t i = 0; i < names.n; i++) {
        if (names.count[i] <= 0)
            continue;
        buf_adds(b, first ? "" : ", ");
        buf_slice_add(b, names.name[i]);
        if (names.count[i] > 1)
            buf_printf(b, " %ld", names.count[i]);
        first = false;
    }
}

/* Lines of a log may be JSON that is no message: both are looked for, as when they came. */
static int clean_line(struct scrub *s, struct slice text, struct redact_lines *lines, size_t *ret_n)
{
    size_t n = 0, more = 0;
    int st = 0;
    if (text.n > 0 && text.p[0] == '{')
        st = redact_message(s->rules, text, REDACT_SECRETS, &s->second, &n);
    if (n > 0)
        text = buf_slice(&s->second);
    if (st == 0)
        st = redact_line(s->rules, lines, text, &s->clean, &more);
    if (st == 0 && more == 0 && n > 0) {
        buf_clear(&s->clean);
        buf_slice_add(&s->clean, text);
        st = s->clean.failed ? MI_ENOMEM : 0;
    }
    *ret_n = n + more;
    return st;
}

int scrub_text(struct scrub *s, struct slice text, enum scrub_kind kind, struct redact_lines *lines,
               struct scrub_hit hit, struct slice *ret, size_t *ret_n)
{
    size_t n = 0;
    int st = 0;
    *ret = (struct slice){0};
    *ret_n = 0;
    if (text.n == 0)
        return 0;
    if (kind == SCRUB_MESSAGE)
        st = redact_message(s->rules, text, REDACT_SECRETS, &s->clean, &n);
    else if (kind == SCRUB_VALUE)
        st = redact_value(s->rules, text, &s->clean, &n);
    else if (kind == SCRUB_TEXT)
        st = redact_text(s->rules, text, &s->clean, &n);
    else
        st = clean_line(s, text, lines, &n);
    if (st < 0 || n == 0)
        return st;
    buf_clear(&s->names);
    scrub_rules(&s->names, text, buf_slice(&s->clean));
    if (s->names.failed)
        return MI_ENOMEM;
    hit.rules = buf_slice(&s->names);
    hit.n = n;
    s->found += n;
    s->fn(s->ctx, &hit);
    *ret = buf_slice(&s->clean);
    *ret_n = n;
    return 0;
}

/* ---- changing rows ---- */

static int begin(struct scrub *s)
{
    if (s->waiting > 0)
        return 0;
    return sqlite3_exec(s->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK ? 0 : fail_sql(s);
}

static int commit(struct scrub *s)
{
    if (s->waiting == 0)
        return 0;
    s->waiting = 0;
    if (sqlite3_exec(s->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
        return 0;
    int st = fail_sql(s);
    (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    return st;
}

static void bind(sqlite3_stmt *q, int i, struct slice text)
{
    if (text.p != NULL)
        sqlite3_bind_text64(q, i, text.p, text.n, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_bind_null(q, i);
}

/* The statement has its values. */
static int change(struct scrub *s, enum scrub_query i)
{
    int st = begin(s);
    if (st == 0 && sqlite3_step(s->s[i]) != SQLITE_DONE)
        st = fail_sql(s);
    sqlite3_reset(s->s[i]);
    sqlite3_clear_bindings(s->s[i]);
    if (st < 0)
        return st;
    return ++s->waiting >= BATCH ? commit(s) : 0;
}

/* ---- messages ---- */

static int look_at_names(struct scrub *s, const struct query_message *m)
{
    struct slice method, target, now[2] = {m->method, m->target};
    struct buf first = {0};
    size_t n = 0, more = 0;
    struct scrub_hit hit = {.session_id = s->session_id, .seq = m->seq, .where = "method"};
    int st = scrub_text(s, m->method, SCRUB_TEXT, NULL, hit, &method, &n);
    if (st == 0 && method.p != NULL) {
        buf_slice_add(&first, method);
        now[0] = buf_slice(&first);
    }
    hit.where = "target";
    if (st == 0)
        st = scrub_text(s, m->target, SCRUB_TEXT, NULL, hit, &target, &more);
    if (st == 0 && target.p != NULL)
        now[1] = target;
    if (st == 0 && first.failed)
        st = MI_ENOMEM;
    if (st == 0 && s->db != NULL && n + more > 0) {
        sqlite3_bind_int64(s->s[S_MESSAGE], 1, schema_message_id(s->session_id, (uint64_t)m->seq));
        bind(s->s[S_MESSAGE], 2, now[0]);
        bind(s->s[S_MESSAGE], 3, now[1]);
        sqlite3_bind_int64(s->s[S_MESSAGE], 4, 0);
        st = change(s, S_MESSAGE);
    }
    buf_close(&first);
    return st;
}

static int change_body(struct scrub *s, const struct query_message *m, struct slice body, size_t n)
{
    int64_t id = schema_message_id(s->session_id, (uint64_t)m->seq), offset = 0;
    enum scrub_query i = m->is_large ? S_LARGE : S_BODY;
    int st = m->is_large ? scrub_append_body(s, body, &offset) : 0;
    if (st < 0)
        return st;
    sqlite3_bind_int64(s->s[i], 1, id);
    if (m->is_large) {
        sqlite3_bind_int64(s->s[i], 2, offset);
        sqlite3_bind_int64(s->s[i], 3, (int64_t)body.n);
        sqlite3_bind_int64(s->s[i], 4, (int64_t)n);
    } else {
        bind(s->s[i], 2, body);
        sqlite3_bind_int64(s->s[i], 3, (int64_t)n);
    }
    return change(s, i);
}

static int look_at_body(struct scrub *s, const struct query_message *m)
{
    bool noise = slice_is(m->kind, "noise"), err = slice_is(m->kind, "stderr");
    struct scrub_hit hit = {.session_id = s->session_id,
                            .seq = m->seq,
                            .where = noise ? "noise"
                                     : err ? "stderr"
                                           : "body"};
    struct slice body = m->body, clean;
    size_t n;
    int st = 0;
    if (m->is_large) {
        buf_clear(&s->body);
        st = query_body(s->q, slice_of(s->uid), m, (size_t)m->body_length, &s->body);
        body = buf_slice(&s->body);
    }
    if (st == MI_EIO || st == MI_ESTORE) {
        buf_clear(&s->error);
        buf_adds(&s->error, query_error(s->q));
    }
    if (st == 0)
        st = scrub_text(s, body, noise || err ? SCRUB_LINE : SCRUB_MESSAGE, &s->lines[err], hit,
                        &clean, &n);
    if (st == 0 && clean.p != NULL && s->db != NULL)
        return change_body(s, m, clean, n);
    if (st == 0 && m->is_large)
        st = scrub_keep_range(s, m->body_offset, m->body_length);
    return st;
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct scrub *s = ctx;
    s->status = look_at_names(s, m);
    if (s->status == 0)
        s->status = look_at_body(s, m);
    return s->status == 0;
}

static bool on_event(void *ctx, const struct query_event *e)
{
    struct scrub *s = ctx;
    struct slice clean;
    size_t n;
    struct scrub_hit hit = {.session_id = s->session_id, .where = "event"};
    s->status = scrub_text(s, e->detail, SCRUB_VALUE, NULL, hit, &clean, &n);
    if (s->status == 0 && clean.p != NULL && s->db != NULL) {
        sqlite3_bind_int64(s->s[S_EVENT], 1, e->id);
        bind(s->s[S_EVENT], 2, clean);
        s->status = change(s, S_EVENT);
    }
    return s->status == 0;
}

/* ---- the session ---- */

static int look_at_row(struct scrub *s, const struct query_session *row)
{
    struct slice now[] = {row->name,           row->command,     row->client_name,
                          row->client_version, row->server_name, row->server_version};
    struct buf text[MI_COUNT(now)] = {{0}};
    struct scrub_hit hit = {.session_id = s->session_id, .where = "session"};
    size_t all = 0;
    int st = 0;
    for (size_t i = 0; st == 0 && i < MI_COUNT(now); i++) {
        struct slice clean;
        size_t n;
        st = scrub_text(s, now[i], i == 1 ? SCRUB_VALUE : SCRUB_TEXT, NULL, hit, &clean, &n);
        all += n;
        if (st == 0 && clean.p != NULL) {
            buf_slice_add(&text[i], clean);
            now[i] = buf_slice(&text[i]);
            st = text[i].failed ? MI_ENOMEM : 0;
        }
    }
    if (st == 0 && s->db != NULL && all > 0) {
        sqlite3_bind_int64(s->s[S_SESSION], 1, s->session_id);
        for (size_t i = 0; i < MI_COUNT(now); i++)
            bind(s->s[S_SESSION], (int)i + 2, now[i]);
        st = change(s, S_SESSION);
    }
    for (size_t i = 0; i < MI_COUNT(now); i++)
        buf_close(&text[i]);
    return st;
}

/* Its texts have passed today's rules as well as its own: a replay compares by both. */
static int change_rules(struct scrub *s, const struct query_session *row)
{
    struct redact *both = NULL;
    struct buf mine = {0}, rules = {0};
    struct slice old = row->redact_rules.p != NULL ? row->redact_rules : slice_of("{}");
    buf_clear(&s->error);
    redact_rules(s->rules, &mine);
    int st = mine.failed ? MI_ENOMEM : redact_open_rules(&both, old, &s->error);
    if (st == 0)
        st = redact_add_rules(both, buf_slice(&mine), &s->error);
    if (st == 0)
        redact_rules(both, &rules);
    if (st == 0 && rules.failed)
        st = MI_ENOMEM;
    if (st == 0) {
        sqlite3_bind_int64(s->s[S_RULES], 1, s->session_id);
        bind(s->s[S_RULES], 2, buf_slice(&rules));
        st = change(s, S_RULES);
    }
    redact_close(both);
    buf_close(&mine);
    buf_close(&rules);
    return st;
}

static int look_at_session(struct scrub *s)
{
    struct query_session row;
    char ref[24];
    snprintf(ref, sizeof ref, "%lld", (long long)s->session_id);
    int st = query_session(s->q, ref, &row);
    if (st == 0)
        st = look_at_row(s, &row);
    if (st == 0)
        st = query_timeline(s->q, s->session_id, 1, INT64_MAX, on_message, on_event, s);
    if (st < 0 && s->error.n == 0)
        buf_adds(&s->error, query_error(s->q));
    if (st == 0)
        st = s->status;
    if (st == 0 && s->db != NULL && s->found > 0) {
        st = query_session(s->q, ref, &row);
        if (st == 0)
            st = change_rules(s, &row);
    }
    return st;
}

int scrub_session(struct scrub *s, int64_t id, const char *uid)
{
    s->session_id = id;
    s->uid = uid;
    s->status = 0;
    s->found = s->ranges_n = 0;
    memset(s->lines, 0, sizeof s->lines);
    buf_clear(&s->error);
    int st = look_at_session(s);
    if (st < 0 && s->db != NULL && !sqlite3_get_autocommit(s->db))
        (void)sqlite3_exec(s->db, "ROLLBACK", NULL, NULL, NULL);
    if (st < 0)
        s->waiting = 0;
    if (st == 0 && s->db != NULL)
        st = commit(s);
    if (st == 0 && s->db != NULL)
        st = scrub_blank_bodies(s);
    if (st == 0 && s->db != NULL && s->found > 0 && search_forget(query_vault(s->q), id) < 0)
        st = scrub_fail(s, "remove the index of", VAULT_SEARCH);
    if (s->bodies_fd >= 0)
        close(s->bodies_fd);
    s->bodies_fd = -1;
    return st;
}

/* The log holds pages as they were, until it is cut off. */
static int empty_log(struct scrub *s)
{
    sqlite3_stmt *q = NULL;
    bool busy = true;
    if (sqlite3_prepare_v2(s->db, "PRAGMA wal_checkpoint(TRUNCATE)", -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        busy = sqlite3_column_int(q, 0) != 0;
    int st = sqlite3_finalize(q) == SQLITE_OK ? 0 : fail_sql(s);
    if (st == 0 && busy) {
        buf_clear(&s->error);
        buf_printf(&s->error,
                   "the write-ahead log of %s/" VAULT_DB " still holds the old text, for somebody "
                   "reads the database; close it there, and run this again",
                   query_vault(s->q));
        st = MI_ESTORE;
    }
    return st;
}

int scrub_finish(struct scrub *s, bool rebuild)
{
    if (s->db == NULL)
        return 0;
    /* a temporary copy of all of it would not fit into memory */
    if (rebuild &&
        sqlite3_exec(s->db, "PRAGMA temp_store = FILE; VACUUM", NULL, NULL, NULL) != SQLITE_OK)
        return fail_sql(s);
    return empty_log(s);
}
