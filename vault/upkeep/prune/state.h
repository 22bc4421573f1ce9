/* state.h - struct prune: the connection, the plan and the progress of one run. */
#ifndef MI_VAULT_UPKEEP_PRUNE_STATE_H
#define MI_VAULT_UPKEEP_PRUNE_STATE_H

#include "vault/store/dir.h"
#include "vault/upkeep/prune/remove.h"

#include <sqlite3.h>

/* Files to be removed from one folder. */
struct prune_files {
    int fd;           /* owned; -1: the folder does not exist */
    struct buf names; /* owned; NUL-terminated, one after another */
    size_t n, at;     /* at: offset in names of the next file */
    int64_t bytes;
};

struct prune {
    sqlite3 *db;          /* owned */
    sqlite3_stmt *sent;   /* owned; prune_is_sent(); NULL: not prepared */
    struct vault_dir dir; /* owned */
    struct retention rule;
    int64_t now_us;
    int64_t *session; /* owned; ids, oldest first */
    size_t n, cap, at;
    struct prune_files bodies, logs, escalations;
    struct prune_report plan, done;
    int64_t version; /* PRAGMA data_version at the last prune_is_quiet() */
    bool forgotten;  /* the search index of session[at] has been removed */
    bool stated;     /* the log has a leaf about the removal of session[at] */
};

#endif
