#include "vault/upkeep/prune/size.h"

#include "vault/search/index.h"
#include "vault/store/schema.h"
#include "vault/upkeep/prune/database.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the vault ---- */

static int64_t count_folder_bytes(int dir_fd, const char *name)
{
    struct stat st;
    int64_t sum = 0;
    int fd = vault_dir_open_sub(dir_fd, name, false);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (S_ISREG(st.st_mode))
            sum += st.st_size;
        else if (S_ISDIR(st.st_mode) && e->d_name[0] != '.')
            sum += count_folder_bytes(fd, e->d_name);
    }
    if (d != NULL)
        closedir(d);
    else if (fd >= 0)
        close(fd);
    return sum;
}

int prune_compute_vault_size(struct prune *p, int64_t *ret)
{
    int64_t pages = 0, unused = 0, size = 0;
    int st = db_read_number(&p->d, P_PAGES, &pages, NULL, 0);
    if (st == 0)
        st = db_read_number(&p->d, P_UNUSED_PAGES, &unused, NULL, 0);
    if (st == 0)
        st = db_read_number(&p->d, P_PAGE_SIZE, &size, NULL, 0);
    *ret = (pages - unused) * size + count_folder_bytes(p->dir.fd, VAULT_BODIES) +
           count_folder_bytes(p->dir.fd, VAULT_LOGS) +
           count_folder_bytes(p->dir.fd, VAULT_ESCALATIONS) +
           count_folder_bytes(p->dir.fd, VAULT_SEARCH);
    return st;
}

/* ---- a session ---- */

/* The tables that have rows of sessions. Older vaults lack some of these tables. Of `messages`,
 * only the columns whose sizes differ much from row to row are read, which halves the time. others:
 * estimated bytes of the other columns in one row. */
static const struct {
    const char *name;
    int others;
    enum prune_query rows;
} tables[] = {
    {"messages", 50, P_SIZE_MESSAGES}, {"events", 0, P_SIZE_EVENTS},
    {"replaced", 0, P_SIZE_REPLACED},  {"sessions", 0, P_SIZE_SESSIONS},
    {"calls", 0, P_SIZE_CALLS},        {"operations", 0, P_SIZE_OPERATIONS},
};

/* Returns the bytes of the current row as a record of SQLite: the types of its columns, then the
 * values. A small number takes fewer bytes. The first column is the row's id, which is not in the
 * record. */
static int64_t count_record_bytes(sqlite3_stmt *q)
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

#define PAGE_HEAD 8 /* header of a leaf page, in bytes */
/* header of a row, in bytes: the row's size, its id, and its offset in the page */
#define CELL_HEAD 11

/* Adds a row to the pages. Returns the number of new pages. */
static int64_t store_pages_add_row_size(struct prune_pages *x, int64_t page, int64_t row)
{
    int64_t most = page - 35, least = (page - 12) * 32 / 255 - 23, more = 0, local = row;
    if (row > most) { /* the row does not fit into a page, so a part of it is in overflow pages */
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

static int count_table_pages(struct prune *p, size_t i, int64_t id, int64_t *pages)
{
    struct prune_pages *filled = &p->pages[i == 0];
    enum prune_query rows =
        i == 0 && p->schema < SCHEMA_EVIDENCE ? P_SIZE_MESSAGES_BEFORE_EVIDENCE : tables[i].rows;
    sqlite3_stmt *q;
    bool has;
    int st = db_has_table(&p->d, tables[i].name, &has);
    if (st == 0 && has)
        st = db_begin_query(&p->d, rows, &q, DB_WITH(db_int(id)));
    if (st < 0 || !has)
        return st;
    int rc;
    while ((rc = sqlite3_step(q)) == SQLITE_ROW) {
        *pages += store_pages_add_row_size(filled, p->page_size,
                                           tables[i].others + count_record_bytes(q));
        p->plan.messages += i == 0;
    }
    return db_finish_statement(&p->d, q, rc);
}

int prune_add_session_size(struct prune *p, int64_t id, int64_t *ret)
{
    int64_t pages = 0, file = search_get_file_of_session(NULL, id) + 1, index = 0;
    int st = p->page_size == 0 ? db_read_number(&p->d, P_PAGE_SIZE, &p->page_size, NULL, 0) : 0;
    for (size_t i = 0; st == 0 && i < MI_COUNT(tables); i++)
        st = count_table_pages(p, i, id, &pages);
    if (st < 0)
        return st;
    if (file != p->index)
        index = search_get_file_size_of_session(p->dir.fd, id);
    p->index = file;
    *ret = pages * p->page_size + index;
    return 0;
}
