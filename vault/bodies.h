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
    int64_t told; /* what lies before was handed out by bodies_new() */
};

void bodies_open(struct bodies *b, int dir_fd, bool sync);
void bodies_close(struct bodies *b);
MI_MUST int bodies_add(struct bodies *b, const char *uid, struct slice body, int64_t *ret_offset);
/* What was added since the last call, when it is worth a disk's while. */
bool bodies_new(struct bodies *b, int64_t *ret_from, int64_t *ret_to);

/* Writes a part of VAULT/Bodies/<uid> to the disk, waits for it, and lets its memory go. Bodies are seldom
 * read again at once, and what they would take is wanted for the next. For a process that may wait, though not
 * for ever: of a longer part, as a slow disk makes it, the last BODIES_WRITE_MOST bytes; the rest is the kernel's
 * to write, as it always was. */
#define BODIES_WRITE_MOST ((int64_t)64 << 20)
void bodies_write_out(const char *vault, const char *uid, int64_t from, int64_t to);

#endif
