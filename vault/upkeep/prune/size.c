#include "vault/upkeep/prune/size.h"

#include "vault/search/index.h"
#include "vault/store/failure.h"
#include "vault/store/schema.h"
#include "vault/upkeep/prune/database.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

/* ---- the vault ---- */

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

int prune_size_vault(struct prune *p, int64_t *ret)
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

/* ---- a session ---- */

#define MESSAGES(columns)                                                                          \
    "SELECT id, " columns " FROM messages WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"
#define CALLS "SELECT * FROM calls WHERE id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"
#define TEXTS "rpc_id, method, target, body, finding"

/* Tables with rows of sessions; an older vault does not have all of them. Of messages, the columns whose size differs much
 * are read: that takes half the time. `others`: bytes of the other columns. */
static const struct {
    const char *name;
    int others;
    const char *rows, *rows_before_evidence;
} tables[PRUNE_TABLES] = {
    {"messages", 50, MESSAGES(TEXTS ", salt, commitment"), MESSAGES(TEXTS)},
    {"events", 0, "SELECT * FROM events WHERE session_id = ?1", NULL},
    {"replaced", 0, "SELECT * FROM replaced WHERE session_id = ?1", NULL},
    {"sessions", 0, "SELECT * FROM sessions WHERE id = ?1", NULL},
    {"calls", 0, CALLS, NULL},
};

/* The bytes of a record: the type of each column, then the values. A number has as many bytes as it needs; the first column
 * is the row's id, which is not in the record. */
static int64_t record_bytes(sqlite3_stmt *q)
{
    int n = sqlite3_column_count(q);
    int64_t sum = 1 + n;
    for (int i = 1; i < n; i++) {
        int type = sqlite3_column_type(q, i);
        if (type == SQLITE_INTEGER) {
            int64_t v = sqlite3_column_int64(q, i);
            sum += v >= -128 && v < 128       ? v != 0 && v != 1
                   : v >= -32768 && v < 32768 ? 2
                   : v == (int32_t)v          ? 4
                                              : 6;
        } else if (type != SQLITE_NULL) {
            int bytes = sqlite3_column_bytes(q, i);
            sum += bytes + (bytes >= 58) + (bytes >= 8186);
        }
    }
    return sum;
}

#define PAGE_HEAD 8  /* of a leaf page */
#define CELL_HEAD 11 /* of a row: its size, its id, and where it is in the page */

/* Adds a row. Returns the number of pages that were begun. */
static int64_t pages_add(struct prune_pages *x, int64_t page, int64_t row)
{
    int64_t most = page - 35, least = (page - 12) * 32 / 255 - 23, more = 0, local = row;
    if (row > most) { /* the rest is in pages of its own */
        local = least + (row - least) % (page - 4);
        if (local > most)
            local = least;
        more = (row - local + page - 5) / (page - 4);
        local += 4;
    }
    if (local + CELL_HEAD > x->free) {
        x->free = page - PAGE_HEAD;
        more++;
    }
    x->free -= local + CELL_HEAD;
    return more;
}

static int table_pages(struct prune *p, size_t i, int64_t id, int64_t *pages)
{
    struct prune_pages *filled = &p->pages[i == 0];
    bool has = p->rows[i] != NULL;
    if (!has && schema_has_table(p->db, tables[i].name, &has) < 0)
        return MI_ESTORE;
    if (!has)
        return 0;
    const char *sql = p->schema < SCHEMA_EVIDENCE && tables[i].rows_before_evidence != NULL
                          ? tables[i].rows_before_evidence
                          : tables[i].rows;
    if (p->rows[i] == NULL && sqlite3_prepare_v2(p->db, sql, -1, &p->rows[i], NULL) != SQLITE_OK)
        return failure_keep(p->db);
    sqlite3_bind_int64(p->rows[i], 1, id);
    int rc;
    while ((rc = sqlite3_step(p->rows[i])) == SQLITE_ROW) {
        *pages += pages_add(filled, p->page_size, tables[i].others + record_bytes(p->rows[i]));
        p->plan.messages += i == 0;
    }
    sqlite3_reset(p->rows[i]);
    return rc == SQLITE_DONE ? 0 : failure_keep(p->db);
}

int prune_size_session(struct prune *p, int64_t id, int64_t *ret)
{
    int64_t pages = 0, file = search_file_of(NULL, id) + 1, index = 0;
    int st = p->page_size == 0 ? prune_number(p, "PRAGMA page_size", 0, &p->page_size) : 0;
    for (size_t i = 0; st == 0 && i < PRUNE_TABLES; i++)
        st = table_pages(p, i, id, &pages);
    if (st < 0)
        return st;
    if (file != p->index)
        index = search_forget_bytes(p->dir.fd, id);
    p->index = file;
    *ret = pages * p->page_size + index;
    return 0;
}
