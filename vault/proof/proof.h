/* proof.h - makes a bundle: records of a session, and the proof that a checkpoint covers them
 * (docs/evidence.md, "Bundle").
 *
 * The bundle is verified before it is returned: if the vault was changed, there is no bundle.
 *
 * Owns      nothing; the connection is the query's.
 * Errors    MI_EINVAL: the records cannot be proven; `error` has one sentence that says why and
 *           what to do. MI_ESTORE and MI_EIO: see query_error(). MI_ENOMEM.
 * Blocks    on the vault. Memory: 64 bytes for each leaf of the log, 42 for each record of the
 *           session, and the bundle. */
#ifndef MI_VAULT_PROOF_PROOF_H
#define MI_VAULT_PROOF_PROOF_H

#include "vault/query/reader.h"

struct proof_request {
    int64_t session_id;
    struct slice uid; /* uid of the session */
    /* seq of a message that is proved together with its request or answer; 0: prove all records */
    int64_t seq;
    struct slice note; /* text of the checkpoint to use; {NULL, 0}: choose it by `size` */
    int64_t size;      /* size of the checkpoint to use; 0: the newest checkpoint of this vault */
};

/* Appends the bundle to `ret`. */
MI_MUST int proof_write_bundle(struct query *q, const struct proof_request *what, struct buf *ret,
                               struct buf *error);

#endif
