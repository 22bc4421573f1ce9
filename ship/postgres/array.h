/* array.h - the values of one parameter, as an array in PostgreSQL's binary form.
 *
 * Owns      its bytes; array_close() frees them.
 * Errors    sticky, in the buffer (base/buf.h).
 * Blocks    never. Pure: it does not use libpq. */
#ifndef MI_SHIP_POSTGRES_ARRAY_H
#define MI_SHIP_POSTGRES_ARRAY_H

#include "vault/unsent/unsent.h"

/* OIDs of int8, text and bytea, and of their arrays (pg_type.dat). */
enum array_type { ARRAY_INT = 20, ARRAY_TEXT = 25, ARRAY_BYTES = 17 };

struct array {
    enum array_type type;
    struct buf b; /* owned */
    uint32_t n;   /* elements */
    bool has_null;
};

unsigned array_oid(enum array_type type);                /* of the array */
void array_begin(struct array *a, enum array_type type); /* empties it */
void array_int(struct array *a, int64_t v);
/* Text and bytes. Text that PostgreSQL cannot store, which is not UTF-8 or has a NUL, is stored with U+FFFD. */
void array_add(struct array *a, struct slice v);
void array_null(struct array *a);
/* A cell of another type than the array's is NULL. */
void array_cell(struct array *a, const struct cell *c);
struct slice array_done(struct array *a); /* borrowed until the next array_begin() */
void array_close(struct array *a);

#endif
