#include "vault/store/running.h"

#include "base/grow.h"
#include "journal/journal_file.h"
#include "journal/ring.h"
#include "vault/store/coverage.h"
#include "vault/store/dir.h"
#include "vault/store/failure.h"
#include "vault/store/read_only.h"
#include "vault/store/running_lock.h"
#include "vault/store/schema.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define GROUP_MAX 64

/* ---- other processes ------------------------------------------------------------------------ */

/* Microseconds. If a process started this much later than a session, it is not the session's proxy:
 * the system has given the proxy's pid to it. The limit is high, because the wall clock may have
 * been set between the two starts. */
#define PID_REUSE_US (60 * (int64_t)1000000)

static enum liveness_place compare_boot_id_with_current(const struct running *r)
{
    char boot[PROCESS_BOOT_MAX];
    process_read_boot_id(boot);
    if (boot[0] == '\0' || r->boot[0] == '\0')
        return LIVENESS_PLACE_UNKNOWN;
    return strcmp(boot, r->boot) == 0 ? LIVENESS_HERE : LIVENESS_NOT_HERE;
}

static enum liveness_place compare_pid_namespace_of_session(const struct running *r)
{
    if (r->pid_namespace == 0)
        return LIVENESS_PLACE_UNKNOWN;
    return r->pid_namespace == process_pid_namespace() ? LIVENESS_HERE : LIVENESS_NOT_HERE;
}

bool running_pids_are_valid(const struct running *r)
{
    return compare_boot_id_with_current(r) == LIVENESS_HERE &&
           compare_pid_namespace_of_session(r) == LIVENESS_HERE;
}

bool running_session_is_on_this_host(struct slice name)
{
    char host[_POSIX_HOST_NAME_MAX + 1] = "";
    return gethostname(host, sizeof host - 1) == 0 && name.p != NULL && slice_is(name, host);
}

/* Whether the proxy's process runs. The result means something only if the process ids in *r are
 * those of this machine and PID namespace (model/liveness.c). */
static bool proxy_process_is_alive(const struct running *r, int64_t started_at_us)
{
    if (r->pid_start != 0 || compare_boot_id_with_current(r) == LIVENESS_HERE)
        return r->pid_start != 0 && process_start(r->pid) == r->pid_start;
    return r->pid > 0 && (kill(r->pid, 0) == 0 || errno != ESRCH) &&
           process_start_time_us(r->pid) <= started_at_us + PID_REUSE_US;
}

enum session_state get_running_session_state(const struct running_session *s, int lock)
{
    struct liveness f = {.ended = s->ended};
    if (!s->ended)
        f = (struct liveness){
            .lock = running_lock_get_state(lock, s->id),
            .boot = compare_boot_id_with_current(&s->r),
            .pids = compare_pid_namespace_of_session(&s->r),
            .host = running_session_is_on_this_host(s->host),
            .process = proxy_process_is_alive(&s->r, s->started_at_us),
        };
    return session_state_by_liveness(&f);
}

enum session_state running_row_get_state(const struct running_list *l,
                                         const struct running_row *row)
{
    struct running_session s = {.id = row->session_id,
                                .started_at_us = row->started_at_us,
                                .host = slice_of(row->host),
                                .r = row->r};
    return get_running_session_state(&s, l->lock);
}

bool running_list_has_any_proxy(const char *vault)
{
    struct running_list l;
    struct buf error = {0};
    bool any = running_list_open(&l, vault, &error) < 0;
    for (size_t i = 0; !any && i < l.n; i++)
        any = running_row_get_state(&l, &l.row[i]) != SESSION_DIED;
    running_list_close(&l);
    buf_close(&error);
    return any;
}

bool running_client_has_exited(const struct running *r)
{
    return r->client_pid > 0 && r->client_start != 0 &&
           process_start(r->client_pid) != r->client_start;
}

