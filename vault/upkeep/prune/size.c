#include "vault/upkeep/prune/size.h"

#include "vault/search/index.h"
#include "vault/store/failure.h"
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

/* Tables with rows of sessions; an older vault does not have all of them. */
static const struct {
    const char *name, *of_session;
} tables[] = {
    {"messages", "id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"},
    {"calls", "id BETWEEN ?1 << 36 AND (?1 << 36) + 68719476735"},
    {"events", "session_id = ?1"},
    {"replaced", "session_id = ?1"},
    {"sessions", "id = ?1"},
};

/* The size of a row in bytes, as SQL: a byte for the type of each column, two more for a text that is not short, the
 * bytes of texts and blobs, and two for a number. Versions differ in their columns. */
static const char row_size[] =
    "SELECT group_concat(printf(CASE WHEN type = 'INTEGER' THEN 'iif(\"%w\" IS NULL, 1, 3)'"
    " ELSE 'ifnull(length(CAST(\"%w\" AS BLOB)) + 3, 1)' END, name), ' + ')"
    " FROM pragma_table_info(?1)";

/* A statement with two columns for each row of session ?1: is it a message? its size. */
static int prepare_rows(struct prune *p)
{
    struct buf sql = {0};
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(p->db, row_size, -1, &q, NULL);
    for (size_t i = 0; rc == SQLITE_OK && i < MI_COUNT(tables); i++) {
        sqlite3_bind_text(q, 1, tables[i].name, -1, SQLITE_STATIC);
        if (sqlite3_step(q) == SQLITE_ROW && sqlite3_column_type(q, 0) != SQLITE_NULL)
            buf_printf(&sql, "%sSELECT %d, %s FROM %s WHERE %s", sql.n > 0 ? " UNION ALL " : "",
                       i == 0, (const char *)sqlite3_column_text(q, 0), tables[i].name,
                       tables[i].of_session);
        rc = sqlite3_reset(q);
    }
    sqlite3_finalize(q);
    if (rc == SQLITE_OK && !sql.failed)
        rc = sqlite3_prepare_v2(p->db, buf_str(&sql), -1, &p->rows, NULL);
    int st = sql.failed ? MI_ENOMEM : rc == SQLITE_OK ? 0 : failure_keep(p->db);
    buf_close(&sql);
    return st;
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

int prune_size_session(struct prune *p, int64_t id, int64_t *ret)
{
    int64_t pages = 0, file = search_file_of(NULL, id) + 1, index = 0;
    int st = p->rows == NULL ? prepare_rows(p) : 0;
    if (st == 0 && p->page_size == 0)
        st = prune_number(p, "PRAGMA page_size", 0, &p->page_size);
    if (st < 0)
        return st;
    sqlite3_bind_int64(p->rows, 1, id);
    int rc;
    while ((rc = sqlite3_step(p->rows)) == SQLITE_ROW)
        pages += pages_add(&p->pages[sqlite3_column_int(p->rows, 0) != 0], p->page_size,
                           sqlite3_column_int64(p->rows, 1));
    sqlite3_reset(p->rows);
    if (rc != SQLITE_DONE)
        return failure_keep(p->db);
    if (file != p->index)
        index = search_forget_bytes(p->dir.fd, id);
    p->index = file;
    *ret = pages * p->page_size + index;
    return 0;
}
