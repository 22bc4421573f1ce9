/* state.h - struct unsent: the connection and its statements. Only vault/unsent includes this. */
#ifndef MI_VAULT_UNSENT_STATE_H
#define MI_VAULT_UNSENT_STATE_H

#include "vault/store/dir.h"
#include "vault/unsent/unsent.h"

#include <sqlite3.h>

struct unsent {
    sqlite3 *db;          /* owned */
    struct vault_dir dir; /* owned */
    struct buf error;     /* owned */
    sqlite3_stmt *rows[UNSENT_KINDS], *by_uid, *finding, *next, *save,
        *save_target; /* owned; prepared when first used */
    int64_t synced;   /* unsent_version() when all commits so far were on the disk; -1: never */
    int lock_fd;      /* owned; -1: none */
    int body_fd;      /* owned; of body_uid; -1: none */
    char body_uid[UID_LEN + 1];
};

/* Prepares a statement once. NULL: see failure_text(). */
sqlite3_stmt *unsent_prepare(struct unsent *u, sqlite3_stmt **q, const char *sql);
/* Keeps SQLite's message. MI_ESTORE. */
int unsent_fail(struct unsent *u);

#endif
