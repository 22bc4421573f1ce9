/* deposit.h - a session that was recorded elsewhere goes into the vault, whole or not at all.
 *
 * Rules     one transaction, which other writers wait for. The session gets a name (uid) of its own, made
 *           from when it started; process id 0 and no host, for it ran nowhere here. It has ended.
 *           Its texts pass keep.h like everything that comes to rest; the rules that it was recorded
 *           with stay its rules, and are those in force now when it has none. What its header does not say of the
 *           client and the server is learnt from its first messages.
 * Owns      the store, and the file of large bodies until deposit_commit().
 * Errors    negative, with one sentence in deposit_error().
 * Blocks    on the disk; up to DEPOSIT_WAIT_US for another writer. */
#ifndef MI_VAULT_DEPOSIT_H
#define MI_VAULT_DEPOSIT_H

#include "vault/query.h"
#include "vault/uid.h"

#define DEPOSIT_WAIT_US 10000000

struct deposit;

/* The vault is made if it is not there. */
MI_MUST int deposit_open(struct deposit **ret, const char *vault, struct buf *error);
/* Without a commit before, nothing is left of it. NULL is fine. */
void deposit_close(struct deposit *d);

/* Once. name: what it shall be called here; NULL: as it says itself. */
MI_MUST int deposit_session(struct deposit *d, const struct query_session *s, const char *name);
/* In order; a body is never large here. */
MI_MUST int deposit_message(struct deposit *d, const struct query_message *m);
MI_MUST int deposit_commit(struct deposit *d);

int64_t deposit_id(const struct deposit *d);
const char *deposit_uid(const struct deposit *d);
int64_t deposit_messages(const struct deposit *d);
const char *deposit_error(const struct deposit *d);

#endif
