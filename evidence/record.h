/* record.h - the commitment of a record: a salted hash of its fields (docs/evidence.md, "Record").
 *
 *     struct record r;
 *     record_begin_digest(&r, &salt, "event");
 *     record_add_number(&r, t_us);
 *     record_add_text(&r, kind);
 *     record_add_text(&r, detail);
 *     record_finish_digest(&r, &commitment);
 *
 * Each field is hashed as a prefix and its bytes. The prefix is an unsigned LEB128 number: the
 * length plus one, or 0 for NULL.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_EVIDENCE_RECORD_H
#define MI_EVIDENCE_RECORD_H

#include "evidence/digest.h"

#define SALT_N 16

struct salt {
    uint8_t b[SALT_N];
};

struct record {
    struct digest_sum sum;
    size_t n; /* number of used bytes in `text` */
    /* short fields that are not hashed yet, because hashing many bytes at once is faster */
    uint8_t text[1024];
};

/* Begins the digest of a record. `kind` is the first field of the record. */
void record_begin_digest(struct record *r, const struct salt *salt, const char *kind);
void record_add_text(struct record *r, struct slice text); /* a text {NULL, 0} is hashed as NULL */
/* Adds a long text in parts: first its length, then its bytes. */
void record_add_length(struct record *r, uint64_t n);
void record_add_bytes(struct record *r, struct slice part);
void record_add_number(struct record *r, int64_t v);
void record_add_null(struct record *r);
/* Adds a number, or NULL if `has` is false. */
static inline void record_add_number_or_null(struct record *r, bool has, int64_t v)
{
    if (has)
        record_add_number(r, v);
    else
        record_add_null(r);
}
void record_finish_digest(struct record *r, struct digest *ret);

#endif