size_t read_running_process_group(const struct running *r, struct process *ret, size_t max)
{
    if (r->server_group <= 1 || r->server_start == 0 || r->server_group == getpgrp() ||
        !running_pids_are_valid(r) || (kill((pid_t)-r->server_group, 0) < 0 && errno == ESRCH))
        return 0;
    size_t n = process_list_group_members(r->server_group, ret, max);
    for (size_t i = 0; i < n; i++) {
        bool is_leader = ret[i].pid == r->server_group;
        if (is_leader ? ret[i].start_ticks != r->server_start
                      : ret[i].start_ticks < r->server_start || ret[i].session != r->server_session)
            return 0;
    }
    return n;
}

/* ---- the table ------------------------------------------------------------------------------ */

static int running_list_set_error(sqlite3 *db, const char *vault, struct buf *error)
{
    buf_clear(error);
    buf_printf(error, "cannot use %s/" VAULT_DB ": %s", vault, failure_text(db));
    return MI_ESTORE;
}

/* Connects to the database. MI_ENOENT: the database or the table does not exist. The caller closes
 * *ret even after an error. */
static int running_list_connect(sqlite3 **ret, const char *vault, bool writes, struct buf *error)
{
    char path[PATH_MAX];
    int64_t version = 0;
    *ret = NULL;
    if (!connect_find_database_path(vault, path))
        return MI_ENOENT;
    int rc = writes ? connect_open_database(ret, path, NULL, SQLITE_OPEN_READWRITE, RUNNING_WAIT_MS)
                    : read_only_open(ret, path, RUNNING_WAIT_MS, NULL);
    if (rc != SQLITE_OK ||
        sqlite3_exec(*ret, "PRAGMA synchronous = NORMAL", NULL, NULL, NULL) != SQLITE_OK ||
        schema_version(*ret, &version) < 0)
        return running_list_set_error(*ret, vault, error);
    if (version <= SCHEMA_VERSION)
        return version >= SCHEMA_RUNNING ? 0 : MI_ENOENT;
    buf_clear(error);
    buf_printf(
        error,
        "%s/" VAULT_DB
        " was made by a newer mcp-interposer; use that version, or another vault with --vault",
        vault);
    return MI_ESTORE;
}

static void copy_text_column(sqlite3_stmt *q, int i, char *to, size_t max)
{
    const char *text = (const char *)sqlite3_column_text(q, i);
    snprintf(to, max, "%s", text != NULL ? text : "");
}

static pid_t read_pid_column(sqlite3_stmt *q, int i)
{
    int64_t pid = sqlite3_column_int64(q, i);
    return pid > 0 && pid <= INT_MAX ? (pid_t)pid : 0;
}

#define NAME(name, type, null) ", r." #name
#define PROCESSES RUNNING_FIELDS(NAME)

#define TAKE_BOOT(name) copy_text_column(q, at++, ret->name, sizeof ret->name);
#define TAKE_NUMBER(name) ret->name = sqlite3_column_int64(q, at++);
#define TAKE_PID(name) ret->name = read_pid_column(q, at++);
#define TAKE_TICKS(name) ret->name = (uint64_t)sqlite3_column_int64(q, at++);
#define TAKE(name, type, null) TAKE_##type(name)

/* at: index of the first column that PROCESSES selects */
static void read_process_columns(sqlite3_stmt *q, int at, struct running *ret)
{
    RUNNING_FIELDS(TAKE)
}

static void read_running_row(sqlite3_stmt *q, struct running_row *row)
{
    *row = (struct running_row){
        .session_id = sqlite3_column_int64(q, 0),
        .started_at_us = sqlite3_column_int64(q, 1),
        .last_at_us = sqlite3_column_int64(q, 2),
        .ended = sqlite3_column_type(q, 3) != SQLITE_NULL,
    };
    copy_text_column(q, 4, row->uid, sizeof row->uid);
    copy_text_column(q, 5, row->name, sizeof row->name);
    copy_text_column(q, 6, row->host, sizeof row->host);
    copy_text_column(q, 7, row->client, sizeof row->client);
    read_process_columns(q, 8, &row->r);
}

