/* bundle_form.h - the form of a bundle: its members, and the fields of each kind of record
 * (docs/evidence.md, "Record", "Bundle").
 *
 * Writing   write the sections in the order of enum bundle_section. Begin each section with
 *           bundle_begin_section(), then write its elements:
 *
 *     bundle_write(&o, &b, note);
 *     bundle_begin_section(&o, BUNDLE_LEAVES);
 *     bundle_write_leaf(&o, n, leaf, hashes, size);
 *     …
 *     bundle_begin_section(&o, BUNDLE_RECORDS);
 *     bundle_begin_record(&o, place, &salt);
 *     bundle_write_field(&o, slice_of("message"));
 *     bundle_write_field(&o, text);
 *     bundle_end_record(&o);
 *     bundle_begin_session_end_record(&o, &salt);        the record `end`
 *     …
 *     bundle_end_record(&o);
 *     bundle_finish(&o);
 *
 * Owns      nothing: the text is appended to a buffer of the caller.
 * Errors    sticky, in the buffer.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_BUNDLE_FORM_H
#define MI_EVIDENCE_BUNDLE_FORM_H

#include "base/json_out.h"
#include "evidence/record.h"
#include "evidence/tree.h"
#include "model/records.h"

#define BUNDLE_FORMAT "mcp-interposer-bundle"
#define BUNDLE_VERSION 1
#define BUNDLE_MAX ((size_t)512 << 20) /* bytes */
#define BUNDLE_SEQ_MAX (((int64_t)1 << 36) - 1)

enum bundle_kind { BUNDLE_SESSION, BUNDLE_MESSAGE, BUNDLE_EVENT, BUNDLE_END, BUNDLE_KINDS };

/* Indexes of the fields of model/records.h that evidence covers. Index 0 is the field after the
 * name of the kind. */
/* clang-format off */
#define BUNDLE_SESSION_OPEN(name, t, n, s, cover, ...) FIELD_IF(FIELD_OPEN_##cover)(BUNDLE_SESSION_##name,)
#define BUNDLE_SESSION_TAIL(name, t, n, s, cover, ...) FIELD_IF(FIELD_TAIL_##cover)(BUNDLE_SESSION_##name,)
#define BUNDLE_MESSAGE_OPEN(name, t, n, s, cover, ...) FIELD_IF(FIELD_OPEN_##cover)(BUNDLE_MESSAGE_##name,)
#define BUNDLE_MESSAGE_TAIL(name, t, n, s, cover, ...) FIELD_IF(FIELD_TAIL_##cover)(BUNDLE_MESSAGE_##name,)
#define BUNDLE_EVENT_OPEN(name, t, n, s, cover, ...) FIELD_IF(FIELD_OPEN_##cover)(BUNDLE_EVENT_##name,)
#define BUNDLE_END_OPEN(name, t, n, s, cover, ...) FIELD_IF(FIELD_END_##cover)(BUNDLE_END_##name,)
enum { SESSION_FIELDS(BUNDLE_SESSION_OPEN) SESSION_FIELDS(BUNDLE_SESSION_TAIL) BUNDLE_SESSION_ALL };
enum { MESSAGE_FIELDS(BUNDLE_MESSAGE_OPEN) BUNDLE_MESSAGE_body, MESSAGE_FIELDS(BUNDLE_MESSAGE_TAIL) BUNDLE_MESSAGE_ALL };
enum { EVENT_FIELDS(BUNDLE_EVENT_OPEN) BUNDLE_EVENT_ALL };
enum { SESSION_FIELDS(BUNDLE_END_OPEN) BUNDLE_END_ALL };
/* clang-format on */
#define BUNDLE_FIELDS BUNDLE_MESSAGE_ALL /* maximum number of fields of a record */

struct bundle_shape {
    const char *name;
    size_t n; /* number of fields that every record of this kind has */
    /* number of optional fields at the end of the record; trailing NULL fields are left out */
    size_t tail;
    uint32_t numbers; /* bit i is 1 if field i is a number */
};
extern const struct bundle_shape bundle_shape[BUNDLE_KINDS];

/* ---- writing -------------------------------------------------------------------------------- */

enum bundle_section { BUNDLE_LEAVES, BUNDLE_REDACTIONS, BUNDLE_GROUPS, BUNDLE_RECORDS };

struct bundle_out {
    struct json_out j;
    bool in_section;
};

void bundle_write(struct bundle_out *o, struct buf *b, struct slice note);
void bundle_begin_section(struct bundle_out *o, enum bundle_section s);
/* Writes leaf n of the log, which has `size` leaves. node: all nodes of the log
 * (tree_compute_inner_nodes()). */
void bundle_write_leaf(struct bundle_out *o, uint64_t n, struct slice leaf,
                       const struct digest *node, uint64_t size);
/* These functions write the lines of leaf n, a leaf `redact`. Call bundle_begin_redaction(), then
 * bundle_write_line() for each line (without its newline), then bundle_end_redaction(). */
void bundle_begin_redaction(struct bundle_out *o, uint64_t n);
void bundle_write_line(struct bundle_out *o, struct slice line);
void bundle_end_redaction(struct bundle_out *o);
/* Writes group g of a session with its k commitments. node: all nodes of the Merkle tree whose
 * leaves are the session's groups. */
void bundle_write_commitment_group(struct bundle_out *o, uint64_t g,
                                   const struct digest *commitment, size_t k,
                                   const struct digest *node, uint64_t groups);
void bundle_begin_record(struct bundle_out *o, uint64_t place, const struct salt *salt);
void bundle_write_field(struct bundle_out *o, struct slice text);
void bundle_write_number(struct bundle_out *o, int64_t v);
void bundle_end_record(struct bundle_out *o);
/* Begins the record `end`; the caller adds the fields, then calls bundle_end_record() and
 * bundle_finish(). */
void bundle_begin_session_end_record(struct bundle_out *o, const struct salt *salt);
void bundle_finish(struct bundle_out *o);

#endif
