/* meant.h - the rows that were appended to the journal, the log, and the time.
 *
 * Each row is noted before a fault can affect it. clock_mono_us() and uid_make() come here through --wrap: each call
 * advances the clock, and the session always has the same uid.
 *
 * Owns      fixed tables, emptied by meant_begin().
 * Blocks    never. */
#ifndef MI_TESTS_MEANT_H
#define MI_TESTS_MEANT_H

#include "journal/entry.h"

#define MEANT_UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"
#define MEANT_MAX 1000

struct meant {
    enum row_kind kind;
    enum row_direction direction;
    enum row_action action;
    uint64_t hash; /* of the body as stored */
    size_t n;
    bool released; /* the bytes of its loop turn were released */
    bool seen;     /* found in the database */
    bool got;      /* a peer received its line */
};
extern struct meant meant[MEANT_MAX]; /* [seq] */
extern uint64_t meant_n;              /* the last seq */

void meant_watch_log(void); /* call once: the log is kept instead of printed */
void meant_begin(void);
/* Notes the row that gets this seq. */
void meant_add(uint64_t seq, const struct row *row);
bool meant_said(const char *words); /* was it logged? */
const char *meant_log(void);
void meant_wait(int64_t us); /* advances the clock */
uint64_t meant_hash(struct slice s);

#endif