/* Returns the time of the last message of session `s`; if there is no message, its start. */
#define LAST_AT                                                                                    \
    "s.started_at_us + coalesce((SELECT m.t_us FROM messages m WHERE m.id BETWEEN s.id << 36"      \
    " AND (s.id << 36) + 68719476735 ORDER BY m.id DESC LIMIT 1), 0)"

_Static_assert(SCHEMA_SEQ_BITS == 36, "the statements say 36");

static int running_list_load(sqlite3 *db, struct running_list *l)
{
    static const char sql[] =
        "SELECT s.id, s.started_at_us, " LAST_AT
        ", s.ended_at_us, s.uid, s.name, s.host, s.client_name" PROCESSES
        " FROM running r JOIN sessions s ON s.id = r.session_id ORDER BY s.id";
    sqlite3_stmt *q = NULL;
    size_t cap = 0;
    int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    int st = rc == SQLITE_OK ? 0 : failure_keep(db);
    while (st == 0 && l->n < RUNNING_ROWS_MAX && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        if (!GROW(l->row, l->n, cap)) {
            st = MI_ENOMEM;
            break;
        }
        read_running_row(q, &l->row[l->n++]);
    }
    if (st == 0 && rc != SQLITE_DONE && rc != SQLITE_ROW)
        st = failure_keep(db);
    sqlite3_finalize(q);
    return st;
}

bool running_list_has_rows(sqlite3 *db)
{
    bool has;
    int64_t n = 0;
    return schema_has_table(db, "running", &has) == 0 && has &&
           connect_read_number(db, "SELECT EXISTS (SELECT 1 FROM running)", 0, &n) == SQLITE_OK &&
           n > 0;
}

int running_list_read_row(sqlite3 *db, int64_t session_id, struct running *ret)
{
    sqlite3_stmt *q = NULL;
    bool has;
    int st = schema_has_table(db, "running", &has);
    if (st < 0 || !has)
        return st < 0 ? st : MI_ENOENT;
    int rc = sqlite3_prepare_v2(
        db, "SELECT r.session_id" PROCESSES " FROM running r WHERE r.session_id = ?1", -1, &q,
        NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(q, 1, session_id);
        rc = sqlite3_step(q);
    }
    if (rc == SQLITE_ROW)
        read_process_columns(q, 1, ret);
    st = rc == SQLITE_ROW ? 0 : rc == SQLITE_DONE ? MI_ENOENT : failure_keep(db);
    sqlite3_finalize(q);
    return st;
}

int running_list_open(struct running_list *ret, const char *vault, struct buf *error)
{
    sqlite3 *db;
    *ret = (struct running_list){.lock = -1};
    int st = running_list_connect(&db, vault, false, error);
    if (st == 0) {
        st = running_list_load(db, ret);
        if (st == MI_ESTORE)
            (void)running_list_set_error(db, vault, error);
    }
    int dir = st == 0 ? open(vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (dir >= 0) {
        ret->lock = running_lock_open_existing(dir);
        close(dir);
    }
    sqlite3_close(db);
    if (st < 0)
        running_list_close(ret);
    return st == MI_ENOENT ? 0 : st;
}

void running_list_close(struct running_list *l)
{
    free(l->row);
    if (l->lock >= 0)
        close(l->lock);
    *l = (struct running_list){.lock = -1};
}

static int running_list_run_statement(sqlite3 *db, const char *sql, int64_t id)
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    if (rc == SQLITE_OK) {
        sqlite3_bind_int64(q, 1, id);
        rc = sqlite3_step(q);
    }
    sqlite3_finalize(q);
    return rc == SQLITE_DONE ? 0 : failure_keep(db);
}

