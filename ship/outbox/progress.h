/* progress.h - what the other store has of each session of the vault.
 *
 * Owns      a row of some 80 bytes for each session.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_SHIP_OUTBOX_PROGRESS_H
#define MI_SHIP_OUTBOX_PROGRESS_H

#include "journal/uid.h"

struct shipped_session {
    char uid[UID_LEN + 1];
    bool known;                   /* the other store has its row */
    bool complete;                /* it has ended, and everything of it was sent */
    bool saved;                   /* the vault's cursor says the same */
    int64_t id;                   /* in the vault; 0: it is not there any more */
    int64_t seq, event;           /* what the other store has */
    int64_t row_hash;             /* of the row that the other store has */
    int64_t last_seq, last_event; /* what the vault had when the row was read */
    bool ended;
};

/* Ordered by uid. */
struct progress {
    struct shipped_session *list; /* owned */
    size_t n, cap;
};

void progress_close(struct progress *p); /* {0} is fine */
void progress_clear(struct progress *p);
/* NULL: it is not in the list. */
struct shipped_session *progress_find(struct progress *p, struct slice uid);
/* Finds it or adds it. NULL: no memory, or not a uid. Invalidates pointers. */
struct shipped_session *progress_add(struct progress *p, struct slice uid);

/* The hash by which a changed row is noticed: FNV-1a, continued over its cells. Begins with PROGRESS_HASH. */
#define PROGRESS_HASH UINT64_C(14695981039346656037)
uint64_t progress_hash(uint64_t hash, struct slice bytes);

#endif
