/* state.h - struct prune: the connection, the plan and the progress of one run. */
#ifndef MI_VAULT_UPKEEP_PRUNE_STATE_H
#define MI_VAULT_UPKEEP_PRUNE_STATE_H

#include "vault/store/db.h"
#include "vault/store/dir.h"
#include "vault/upkeep/prune/remove.h"

/* A file that may be removed. */
struct prune_file {
    char *name;       /* owned */
    int64_t until_us; /* time after which the file has nothing */
    int64_t bytes;
};

/* The files of one folder. The first `planned` ones are removed. */
struct prune_files {
    int fd;                  /* owned; -1: the folder does not exist */
    struct prune_file *file; /* owned; in the order of until_us */
    size_t n, cap;
    size_t planned, at; /* at: index of the file that is removed next */
};

/* The leaf pages of a table, filled with one row after the other (size.h). */
struct prune_pages {
    int64_t free; /* free bytes in the last page */
};

struct prune {
    struct db d;          /* owned; d.error is the caller's, during a call */
    struct vault_dir dir; /* owned */
    struct retention rule;
    int64_t now_us;
    int64_t schema;   /* version of the schema */
    int64_t *session; /* owned; ids, oldest first */
    size_t n, cap, at;
    struct prune_files bodies, logs, escalations;
    struct prune_report plan, done;
    int64_t page_size;
    struct prune_pages pages[2]; /* of `messages`, and of all other tables */
    int64_t index;               /* number of the index file that was counted last, plus 1 */
    int64_t version;             /* PRAGMA data_version at the last prune_is_quiet() */
    bool forgotten;              /* the search index of session[at] has been removed */
    bool stated;                 /* the log has a leaf about the removal of session[at] */
};

#endif