/* Seals a session that this process has closed. Does nothing if the vault has no evidence. */
static int seal_running_session(sqlite3 *db, int64_t id)
{
    bool has;
    struct coverage c = {0};
    int st = schema_has_table(db, "leaves", &has);
    if (st < 0 || !has)
        return st;
    st = coverage_switch_to_session(&c, db, id);
    if (st == 0)
        st = coverage_mark_session_changed(&c, db);
    if (st == 0)
        st = coverage_save(&c, db);
    coverage_close(&c);
    return st;
}

/* *ret: whether the recorder has stored records after the session was ended. No seal covers such
 * records. */
static int session_has_late_records(sqlite3 *db, int64_t id, bool *ret)
{
    int64_t n = 0;
    int st = schema_has_table(db, "leaves", ret);
    if (st == 0 && *ret &&
        connect_read_number(
            db,
            "SELECT count(*) FROM journals j JOIN sessions s ON s.id = j.session_id"
            " WHERE s.id = ?1 AND s.ended_at_us IS NOT NULL AND j.records > s.records",
            id, &n) != SQLITE_OK)
        st = failure_keep(db);
    *ret = n > 0;
    return st;
}

static int end_running_session(sqlite3 *db, int64_t id, bool forget)
{
    bool grown = false;
    if (sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
        return failure_keep(db);
    int st = running_list_run_statement(
        db,
        "UPDATE sessions AS s SET end_reason = 'killed', ended_at_us = " LAST_AT
        " WHERE s.id = ?1 AND s.ended_at_us IS NULL",
        id);
    bool ended = st == 0 && sqlite3_changes(db) > 0;
    if (st == 0 && !ended)
        st = session_has_late_records(db, id, &grown);
    if (st == 0 && (ended || grown))
        st = seal_running_session(db, id);
    if (st == 0 && forget)
        st = running_list_run_statement(db, "DELETE FROM running WHERE session_id = ?1", id);
    if (st == 0 && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
        st = failure_keep(db);
    return st; /* closing the connection rolls back an open transaction */
}

int end_dead_running_session(const char *vault, int64_t session_id, bool forget, struct buf *error)
{
    sqlite3 *db;
    int st = running_list_connect(&db, vault, true, error);
    if (st == 0) {
        st = end_running_session(db, session_id, forget);
        if (st == MI_ESTORE)
            (void)running_list_set_error(db, vault, error);
    }
    sqlite3_close(db);
    return st == MI_ENOENT ? 0 : st;
}

/* Whether the session has a journal that will be stored: then its recorder, or orphans_store_all()
 * (record/process), stores it and ends the session. An unreadable journal is never stored. */
static bool session_has_journal(const char *uid)
{
    struct journal_file f;
    struct ring r;
    /* check the uid, because another program may have written the row */
    if (!uid_is_valid(slice_of(uid)))
        return false;
    int st = journal_file_open(&f, uid);
    if (st < 0)
        return st == MI_EFULL; /* MI_EFULL: another process is storing the journal */
    bool readable = ring_open(&r, f.fd) == 0;
    if (readable)
        ring_close(&r);
    journal_file_close(&f);
    return readable;
}

int running_list_close_dead_sessions(const char *vault)
{
    struct running_list l;
    struct buf error = {0};
    int st = running_list_open(&l, vault, &error);
    for (size_t i = 0; st == 0 && i < l.n; i++) {
        struct process group[GROUP_MAX];
        const struct running_row *row = &l.row[i];
        if (running_row_get_state(&l, row) != SESSION_DIED ||
            (!row->ended && session_has_journal(row->uid)))
            continue;
        bool left = read_running_process_group(&row->r, group, GROUP_MAX) > 0;
        if (!left || !row->ended)
            st = end_dead_running_session(vault, row->session_id, !left, &error);
    }
    running_list_close(&l);
    buf_close(&error);
    return st;
}
