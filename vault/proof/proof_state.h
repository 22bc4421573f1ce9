/* proof_state.h - struct proof, and the functions that the files of vault/proof share. */
#ifndef MI_VAULT_PROOF_PROOF_STATE_H
#define MI_VAULT_PROOF_PROOF_STATE_H

#include "evidence/bundle_form.h"
#include "evidence/leaf.h"
#include "vault/proof/proof.h"
#include "vault/query/connection.h"

/* A leaf that is about the session, or a leaf `key`. */
struct proof_leaf {
    int64_t n;
    enum leaf_type type;
    struct buf text; /* owned */
    int64_t records; /* of a leaf `seal`: number of records that the seal covers */
    bool wanted;     /* true: the leaf is added to the bundle */
};

/* A record that has a position in the tree. */
struct proof_row {
    int64_t row; /* which record: 0: the session; > 0: seq of a message; < 0: -id of an event */
    bool wanted; /* true: the record is added to the bundle */
};

struct proof {
    struct query *q;
    const struct proof_request *what;
    struct buf *error;
    struct buf note; /* owned; text of the checkpoint */
    int64_t size;    /* number of leaves that the checkpoint covers */
    /* owned; hashes of the leaves before `size`, then of the inner nodes
     * (tree_compute_inner_nodes()) */
    struct digest *hash;
    size_t hash_n, hash_cap;
    struct proof_leaf *leaf; /* owned; leaves, sorted by number */
    size_t leaf_n, leaf_cap;
    int64_t seal;      /* number of the session's last leaf `seal` before leaf `size`; -1: none */
    int64_t last_seal; /* number of the session's last leaf `seal` in the log; -1: none */
    uint64_t records;  /* number of records that the leaf with the number `seal` covers */
    struct digest *commitment; /* owned; the first commitment of each record */
    struct proof_row *row;     /* owned */
};

/* Writes a sentence to p->error. Returns MI_EINVAL. */
int proof_set_error(struct proof *p, const char *fmt, ...) MI_FORMAT(2, 3);
/* Prepares a statement, and binds `a` to ?1. Returns NULL after an error; then query_error() has a
 * sentence. */
sqlite3_stmt *proof_prepare_statement(struct proof *p, const char *sql, int64_t a);
/* Ends a statement. rc: the result of its last step. 0 or MI_ESTORE. */
MI_MUST int proof_finish_statement(struct proof *p, sqlite3_stmt *s, int rc);

/* Chooses the checkpoint, and reads the log. */
MI_MUST int proof_read_log(struct proof *p);
/* Reads the commitments of all records that the seal covers, and chooses the records of the
 * bundle. */
MI_MUST int proof_choose_records(struct proof *p);
/* Adds the records that were chosen to the bundle, and then the record `end`. */
MI_MUST int proof_add_records(struct proof *p, struct bundle_out *o);
/* Call it twice. The first call has NULL for `o`: it chooses the leaves `redact` that are about the
 * chosen records. The second call adds the lines of these leaves to the bundle `o`. */
MI_MUST int proof_add_redactions(struct proof *p, struct bundle_out *o);

#endif
