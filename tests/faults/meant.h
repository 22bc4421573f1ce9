/* meant.h - what the recorder was told to record, what was said on stderr, and the time.
 *
 * recorder_add(), clock_mono_us() and uid_make() come here by --wrap: each row is noted before faults can
 * touch it, the clock goes on by itself, and the session always has the same name.
 *
 * Owns      fixed tables, emptied by meant_begin().
 * Blocks    never. */
#ifndef MI_TESTS_MEANT_H
#define MI_TESTS_MEANT_H

#include "vault/row.h"

#define MEANT_UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define MEANT_MAX 1000

struct meant {
    const char *kind;
    enum row_direction direction;
    enum row_action action;
    uint64_t hash; /* of the body, as it is stored */
    size_t n;
    bool released; /* the bytes of its turn have gone on */
    bool seen;     /* in the database */
    bool got;      /* a peer got its line */
};
extern struct meant meant[MEANT_MAX]; /* [seq] */
extern uint64_t meant_n;              /* the last seq */

void meant_watch_log(void); /* once: what is logged is kept, and not shown */
void meant_begin(void);
bool meant_said(const char *words); /* on stderr, so far */
const char *meant_log(void);
void meant_wait(int64_t us); /* time goes on */
uint64_t meant_hash(struct slice s);

#endif
