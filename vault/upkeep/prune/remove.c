#include "vault/upkeep/prune/remove.h"

#include "vault/search/index.h"
#include "vault/store/ledger.h"
#include "vault/store/rebuild.h"
#include "vault/store/running.h"
#include "vault/upkeep/prune/database.h"
#include "vault/upkeep/prune/files.h"
#include "vault/upkeep/prune/plan.h"
#include "vault/upkeep/prune/size.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define SHRINK_SHARE 5 /* the database is shrunk if at least one fifth of its pages are free */

int prune_open(struct prune **ret, const char *vault, const struct retention *r, int64_t now_us,
               struct buf *error)
{
    struct prune *p = calloc(1, sizeof *p);
    if (p == NULL)
        return MI_ENOMEM;
    p->rule = *r;
    p->now_us = now_us;
    p->bodies.fd = p->logs.fd = p->escalations.fd = -1;
    p->d.error = error;
    int st = vault_dir_open(&p->dir, vault, false, error);
    if (st == 0)
        st = prune_connect(p);
    if (st == 0)
        st = prune_make_plan(p);
    st = prune_convert_lock_error(p, st);
    if (st == 0)
        *ret = p;
    else
        prune_close(p);
    return st;
}

void prune_close(struct prune *p)
{
    if (p == NULL)
        return;
    if (p->d.kind != NULL)
        db_close(&p->d);
    vault_dir_close(&p->dir);
    prune_files_close(&p->bodies);
    prune_files_close(&p->logs);
    prune_files_close(&p->escalations);
    free(p->session);
    free(p);
}

const struct prune_report *prune_get_plan_totals(const struct prune *p)
{
    return &p->plan;
}

const struct prune_report *prune_get_report(const struct prune *p)
{
    return &p->done;
}

size_t prune_sessions(const struct prune *p, const int64_t **ret_ids)
{
    *ret_ids = p->session;
    return p->n;
}

int prune_fill_in_plan_totals(struct prune *p, struct buf *error)
{
    int64_t rows = 0, sum = 0;
    int st = 0;
    p->d.error = error;
    for (size_t i = 0; p->rule.max_bytes == 0 && i < p->n && st == 0; i++) {
        st = prune_add_session_size(p, p->session[i], &rows);
        sum += rows;
    }
    p->plan.bytes_after -= st == 0 ? sum : 0;
    return prune_convert_lock_error(p, st);
}

bool prune_database_is_unchanged(struct prune *p)
{
    int64_t version;
    struct buf none = {0}, *error = p->d.error;
    p->d.error = &none;
    bool read = db_read_number(&p->d, P_DATA_VERSION, &version, NULL, 0) == 0;
    bool quiet = read && version == p->version;
    p->version = read ? version : p->version;
    p->d.error = error;
    buf_close(&none);
    return quiet;
}

/* ---- steps ---- */

/* Adds a leaf to the vault's log, which states that the removal of a session begins
 * (docs/evidence.md). */
static int prune_log_session_removal(struct prune *p, int64_t id)
{
    bool has;
    char uid[UID_LEN + 1] = "";
    struct leaf leaf = {.type = LEAF_PRUNE, .at_us = p->now_us};
    int64_t n;
    int st = db_has_table(&p->d, "leaves", &has);
    if (st == 0)
        st = prune_read_session_uid(p, id, uid);
    if (st < 0 || !has || uid[0] == '\0')
        return st;
    leaf.uid = slice_of(uid);
    st = ledger_add_leaf(p->d.db, &leaf, &n);
    return st == MI_ESTORE ? db_fail(&p->d) : st;
}

/* Removes rows of a session from a table. An older vault may lack the table: then the function does
 * nothing. */
static int prune_remove_from_table(struct prune *p, const char *table, enum prune_query i,
                                   int64_t id)
{
    bool has;
    int st = db_has_table(&p->d, table, &has);
    return st == 0 && has ? db_run_statement(&p->d, i, DB_WITH(db_int(id), db_int(PRUNE_ROWS)))
                          : st;
}

/* Removes all rows of a session except its messages. */
static int prune_remove_non_message_rows(struct prune *p, int64_t id)
{
    static const struct {
        const char *name;
        enum prune_query remove;
    } tables[] = {
        {"events", P_REMOVE_EVENTS},   {"replaced", P_REMOVE_REPLACED},
        {"shipped", P_REMOVE_SHIPPED}, {"operations", P_REMOVE_OPERATIONS},
        {"calls", P_REMOVE_CALLS},     {"sessions", P_REMOVE_SESSION},
    };
    int st = 0;
    for (size_t i = 0; st == 0 && i < MI_COUNT(tables); i++)
        st = prune_remove_from_table(p, tables[i].name, tables[i].remove, id);
    return st;
}

/* Removes up to PRUNE_ROWS messages of a session, with their calls. The row of the session is
 * removed with its last messages. *ret_n: number of removed messages. */
