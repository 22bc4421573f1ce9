/* fault.h - makes the N-th call of one kind fail, once or from then on.
 *
 * memory.c wraps the program's and SQLite's allocations, calls.c replaces the system calls; both call
 * fault_hits() each time. Nothing fails while faults are not armed: work of the driver itself during
 * a session is enclosed in fault_pause() and fault_resume().
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
    CALLS_SHORT,  /* partial writes of half the bytes */
    CALLS_SYNC,
    CALLS_OPEN,  /* files opened, directories made */
    CALLS_OTHER, /* truncation, mapping, reading */
    CALLS_COUNT
};
enum how {
    HOW_ONCE,
    HOW_ON,   /* from the N-th on, until shortly before the end of the session */
    HOW_EVER, /* from the N-th on, until the end */
    HOW_COUNT
};
extern const char *const calls_names[CALLS_COUNT];
extern const char *const how_names[HOW_COUNT];

struct fault {
    enum calls calls;
    enum how how;
    bool armed;
    long at;    /* the N-th call fails */
    long count; /* calls so far */
    long hits;  /* failed calls so far */
};
extern struct fault fault;

bool fault_hits(enum calls calls); /* counts the call; true: it must fail */
bool fault_pause(void);            /* returns the argument for fault_resume() */
void fault_resume(bool was);

/* memory.c: live blocks of the program and of SQLite. Allocations inside libc are not counted. */
void memory_watch_sqlite(void); /* before SQLite is used */
size_t memory_blocks(void);
size_t memory_sqlite_blocks(void);
/* calls.c: writes to this descriptor never fail. */
void calls_spare(int fd);

#endif
