/* state.h - struct prune: the connection, the plan and the progress of one run. */
#ifndef MI_VAULT_UPKEEP_PRUNE_STATE_H
#define MI_VAULT_UPKEEP_PRUNE_STATE_H

#include "vault/store/db.h"
#include "vault/store/dir.h"
#include "vault/upkeep/prune/remove.h"

/* A file that may be removed. */
struct prune_file {
    char *name; /* owned */
    /* of a log file or an escalation: time before which all of its data were written */
    int64_t until_us;
    int64_t bytes;
};

/* The files of one folder. The first `planned` ones are removed. */
struct prune_files {
    int fd;                  /* owned; descriptor of the folder; -1: the folder does not exist */
    struct prune_file *file; /* owned; the files, sorted by until_us */
    size_t n, cap;
    size_t planned, at; /* `at` is the index of the file that is removed next */
};

/* The leaf pages of a table, as they are counted while rows are added one after the other
 * (size.h). */
struct prune_pages {
    int64_t free; /* number of free bytes in the last page */
};

struct prune {
    /* owned; the connection to the database; during each public function, its member `error` is
     * borrowed from the caller */
    struct db d;
    struct vault_dir dir; /* owned */
    struct retention rule;
    int64_t now_us;
    int64_t schema;   /* version of the database's schema */
    int64_t *session; /* owned; ids of the sessions to remove, oldest first */
    size_t n, cap, at;
    struct prune_files bodies, logs, escalations;
    struct prune_report plan, done;
    int64_t page_size;
    /* pages[0]: leaf pages of all tables except `messages`; pages[1]: those of `messages` */
    struct prune_pages pages[2];
    /* number of the search index file whose size was counted last, plus 1; 0: no file was
     * counted */
    int64_t index;
    /* value of PRAGMA data_version in the last call of prune_database_is_unchanged() */
    int64_t version;
    bool forgotten; /* true: the search index of session[at] was removed */
    /* true: the log has a leaf that states the removal of session[at] */
    bool stated;
};

#endif
