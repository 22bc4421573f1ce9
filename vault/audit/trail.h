/* trail.h - checks the vault's log leaf by leaf, and collects the leaves of each session.
 *
 * New leaves can be read at any time, so that each session is compared with the log of the same
 * transaction.
 *
 * Owns      its arrays; trail_close() frees them.
 * Errors    those of snapshot.h. Faults in the log are passed to a callback and are not errors.
 * Blocks    trail_read_new_leaves(), on the database. */
#ifndef MI_VAULT_AUDIT_TRAIL_H
#define MI_VAULT_AUDIT_TRAIL_H

#include "base/intern.h"
#include "evidence/key.h"
#include "evidence/leaf.h"
#include "evidence/note.h"
#include "evidence/tree.h"
#include "vault/audit/snapshot.h"
#include "vault/audit/verdict.h"

#define TRAIL_NONE SIZE_MAX
#define TRAIL_ORIGIN (sizeof CHECKPOINT_ORIGIN + LEAF_UID)

/* A leaf `seal` or `redact` of a session. */
struct trail_leaf {
    int64_t n, at_us, records;
    /* leaf `seal`: commitment of the record `end`; leaf `redact`: the digest that the leaf
     * states */
    struct digest digest;
    struct digest root; /* leaf `seal`: the root that the leaf states */
    /* leaf `seal`: end_reason, as JSON without quotes; a longer text is truncated */
    char end[64];
    bool has_end;
    size_t before; /* index of the session's previous leaf of the same type; TRAIL_NONE: none */
};

struct trail_session {
    bool opened, pruned; /* the log has a leaf `open` or `prune` of the session */
    /* true: the caller has found the session's row, and the log has a leaf `open` of the session;
     * only the caller sets this */
    bool met;
    int64_t id;               /* id of the session, as its leaf `open` states */
    struct digest commitment; /* commitment of the session's record `session` */
    /* indexes of the session's last `seal` and `redact` leaves, or TRAIL_NONE */
    size_t seals, redactions;
};

struct trail_key {
    int64_t n; /* number of the leaf that introduces the key */
    struct public_key key;
};

struct trail_id {
    int64_t id;
};

/* A size of the log for which the caller needs the root. */
struct trail_root {
    uint64_t size;
    struct digest root;
    bool known; /* true: the log has reached this size, and `root` is set */
};

typedef void (*trail_wrong_fn)(void *ctx, const struct audit_wrong *w);

struct trail {
    int64_t last_n; /* number of the last leaf; -1: the log is empty */
    struct tree tree;
    int64_t after;             /* id of the last session before the log began */
    char origin[TRAIL_ORIGIN]; /* origin of the log; "": there is no leaf `begin` */
    struct intern uids;
    /* owned; the sessions; the index of a session is the number of its uid in `uids` */
    struct trail_session *session;
    size_t session_cap;
    struct trail_id *pruned; /* sorted; ids of sessions that were opened and later removed */
    size_t pruned_n, pruned_cap;
    struct trail_leaf *leaf;
    size_t leaf_n, leaf_cap;
    struct trail_key *key;
    size_t key_n, key_cap;
    struct trail_root *root; /* owned; requested roots of the log, sorted by size */
    /* `root_at`: index in `root` of the first element that is not known yet */
    size_t root_n, root_cap, root_at;
    bool gap;             /* true: a missing leaf was reported */
    trail_wrong_fn wrong; /* called for each fault in the log */
    void *ctx;
};

void trail_open(struct trail *t, trail_wrong_fn wrong, void *ctx);
void trail_close(struct trail *t);
/* Requests the root of the tree over the first `size` leaves. Call this function before the first
 * trail_read_new_leaves(). */
MI_MUST int trail_request_tree_root(struct trail *t, uint64_t size);
/* Returns a root requested with trail_request_tree_root(); NULL if the log is shorter. */
const struct digest *trail_find_tree_root(const struct trail *t, uint64_t size);
/* Returns the key that was in use when the log had `size` leaves; NULL if there was none. */
const struct public_key *trail_get_key_at_log_size(const struct trail *t, uint64_t size);
/* Reads the leaves that were not read yet. */
MI_MUST int trail_read_new_leaves(struct trail *t, struct snapshot *s);
/* Prepares trail_session_was_pruned(). Call this function again after more leaves were read. */
MI_MUST int trail_sort_pruned_sessions(struct trail *t);
/* Whether the log records that the session with this id was removed. */
bool trail_session_was_pruned(const struct trail *t, int64_t id);
/* Returns the session with this uid; NULL if no leaf names it. */
struct trail_session *trail_find_session(struct trail *t, struct slice uid);

/* Fills *w. The other arguments are formatted as by printf(). */
void audit_set_fault(struct audit_wrong *w, enum audit_kind kind, const char *record,
                     const char *format, ...) MI_FORMAT(4, 5);

#endif
