/* fault.h - which call fails: the N-th of one sort, once or from then on.
 *
 * memory.c wraps our allocations and takes SQLite's, calls.c stands in for the system calls; both ask
 * fault_hits() at each call. Nothing fails while the faults are not armed: the driver's own work in the
 * middle of a session goes between fault_pause() and fault_resume().
 *
 * Owns      nothing but counters.
 * Blocks    never. */
#ifndef MI_TESTS_FAULT_H
#define MI_TESTS_FAULT_H

#include "base/base.h"

enum calls {
    CALLS_MEMORY, /* allocations, ours and SQLite's */
    CALLS_WRITE,  /* writes, with ENOSPC */
    CALLS_IO,     /* writes, with EIO */
    CALLS_SHORT,  /* a write takes half */
    CALLS_SYNC,
    CALLS_OPEN,  /* files opened, directories made */
    CALLS_OTHER, /* truncation, mapping, reading */
    CALLS_COUNT
};
enum how {
    HOW_ONCE,
    HOW_ON,   /* from the N-th on, until the session's end is near */
    HOW_EVER, /* from the N-th on, for good */
    HOW_COUNT
};
extern const char *const calls_names[CALLS_COUNT];
extern const char *const how_names[HOW_COUNT];

struct fault {
    enum calls calls;
    enum how how;
    bool armed;
    long at;    /* the N-th call fails */
    long count; /* so many have been made */
    long hits;  /* so many have failed */
};
extern struct fault fault;

bool fault_hits(enum calls calls); /* counts the call; true: it is to fail */
bool fault_pause(void);            /* what fault_resume() wants */
void fault_resume(bool was);

/* memory.c: blocks of ours that live, and of SQLite's. What libc allocates for us is not counted. */
void memory_watch_sqlite(void); /* before SQLite is used */
size_t memory_blocks(void);
size_t memory_sqlite_blocks(void);
/* calls.c: what is written to this descriptor never fails. */
void calls_spare(int fd);

#endif