static int prune_remove_rows(struct prune *p, int64_t id, int64_t *ret_n)
{
    bool sent;
    int st = prune_session_was_sent(p, id, &sent);
    if (st == 0 && !sent) { /* the session was redacted, or sent again, after the plan was made */
        buf_printf(p->d.error,
                   "session %lld was changed meanwhile, and must be sent first; run it again",
                   (long long)id);
        return MI_EBUSY;
    }
    if (st == 0 && !p->stated)
        st = prune_log_session_removal(p, id);
    if (st == 0)
        st = prune_remove_from_table(p, "calls", P_REMOVE_NEXT_CALLS, id);
    if (st == 0)
        st = prune_remove_from_table(p, "messages", P_REMOVE_NEXT_MESSAGES, id);
    *ret_n = sqlite3_changes(p->d.db);
    return st == 0 && *ret_n < PRUNE_ROWS ? prune_remove_non_message_rows(p, id) : st;
}

/* Removes the search index of a session. Call it before and after the rows are removed, because a
 * search may make the index again in between. */
static int prune_remove_index(struct prune *p, int64_t id)
{
    if (search_delete_index(p->dir.path, id) == 0)
        return 0;
    buf_printf(p->d.error,
               "cannot remove the index of session %lld below %s/" VAULT_SEARCH
               ": %s; remove that folder",
               (long long)id, p->dir.path, strerror(errno));
    return MI_EIO;
}

static int prune_remove_session_rows(struct prune *p)
{
    int64_t id = p->session[p->at], n = 0;
    int st = p->forgotten ? 0 : prune_remove_index(p, id);
    if (st < 0)
        return st;
    p->forgotten = true;
    st = db_begin(&p->d);
    if (st == 0)
        st = db_end(&p->d, prune_remove_rows(p, id, &n));
    if (st < 0)
        return st;
    p->stated = true;
    p->done.messages += n;
    if (n == PRUNE_ROWS)
        return 0;
    p->forgotten = p->stated = false;
    p->at++;
    p->done.sessions++;
    return prune_remove_index(p, id);
}

/* Removes the next file of `f`, and then adds 1 to *count. A file that does not exist any more is
 * not counted. */
static int prune_remove_next_file(struct prune_files *f, int64_t *count, struct prune_report *done,
                                  struct buf *error)
{
    struct stat s;
    const char *name = f->file[f->at++].name;
    if (fstatat(f->fd, name, &s, AT_SYMLINK_NOFOLLOW) != 0)
        return 0; /* another process has removed the file */
    if (unlinkat(f->fd, name, 0) != 0) {
        buf_printf(error, "cannot remove %s: %s", name, strerror(errno));
        return MI_EIO;
    }
    done->file_bytes += s.st_size;
    ++*count;
    return 0;
}

/* Shrinks the database if no proxy runs, because VACUUM locks the database. */
static int prune_shrink_database(struct prune *p)
{
    int64_t pages = 0, unused = 0, size = 0;
    int st = db_read_number(&p->d, P_PAGES, &pages, NULL, 0);
    if (st == 0)
        st = db_read_number(&p->d, P_UNUSED_PAGES, &unused, NULL, 0);
    if (st == 0)
        st = db_read_number(&p->d, P_PAGE_SIZE, &size, NULL, 0);
    if (st < 0)
        return st;
    p->done.free_bytes = unused * size;
    if (unused > 0 && unused >= pages / SHRINK_SHARE && !running_list_has_any_proxy(p->dir.path)) {
        st = rebuild_database(p->d.db) == 0 ? db_exec(&p->d, "PRAGMA wal_checkpoint(TRUNCATE)")
                                            : db_fail(&p->d);
        p->done.shrunk = st == 0;
        /* MI_EFULL: the database is locked; the next run will shrink it */
        if (st < 0 && prune_convert_lock_error(p, st) != MI_EFULL)
            return st;
    }
    return prune_compute_vault_size(p, &p->done.bytes_after);
}

static int prune_remove_next_item(struct prune *p, bool *ret_done)
{
    if (p->at < p->n)
        return prune_remove_session_rows(p);
    if (p->bodies.at < p->bodies.planned)
        return prune_remove_next_file(&p->bodies, &p->done.bodies, &p->done, p->d.error);
    if (p->logs.at < p->logs.planned)
        return prune_remove_next_file(&p->logs, &p->done.logs, &p->done, p->d.error);
    if (p->escalations.at < p->escalations.planned) {
        /* Remove the rows that name the file before removing the file: if the problem occurs again,
         * a new file is then made. */
        const char *file = p->escalations.file[p->escalations.at].name;
        bool recorded;
        int st = db_has_table(&p->d, "escalations", &recorded);
        if (st == 0 && recorded)
            st = db_run_statement(&p->d, P_REMOVE_ESCALATION, DB_WITH(db_text(slice_of(file))));
        if (st < 0)
            return st;
        return prune_remove_next_file(&p->escalations, &p->done.escalations, &p->done, p->d.error);
    }
    *ret_done = true;
    return prune_shrink_database(p);
}

int prune_run_step(struct prune *p, bool *ret_done, struct buf *error)
{
    *ret_done = false;
    p->d.error = error;
    return prune_convert_lock_error(p, prune_remove_next_item(p, ret_done));
}
