/* leaf.h - the leaves of the vault's log, as JSON text (docs/evidence.md, "Log").
 *
 * Owns      nothing: a leaf that was read borrows its texts from the JSON text.
 * Errors    writing: sticky, in the buffer. Reading: MI_EINVAL, the text is not exactly a leaf as
 *           this version writes it; MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_LEAF_H
#define MI_EVIDENCE_LEAF_H

#include "base/buf.h"
#include "evidence/digest.h"

#define LEAF_VERSION 1
#define LEAF_UID 26 /* number of characters of the uid of a session or a vault */

enum leaf_type { LEAF_BEGIN, LEAF_OPEN, LEAF_SEAL, LEAF_PRUNE, LEAF_REDACT, LEAF_KEY };

/* A leaf of the log. Members that a leaf of this type does not have are 0. */
struct leaf {
    enum leaf_type type;
    struct slice uid; /* uid of the session; for LEAF_BEGIN uid of the vault */
    int64_t at_us;    /* time of the leaf; not for LEAF_OPEN */
    int64_t id;      /* LEAF_OPEN: id of the session; LEAF_BEGIN: `after` in the JSON of the leaf */
    int64_t records; /* LEAF_SEAL, LEAF_REDACT: number of records */
    /* LEAF_OPEN, LEAF_SEAL: `commitment` in the JSON of the leaf; LEAF_REDACT: `digest` in it */
    struct digest digest;
    struct digest root; /* LEAF_SEAL: `root` in the JSON of the leaf */
    struct slice end;   /* LEAF_SEAL: end_reason, without its quotes; {NULL, 0}: null */
    /* LEAF_KEY: `key`, `previous` and so on in the JSON of the leaf, without quotes; {NULL, 0}:
     * null */
    struct slice key, previous, signature, previous_signature;
};

void leaf_write(struct buf *b, const struct leaf *l);
MI_MUST int leaf_read(struct slice text, struct leaf *ret);

#endif
