/* keep.h - the one door between what was received and what is stored.
 *
 * Every text that comes to rest passes here: bodies, ids, methods, targets, noise and stderr lines,
 * the server's command. What the store binds is what keep_row() gives back, never the row itself.
 *
 * Owns      a scratch buffer, reused from row to row; what keep_row() returns is good until the next call.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_KEEP_H
#define MI_VAULT_KEEP_H

#include "vault/row.h"

#define KEEP_NAME_MAX 4096 /* bytes of an id, a method or a target that are stored */

struct keep {
    struct buf scratch; /* owned */
};

struct kept {
    struct slice rpc_id, method, target, body; /* valid UTF-8, without NUL; {NULL, 0}: not there */
};

void keep_close(struct keep *k);
/* 0 or MI_ENOMEM. */
MI_MUST int keep_row(struct keep *k, const struct row *r, struct kept *ret);

#endif
