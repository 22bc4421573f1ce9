#include "vault/upkeep/prune/plan.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/os/file.h"
#include "base/search.h"
#include "journal/uid.h"
#include "vault/store/aside.h"
#include "vault/store/failure.h"
#include "vault/upkeep/prune/database.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_US ((int64_t)86400 * 1000000)

/* ---- sessions ---- */

static bool add_session(struct prune *p, int64_t id)
{
    if (!GROW(p->session, p->n, p->cap))
        return false;
    p->session[p->n++] = id;
    return true;
}

/* Sessions that may be removed, oldest first: all but the last ?1, except running ones. A session without a recorded
 * end that is not running ended with its last message. */
static const char candidates[] =
    "SELECT s.id, coalesce(s.ended_at_us, s.started_at_us + coalesce((SELECT m.t_us FROM messages m"
    " WHERE m.id BETWEEN s.id << 36 AND (s.id << 36) + 68719476735 ORDER BY m.id DESC LIMIT 1), "
    "0)),"
    " s.ended_at_us IS NULL FROM sessions s WHERE s.id <"
    " (SELECT min(id) FROM (SELECT id FROM sessions ORDER BY id DESC LIMIT ?1))"
    " AND s.id NOT IN (SELECT session_id FROM running) ORDER BY s.id";

/* Approximate size in the database: the bodies and some hundred bytes for each row. */
static const char session_bytes[] =
    "SELECT coalesce(sum(120 + coalesce(length(CAST(body AS BLOB)), 0)), 0) FROM messages"
    " WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735";

static int64_t folder_bytes(int dir_fd, const char *name)
{
    struct stat st;
    int64_t sum = 0;
    int fd = vault_dir_sub(dir_fd, name, false);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(st.st_mode))
            sum += st.st_size;
        else if (S_ISDIR(st.st_mode) && e->d_name[0] != '.')
            sum += folder_bytes(fd, e->d_name);
    }
    if (d != NULL)
        closedir(d);
    return sum;
}

static int vault_bytes(struct prune *p, int64_t *ret)
{
    int64_t pages = 0, unused = 0, size = 0;
    int st = prune_number(p, "PRAGMA page_count", 0, &pages);
    if (st == 0)
        st = prune_number(p, "PRAGMA freelist_count", 0, &unused);
    if (st == 0)
        st = prune_number(p, "PRAGMA page_size", 0, &size);
    *ret = (pages - unused) * size + folder_bytes(p->dir.fd, VAULT_BODIES) +
           folder_bytes(p->dir.fd, VAULT_LOGS) + folder_bytes(p->dir.fd, VAULT_ESCALATIONS) +
           folder_bytes(p->dir.fd, VAULT_SEARCH);
    return st;
}

static int body_file_bytes(struct prune *p, int64_t id, int64_t *ret)
{
    sqlite3_stmt *q = NULL;
    struct stat st;
    int dir = vault_dir_sub(p->dir.fd, VAULT_BODIES, false);
    *ret = 0;
    if (dir < 0)
        return 0;
    if (sqlite3_prepare_v2(p->db, "SELECT uid FROM sessions WHERE id = ?1", -1, &q, NULL) ==
        SQLITE_OK) {
        sqlite3_bind_int64(q, 1, id);
        if (sqlite3_step(q) == SQLITE_ROW &&
            fstatat(dir, (const char *)sqlite3_column_text(q, 0), &st, AT_SYMLINK_NOFOLLOW) == 0)
            *ret = st.st_size;
    }
    int rc = sqlite3_finalize(q);
    close(dir);
    return rc == SQLITE_OK ? 0 : failure_keep(p->db);
}

/* Plans the removal of a session, unless it has to be sent first. *ret: it may be removed. */
static int plan_session(struct prune *p, int64_t id, bool *ret)
{
    int st = prune_is_sent(p, id, ret);
    if (st < 0)
        return st;
    p->plan.unsent += !*ret;
    return !*ret || add_session(p, id) ? 0 : MI_ENOMEM;
}

static int plan_sessions(struct prune *p)
{
    sqlite3_stmt *q = NULL;
    int64_t bytes = 0, some = 0, file = 0;
    bool all = p->rule.older_us == 0 && p->rule.max_bytes == 0;
    int st = p->rule.max_bytes > 0 ? vault_bytes(p, &bytes) : 0;
    if (st < 0)
        return st;
    if (sqlite3_prepare_v2(p->db, candidates, -1, &q, NULL) != SQLITE_OK)
        return failure_keep(p->db);
    sqlite3_bind_int64(q, 1, p->rule.keep_last > 0 ? p->rule.keep_last : 1);
    int rc = SQLITE_DONE;
    while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(q, 0), end_us = sqlite3_column_int64(q, 1);
        bool old = p->rule.older_us > 0 && end_us < p->now_us - p->rule.older_us;
        bool large = p->rule.max_bytes > 0 && bytes > p->rule.max_bytes;
        if (sqlite3_column_int(q, 2) && end_us > p->now_us - DAY_US)
            continue; /* no recorded end: keep it for a day, in case it is still running */
        if (!all && !old && !large)
            continue;
        bool planned;
        st = plan_session(p, id, &planned);
        if (st == 0 && planned && p->rule.max_bytes > 0) {
            st = prune_number(p, session_bytes, id, &some);
            if (st == 0)
                st = body_file_bytes(p, id, &file);
            bytes -= some + file;
        }
    }
    sqlite3_finalize(q);
    return st < 0 ? st : rc == SQLITE_DONE ? 0 : failure_keep(p->db);
}

