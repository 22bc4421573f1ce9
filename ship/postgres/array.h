/* array.h - the values of one parameter, as an array in PostgreSQL's binary form.
 *
 * Owns      its bytes; array_close() frees them.
 * Errors    sticky, in the buffer (base/buf.h).
 * Blocks    never. Pure: it does not use libpq. */
#ifndef MI_SHIP_POSTGRES_ARRAY_H
#define MI_SHIP_POSTGRES_ARRAY_H

#include "vault/search/words.h"
#include "vault/unsent/unsent.h"

/* OIDs of int8, text, bytea and tsvector (pg_type.dat). */
enum array_type { ARRAY_INT = 20, ARRAY_TEXT = 25, ARRAY_BYTES = 17, ARRAY_WORDS = 3614 };

/* Of the types of fields (model/records.h). */
#define ARRAY_OF_NUMBER ARRAY_INT
#define ARRAY_OF_TIME ARRAY_INT
#define ARRAY_OF_SINCE ARRAY_INT
#define ARRAY_OF_SIZE ARRAY_INT
#define ARRAY_OF_TEXT ARRAY_TEXT
#define ARRAY_OF_JSON ARRAY_TEXT
#define ARRAY_OF_WORD(type, words) ARRAY_TEXT

struct array {
    enum array_type type;
    struct buf b; /* owned */
    uint32_t n;   /* elements */
    size_t last;  /* where the bytes of the last element of array_add() begin */
    bool has_null;
};

unsigned array_oid(enum array_type type);                /* of the array */
void array_begin(struct array *a, enum array_type type); /* empties it */
void array_int(struct array *a, int64_t v);
/* Text and bytes. Text that PostgreSQL cannot store, which is not UTF-8 or has a NUL, is stored with U+FFFD. */
void array_add(struct array *a, struct slice v);
/* The bytes that the last array_add() has added, as they will be stored; borrowed until the next call. */
struct slice array_last(const struct array *a);
/* Keys (search_list_to_keys()) as a tsvector without positions. */
void array_keys(struct array *a, const struct search_list *keys);
void array_null(struct array *a);
/* A cell of another type than the array's is NULL. */
void array_cell(struct array *a, const struct cell *c);
struct slice array_done(struct array *a); /* borrowed until the next array_begin() */
void array_close(struct array *a);

#endif
