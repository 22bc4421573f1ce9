/* bundle_read.h - reads the parts of a bundle's JSON text. Accepts exactly the members that
 * docs/evidence.md names, in any order.
 *
 * Owns      nothing. The caller owns the text of a leaf that was read; hashes are copied; other
 *           results borrow from the bundle's text.
 * Errors    MI_EINVAL: the text is not a valid part of this kind. MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_BUNDLE_READ_H
#define MI_EVIDENCE_BUNDLE_READ_H

#include "evidence/bundle.h"
#include "evidence/session_tree.h"
#include "wire/json/text.h"

struct bundle_text {
    struct slice checkpoint; /* text of the checkpoint, with JSON escapes */
    struct json_value leaves, redactions, groups, records, end;
};

struct bundle_proof {
    uint64_t n; /* number of a leaf or a group */
    size_t proof_n;
    struct digest proof[TREE_DEPTH];
};

MI_MUST int bundle_read(struct slice text, struct bundle_text *ret);
MI_MUST int bundle_read_leaf(struct json_value v, struct bundle_leaf *ret, struct bundle_proof *p);
MI_MUST int bundle_read_redaction(struct json_value v, uint64_t *ret_n,
                                  struct json_value *ret_lines);
/* Reads "NAME OLD NEW" into ret->record, ret->old and ret->now. */
MI_MUST int bundle_read_line(struct json_value v, struct bundle_line *ret);
MI_MUST int bundle_read_group(struct json_value v, struct bundle_proof *p,
                              struct digest ret[SESSION_TREE_GROUP], size_t *ret_k);
/* Reads a record or, if `last` is true, the record `end`. The fields borrow from `text`, which is
 * cleared before the record is read. */
MI_MUST int bundle_read_record(struct json_value v, bool last, struct buf *text,
                               struct bundle_record *ret);

#endif
