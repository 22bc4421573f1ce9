/* state.h - struct unsent: the connection and its statements. Only vault/unsent includes this. */
#ifndef MI_VAULT_UNSENT_STATE_H
#define MI_VAULT_UNSENT_STATE_H

#include "vault/store/db.h"
#include "vault/store/dir.h"
#include "vault/unsent/unsent.h"

/* Numbers of the statements that are not in enum unsent_rows. They follow the numbers of that
 * enum. */
enum {
    UNSENT_BY_UID = UNSENT_KINDS,
    UNSENT_FINDING,
    UNSENT_VERSION,
    CURSORS_NEXT,
    CURSORS_SAVE,
    CURSORS_FORGET,
    CURSORS_TARGET,
    CURSORS_FORGET_TARGET,
    UNSENT_STATEMENTS
};
extern const char *const unsent_sql[UNSENT_STATEMENTS];

struct unsent {
    struct db d;          /* owned */
    struct vault_dir dir; /* owned */
    struct buf error;     /* owned; text of the last error, for unsent_error() */
    /* value of unsent_read_data_version() when all commits so far had been synced to the disk; -1:
     * never synced */
    int64_t synced;
    int lock_fd; /* owned; descriptor of the lock file; -1: none */
    /* owned; descriptor of the file with the large bodies of session body_uid; -1: no file is
     * open */
    int body_fd;
    char body_uid[UID_LEN + 1];
};

#endif
