/* bodies.h - bodies too long for the database: one append-only file a session, VAULT/Bodies/<uid>.
 *
 * Form      the bodies one after another, each followed by '\n' (which its length does not count).
 * Owns      the file's descriptor once there is one.
 * Errors    MI_EIO, errno kept; the file's end is then where it was, as far as readers are concerned.
 * Blocks    on the disk only. */
#ifndef MI_VAULT_BODIES_H
#define MI_VAULT_BODIES_H

#include "vault/dir.h"

struct bodies {
    int dir_fd;   /* borrowed: of the vault */
    int fd;       /* -1: no body yet */
    bool sync;    /* each body is on the disk before it is referred to */
    int64_t tail; /* where the next body goes */
};

void bodies_open(struct bodies *b, int dir_fd, bool sync);
void bodies_close(struct bodies *b);
MI_MUST int bodies_add(struct bodies *b, const char *uid, struct slice body, int64_t *ret_offset);

#endif
