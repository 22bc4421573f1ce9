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

/* For each type that a field may have (model/records.h): the type of an array of such values. */
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
    size_t last;  /* offset of the element that array_add() has added last */
    bool has_null;
};

unsigned array_type_oid(enum array_type type);           /* returns the OID of the array type */
void array_begin(struct array *a, enum array_type type); /* empties the array */
void array_add_int(struct array *a, int64_t v);
/* Adds a text or bytes. Invalid UTF-8 and NUL, which a text cannot have, become U+FFFD. */
void array_add(struct array *a, struct slice v);
/* Returns the element that array_add() added last, as it will be stored; borrowed until the array
 * changes. */
struct slice array_last_element(const struct array *a);
/* Adds keys (search_list_convert_to_keys()) as a tsvector without positions. */
void array_add_keys(struct array *a, const struct search_list *keys);
void array_add_null(struct array *a);
/* Adds a cell, or NULL if the cell has another type than the array. */
void array_add_cell(struct array *a, const struct cell *c);
/* Completes the array. Returns its bytes, which are borrowed until the next array_begin(). */
struct slice array_finish(struct array *a);
void array_close(struct array *a);

#endif