static bool is_planned(const struct prune *p, int64_t id)
{
    size_t at = search_int64(p->session, p->n, sizeof *p->session, 0, id);
    return at < p->n && p->session[at] == id;
}

/* Log files and escalations older than *ret are removed. */
static int find_cutoff(struct prune *p, int64_t *ret)
{
    sqlite3_stmt *q = NULL;
    int64_t cutoff = p->now_us - p->rule.older_us;
    if (sqlite3_prepare_v2(p->db, "SELECT id, started_at_us FROM sessions ORDER BY id", -1, &q,
                           NULL) != SQLITE_OK)
        return failure_keep(p->db);
    int rc;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        int64_t at_us = sqlite3_column_int64(q, 1);
        if (at_us < cutoff && !is_planned(p, sqlite3_column_int64(q, 0)))
            cutoff = at_us;
    }
    sqlite3_finalize(q);
    *ret = cutoff;
    return rc == SQLITE_DONE ? 0 : failure_keep(p->db);
}

static int count_messages(struct prune *p)
{
    int st = 0;
    for (size_t i = 0; i < p->n && st == 0; i++) {
        int64_t n = 0;
        st = prune_number(
            p,
            "SELECT count(*) FROM messages WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735",
            p->session[i], &n);
        p->plan.messages += n;
    }
    p->plan.sessions = (int64_t)p->n;
    return st;
}

/* ---- files ---- */

static int64_t changed_us(const struct stat *st)
{
    struct timespec at = file_changed_at(st);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

typedef bool (*removable_fn)(struct prune *p, const char *name, const struct stat *st,
                             int64_t cutoff_us);

static bool is_removable_log(struct prune *p, const char *name, const struct stat *st,
                             int64_t cutoff_us)
{
    char day[CLOCK_TEXT_MAX];
    (void)p, (void)st;
    clock_utc_day(cutoff_us, day); /* the file of the cutoff day may have newer lines */
    return strlen(name) == 16 && strcmp(name + 10, ".jsonl") == 0 &&
           isdigit((unsigned char)name[0]) && strncmp(name, day, 10) < 0;
}

static bool is_removable_escalation(struct prune *p, const char *name, const struct stat *st,
                                    int64_t cutoff_us)
{
    size_t n = strlen(name);
    (void)p;
    return isdigit((unsigned char)name[0]) && n > 3 && strcmp(name + n - 3, ".md") == 0 &&
           changed_us(st) < cutoff_us;
}

/* Bodies of a session to be removed, or of a session that does not exist: an earlier removal was interrupted. Those of a
 * session in a database that was put aside stay. */
static bool is_removable_body(struct prune *p, const char *name, const struct stat *st,
                              int64_t cutoff_us)
{
    sqlite3_stmt *q = NULL;
    (void)cutoff_us;
    if (strlen(name) != UID_LEN ||
        sqlite3_prepare_v2(p->db, "SELECT id FROM sessions WHERE uid = ?1", -1, &q, NULL) !=
            SQLITE_OK)
        return false;
    sqlite3_bind_text(q, 1, name, -1, SQLITE_STATIC);
    int rc = sqlite3_step(q);
    bool goes = rc == SQLITE_ROW ? is_planned(p, sqlite3_column_int64(q, 0))
                                 : rc == SQLITE_DONE && changed_us(st) < p->now_us - DAY_US &&
                                       aside_count(p->dir.fd, NULL) == 0;
    sqlite3_finalize(q);
    return goes;
}

/* Takes ownership of fd. */
static int plan_files(struct prune *p, struct prune_files *f, int fd, removable_fn is_removable,
                      int64_t cutoff_us)
{
    struct stat st;
    f->fd = fd;
    int again = fd >= 0 ? openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (d == NULL) {
        if (again >= 0)
            close(again);
        return 0; /* the folder is missing or unreadable: nothing to remove */
    }
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
            !is_removable(p, e->d_name, &st, cutoff_us))
            continue;
        buf_add(&f->names, e->d_name, strlen(e->d_name) + 1);
        f->bytes += st.st_size;
        f->n++;
    }
    closedir(d);
    return f->names.failed ? MI_ENOMEM : 0;
}

static int open_logs(int dir_fd)
{
    int logs = vault_dir_sub(dir_fd, VAULT_LOGS, false);
    int fd = logs >= 0 ? vault_dir_sub(logs, VAULT_ACTIONS, false) : -1;
    if (logs >= 0)
        close(logs);
    return fd;
}

int prune_make_plan(struct prune *p, struct buf *error)
{
    int64_t cutoff = 0;
    int st = plan_sessions(p);
    if (st == 0)
        st = count_messages(p);
    if (st == 0)
        st = find_cutoff(p, &cutoff);
    if (st == 0)
        st = plan_files(p, &p->bodies, vault_dir_sub(p->dir.fd, VAULT_BODIES, false),
                        is_removable_body, 0);
    if (st == 0)
        st = plan_files(p, &p->logs, open_logs(p->dir.fd), is_removable_log, cutoff);
    if (st == 0)
        st = plan_files(p, &p->escalations, vault_dir_sub(p->dir.fd, VAULT_ESCALATIONS, false),
                        is_removable_escalation, cutoff);
    p->plan.bodies = (int64_t)p->bodies.n;
    p->plan.logs = (int64_t)p->logs.n;
    p->plan.escalations = (int64_t)p->escalations.n;
    p->plan.file_bytes = p->bodies.bytes + p->logs.bytes + p->escalations.bytes;
    return st == MI_ESTORE ? prune_fail(p, error) : st;
}
