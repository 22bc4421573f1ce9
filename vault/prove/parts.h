/* parts.h - struct prove, and the functions that the files of vault/prove share. */
#ifndef MI_VAULT_PROVE_PARTS_H
#define MI_VAULT_PROVE_PARTS_H

#include "evidence/bundle_form.h"
#include "evidence/leaf.h"
#include "vault/prove/prove.h"
#include "vault/query/connection.h"

/* A leaf that is about the session, or a leaf `key`. */
struct prove_leaf {
    int64_t n;
    enum leaf_type type;
    struct buf text; /* owned */
    int64_t records; /* of a leaf `seal`: number of records that the seal covers */
    bool wanted;     /* true: the leaf is added to the bundle */
};

/* A record that has a position in the tree. */
struct prove_row {
    int64_t row; /* which record: 0: the session; > 0: seq of a message; < 0: -id of an event */
    bool wanted; /* true: the record is added to the bundle */
};

struct prove {
    struct query *q;
    const struct prove_what *what;
    struct buf *error;
    struct buf note; /* owned; text of the checkpoint */
    int64_t size;    /* number of leaves that the checkpoint covers */
    /* owned; hashes of the leaves before `size`, then of the inner nodes
     * (tree_compute_inner_nodes()) */
    struct digest *hash;
    size_t hash_n, hash_cap;
    struct prove_leaf *leaf; /* owned; leaves, sorted by number */
    size_t leaf_n, leaf_cap;
    int64_t seal;              /* number of the last seal before `size`; -1: none */
    int64_t last_seal;         /* number of the last seal in the log; -1: none */
    uint64_t records;          /* number of records that the seal with number `seal` covers */
    struct digest *commitment; /* owned; the first commitment of each record */
    struct prove_row *row;     /* owned */
};

/* Writes a sentence to p->error. Returns MI_EINVAL. */
int prove_set_error(struct prove *p, const char *fmt, ...) MI_FORMAT(2, 3);
/* Prepares a statement, and binds `a` to ?1. Returns NULL after an error; then query_error() has a
 * sentence. */
sqlite3_stmt *prove_prepare_statement(struct prove *p, const char *sql, int64_t a);
/* Ends a statement. rc: the result of its last step. 0 or MI_ESTORE. */
MI_MUST int prove_finish_statement(struct prove *p, sqlite3_stmt *s, int rc);

/* Chooses the checkpoint, and reads the log. */
MI_MUST int prove_read_log(struct prove *p);
/* Reads the commitments of all records that the seal covers, and chooses the records of the
 * bundle. */
MI_MUST int prove_choose_records(struct prove *p);
/* Adds the records that were chosen to the bundle, and then the record `end`. */
MI_MUST int prove_add_records(struct prove *p, struct bundle_out *o);
/* If o is NULL, chooses the leaves `redact` that are about the chosen records; otherwise adds the
 * lines of the chosen leaves to the bundle. */
MI_MUST int prove_add_redactions(struct prove *p, struct bundle_out *o);

#endif
