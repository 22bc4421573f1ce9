/* bodies.h - large bodies: one append-only file per session, VAULT/Bodies/<uid>.
 *
 * Form      the bodies, one after another. A '\n' follows each body; it is not part of the body's
 *           length.
 * Owns      the file's descriptor.
 * Errors    MI_EIO, with errno; the next body overwrites a body that could not be written.
 * Blocks    on the disk only. */
#ifndef MI_VAULT_STORE_BODIES_H
#define MI_VAULT_STORE_BODIES_H

#include "vault/store/dir.h"

struct bodies {
    int dir_fd;       /* borrowed: the vault's directory */
    int fd;           /* descriptor of the file; -1: no body was written yet */
    bool sync;        /* true: sync each body to the disk */
    int64_t tail;     /* offset at which the next body is written */
    int64_t reported; /* bodies_take_new_range() has returned all bytes before this offset */
};

void bodies_open(struct bodies *b, int dir_fd, bool sync);
void bodies_close(struct bodies *b);
MI_MUST int bodies_append_body(struct bodies *b, const char *uid, struct slice body,
                               int64_t *ret_offset);
/* Whether a recorder can have written the body in this range of the file: the holes of the range
 * have at most BODIES_HOLES bytes. A recorder writes no holes, while a forged sparse file, which is
 * small, could claim a body of any size. */
#define BODIES_HOLES ((int64_t)16 << 20)
bool bodies_range_is_written(int fd, int64_t offset, int64_t length);
/* Returns the range of bytes that were added since the last call. false: the range is smaller than
 * 1 MiB, and is left for a later call. */
bool bodies_take_new_range(struct bodies *b, int64_t *ret_from, int64_t *ret_to);

/* Writes a range of VAULT/Bodies/<uid> to the disk, waits for it, and drops it from the page cache,
 * because bodies are seldom read soon after. The range is long if the disk is slow. Then only its
 * last BODIES_WRITE_MOST bytes are written here, to limit the wait; the kernel writes the rest. */
#define BODIES_WRITE_MOST ((int64_t)64 << 20)
void bodies_write_to_disk(const char *vault, const char *uid, int64_t from, int64_t to);

#endif
