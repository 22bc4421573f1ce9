/* progress.h - records which rows of each session of the vault the other store has.
 *
 * Owns      a row of some 80 bytes for each session.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_SHIP_OUTBOX_PROGRESS_H
#define MI_SHIP_OUTBOX_PROGRESS_H

#include "journal/uid.h"

struct shipped_session {
    char uid[UID_LEN + 1];
    bool known;    /* true: the other store has a row of the session */
    bool complete; /* true: the session has ended, and all of it was sent */
    bool saved;    /* true: the cursor in the vault has the same values as this struct */
    int64_t id;    /* id of the session in the vault; 0: the vault no longer has the session */
    /* seq of the last message, and id of the last event, that the other store has */
    int64_t seq, event;
    int64_t row_hash; /* hash of the row that the other store has */
    /* seq of the last message, and id of the last event, in the vault when the row was read */
    int64_t last_seq, last_event;
    bool ended;
};

/* The sessions, sorted by uid. */
struct progress {
    struct shipped_session *list; /* owned */
    size_t n, cap;
};

void progress_close(struct progress *p); /* the argument may be {0} */
void progress_clear_sessions(struct progress *p);
/* Returns the session; NULL if it is not in the list. */
struct shipped_session *progress_find(struct progress *p, struct slice uid);
/* Finds the session, or adds it. NULL: no memory, or the text is not a uid. Invalidates pointers to
 * sessions. */
struct shipped_session *progress_find_or_add(struct progress *p, struct slice uid);

/* Continues a hash (FNV-1a) over a cell of a row; the hash shows whether the row has changed. Begin
 * with PROGRESS_HASH. */
#define PROGRESS_HASH UINT64_C(14695981039346656037)
uint64_t progress_add_bytes_to_hash(uint64_t hash, struct slice bytes);

#endif
