/* bundle.h - reads and verifies a bundle: records of a session, with the proof that a signed
 * checkpoint covers these records (docs/evidence.md, "Bundle").
 *
 *     st = bundle_open(&b, text, &key, &why);
 *     struct bundle_walk w = bundle_begin_walk(&b);
 *     while (st == 0 && bundle_next_record(&b, &w, &record)) …
 *     bundle_walk_close(&w);
 *     bundle_close(&b);
 *
 * Input     the text may come from an attacker. Memory is bounded by its length.
 * Owns      what it has read; the text is borrowed, and must live as long as the bundle. A walk
 *           owns a buffer, from which the record's fields are borrowed until its next step.
 * Errors    MI_EINVAL: the bundle does not prove its records; `why` gets a clause that names the
 *           failed step. MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_BUNDLE_H
#define MI_EVIDENCE_BUNDLE_H

#include "evidence/bundle_form.h"
#include "evidence/key.h"
#include "evidence/leaf.h"
#include "evidence/note.h"
#include "evidence/record.h"
#include "wire/json/text.h"

struct bundle_leaf {
    uint64_t n; /* number of the leaf in the log */
    struct buf text;
    struct leaf leaf; /* the parsed leaf, which borrows from `text` */
};

/* A line of a leaf `redact`: it names a record that was redacted. */
struct bundle_line {
    struct slice record;    /* the record's name */
    uint64_t leaf;          /* number of the leaf in the log */
    int64_t at_us;          /* wall-clock time of the redaction */
    struct digest old, now; /* old: commitment before the redaction; now: commitment after it */
};

struct bundle {
    struct buf note; /* the checkpoint, signed */
    struct checkpoint checkpoint;
    struct public_key signer; /* the key that signed the checkpoint */
    struct bundle_leaf *leaf; /* the leaves of the bundle, sorted by number */
    size_t leaf_n;
    size_t open, seal;        /* indexes of the session's leaves */
    struct bundle_line *line; /* lines of the leaves `redact`, sorted by record and leaf */
    size_t line_n, line_cap;
    struct json_value groups, records, end;
    /* number of records in the bundle; leaf[seal].leaf.records is the number of records in the
     * session */
    uint64_t records_n;
};

struct bundle_record {
    enum bundle_kind kind;
    uint64_t place; /* number of the record; not used for BUNDLE_END */
    struct salt salt;
    size_t n; /* number of fields */
    /* The fields of the record, in the order that bundle_form.h defines for its kind. {NULL, 0}:
     * the field is NULL or absent. */
    struct slice field[BUNDLE_FIELDS];
    /* time of the last redaction of the record; 0: there was none. For BUNDLE_END only redactions
     * after the seal count. */
    int64_t redacted_at_us;
};

struct bundle_walk {
    struct json_walk at;
    struct buf text; /* owned */
};

/* Reads and verifies the whole bundle. key: a key that the reader trusts, which must be one of the
 * keys of the log; NULL: any key. */
MI_MUST int bundle_open(struct bundle *ret, struct slice text, const struct public_key *key,
                        struct buf *why);
void bundle_close(struct bundle *b); /* frees the bundle, also after an error; safe to call twice */

/* bundle_next_record() returns the records in the order of their numbers (`place`). It returns
 * false after the last record. bundle_read_end_record() returns the record `end`. Both functions
 * return false if memory ran out, and set w->text.failed. */
struct bundle_walk bundle_begin_walk(const struct bundle *b);
MI_MUST bool bundle_next_record(const struct bundle *b, struct bundle_walk *w,
                                struct bundle_record *ret);
MI_MUST bool bundle_read_end_record(const struct bundle *b, struct bundle_walk *w,
                                    struct bundle_record *ret);
void bundle_walk_close(struct bundle_walk *w);

/* Whether the bundle has all records of the session. */
static inline bool bundle_has_all_records(const struct bundle *b)
{
    return b->records_n == (uint64_t)b->leaf[b->seal].leaf.records;
}
/* Returns a field that is a number; 0 for NULL. */
int64_t bundle_parse_number(struct slice field);

#endif
