/* prune_inner.h - what the two files of the prune module share. Only vault/prune*.c include this. */
#ifndef MI_VAULT_PRUNE_INNER_H
#define MI_VAULT_PRUNE_INNER_H

#include "vault/dir.h"
#include "vault/prune.h"

#include <sqlite3.h>

/* Names of files to be removed, in one folder. */
struct prune_files {
    int fd;           /* owned; -1: there is no such folder */
    struct buf names; /* owned; NUL-ended, one behind the other */
    size_t n, at;     /* at: in names, of the next one */
    int64_t bytes;
};

struct prune {
    sqlite3 *db;          /* owned */
    struct vault_dir dir; /* owned */
    struct retention rule;
    int64_t now_us;
    int64_t *session; /* owned; ids, oldest first */
    size_t n, cap, at;
    struct prune_files bodies, logs, escalations;
    struct prune_report plan, done;
    int64_t version; /* of the database, when prune_is_quiet() looked */
    bool forgotten;  /* the index of the session at `at` has been removed */
};

int prune_fail(struct prune *p, struct buf *error); /* MI_ESTORE with SQLite's words, or MI_EFULL */
/* Statement with one number; `arg` is bound to ?1. */
MI_MUST int prune_number(struct prune *p, const char *sql, int64_t arg, int64_t *ret);
MI_MUST int prune_make_plan(struct prune *p, struct buf *error);

#endif
