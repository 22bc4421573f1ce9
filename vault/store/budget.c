#include "vault/store/budget.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define STEPS_PER_CALL 1000000 /* number of steps between two calls of the progress handler */

struct budget {
    sqlite3 *db;
    int64_t used; /* number of steps of the running statement */
};

static int64_t database_file_bytes(const char *path, const char *suffix)
{
    char name[4096];
    struct stat st;
    int n = path != NULL ? snprintf(name, sizeof name, "%s%s", path, suffix) : -1;
    if (n < 0 || (size_t)n >= sizeof name || stat(name, &st) != 0)
        return 0;
    /* A sparse file may claim to have exabytes: its disk blocks limit the size. If the blocks are
     * less than a page, their number is unknown: some file systems report no blocks, or none before
     * the data is written. */
    int64_t stored = (int64_t)st.st_blocks * 512;
    bool known = stored >= 4096 && st.st_size / BUDGET_COMPRESSED > stored;
    return known ? stored * BUDGET_COMPRESSED : st.st_size;
}

static int budget_on_steps(void *ctx)
{
    struct budget *b = ctx;
    b->used += STEPS_PER_CALL;
    if (b->used < BUDGET_LEAST)
        return 0;
    const char *path = sqlite3_db_filename(b->db, "main");
    return b->used > BUDGET_LEAST + BUDGET_PER_BYTE * (database_file_bytes(path, "") +
                                                       database_file_bytes(path, "-wal"));
}

/* Called when a statement begins, and when the connection is closed. */
static int budget_on_trace(unsigned event, void *ctx, void *p, void *x)
{
    (void)p, (void)x;
    struct budget *b = ctx;
    b->used = 0;
    if (event == SQLITE_TRACE_CLOSE)
        free(b);
    return 0;
}

int budget_set(sqlite3 *db)
{
    struct budget *b = malloc(sizeof *b);
    if (b == NULL)
        return SQLITE_NOMEM;
    *b = (struct budget){.db = db};
    int rc = sqlite3_trace_v2(db, SQLITE_TRACE_STMT | SQLITE_TRACE_CLOSE, budget_on_trace, b);
    if (rc != SQLITE_OK)
        free(b);
    else
        sqlite3_progress_handler(db, STEPS_PER_CALL, budget_on_steps, b);
    return rc;
}
