/* ring.h - the bytes of a journal: one writer and one reader, in memory that both share.
 *
 * The writer adds records and publishes them; a record becomes visible with one release store,
 * after all its bytes. The reader takes records in order and releases them when they are stored,
 * which frees their memory. Positions are bytes since the start of the journal and never go back.
 *
 * File      a page with struct ring_shared; the table, in whole pages; at most RING_START_MAX bytes
 *           about the session (ring_get_session_start()), in whole pages; then `size` bytes of
 *           records. A record is a struct ring_head and its bytes, padded to 8 bytes.
 * Steps     positions and memory are divided into steps of RING_STEP bytes. In a ring of less than
 *           16 such steps, a step is a page. The table maps steps of positions to steps of memory,
 *           so that memory can be used again in any order.
 *           A record is contiguous. If it does not fit into the rest of its step, and the next step
 *           of memory is not free, the record begins in another step, and a record RING_SKIPPED
 *           fills the rest of the first step. A long record is followed by RING_SKIPPED as well.
 * Memory    the writer allocates memory before it writes there, and uses the memory again when its
 *           records are released (steps.h). The memory of a burst stays allocated until
 *           ring_free_unused_memory().
 * Limit     the bytes that are not released are at most `limit`, including skipped bytes. Only the
 *           bytes that the last record skips may exceed the limit: less than a step before it and,
 *           if it is long, after it. A single record may be longer than `limit` while the ring is
 *           empty, but not longer than ring_max_record_size().
 * Wake-ups  the ring only says which side must be woken; the owner wakes that side. Before a side
 *           waits, it sets its flag. Then it reads the position of the other side once more. When a
 *           side has moved its position, it reads the flag of the other side. These four accesses
 *           are sequentially consistent, so that no wake-up is lost.
 * Kills     a reader can be killed between any two instructions, and another one continues at
 *           `tail`.
 * Trust     the reader checks everything that it reads: the file of a dead session may be damaged.
 *           Whatever the shared page contains, neither side accesses memory outside its mapping.
 * Errors    MI_EIO: see errno.
 * Blocks    never. */
#ifndef MI_JOURNAL_RING_H
#define MI_JOURNAL_RING_H

#include "base/os/confine.h"
#include "journal/steps.h"

#define RING_MAGIC 0x6a69636du /* "mcij" */
#define RING_VERSION 4
/* size of a step in bytes, except in a small ring; larger steps are not faster, and the writer
 * would pause longer */
#define RING_STEP ((size_t)64 << 10)
#define RING_START_MAX ((size_t)4 << 20)
#define RING_NONE UINT64_MAX /* means "no position" */
/* kind of a record that only fills the unused end of a step of memory */
#define RING_SKIPPED UINT32_MAX
/* number of bytes that ring_free_unused_memory() leaves allocated */
#define RING_KEPT ((size_t)256 << 10)

/* State of the recorder. */
enum ring_trouble {
    RING_FINE,
    RING_BUSY,    /* another process holds the database's lock; the recorder tries again */
    RING_FAILING, /* the recorder cannot store records, and tries again */
};

/* The first page of the file. First the members that never change, then those that the writer
 * changes, then those that the reader changes. Three exceptions: the writer also
 * clears `reader_sleeps`, the reader sets `ended` if the writer has died, and the server's process
 * sets server_* before it executes its program. */
struct ring_shared {
    _Atomic uint32_t magic; /* written last: a file without this number is not a journal */
    uint32_t version;
    uint64_t size;    /* size of the memory for records in bytes: whole steps, at least 8 pages */
    uint64_t start_n; /* bytes of the session's metadata, which follow the table */

    /* members that the writer changes */
    _Alignas(64) _Atomic uint64_t head; /* all records before this position are published */
    /* the writer waits, and must be woken when `tail` or `trouble` changes */
    _Atomic uint32_t writer_waits;
    _Atomic int32_t server_group; /* process group of the server; 0: no server runs */
    _Atomic uint32_t ended;       /* the session has ended; no more records follow */
    /* session (setsid(2)) and start time of the server, which identify `server_group`: see
     * journal/running.h */
    _Atomic int32_t server_session;
    _Atomic uint64_t server_start;

    /* members that the reader changes */
    _Alignas(64) _Atomic uint64_t tail; /* all records before this position are stored */
    /* the reader sleeps, and the writer must wake the reader after publishing records; both sides
     * clear this flag */
    _Atomic uint32_t reader_sleeps;
    _Atomic uint32_t trouble; /* enum ring_trouble */
    _Atomic int32_t reader_pid;
    /* result of the reader's confine_self(); 0: the reader is not confined */
    _Atomic uint32_t confined;
    /* The next three members tell which record kills the process that reads it. The first two are
     * positions of records, or RING_NONE. */
    _Atomic uint64_t trying;    /* position of the record that is being processed */
    _Atomic uint64_t killed_by; /* position of the record at which the last reader was killed */
    _Atomic uint32_t kills;     /* number of readers in a row that were killed at `killed_by` */
    _Atomic uint32_t filtered;  /* 1: confine_system_calls() of the reader has succeeded */
    struct confine_denied denied;
};

struct ring {
    struct ring_shared *shared;
    struct slice start; /* ring_get_session_start() */
    /* Positions are divided into steps. table[i % n] is the index of the step of memory for step i
     * of the positions; n is the number of steps of memory. The writer sets an element before
     * `head` reaches its step. */
    volatile uint32_t *table;
    char *data;
    uint64_t size; /* size of `data` in bytes: a checked copy, because shared->size may change */
    uint64_t step; /* size of a step in bytes */
    size_t mapped; /* bytes of the whole mapping */
    int fd;        /* borrowed */

    /* the writer's */
    uint64_t limit;
    uint64_t end; /* end of the last record that was added, published or not */
    char *to;     /* address of the position `end`; it lies in `data` */
    /* Number of bytes from `to` to the end of the step of memory that contains `to`. The next
     * record is written to these bytes if it fits into them. */
    uint64_t left;
    /* the memory of all positions before this one is free; a multiple of the step size */
    uint64_t freed;
    struct steps steps;
    /* Successive free steps (steps.h) for a record that is longer than `left`; set by
     * ring_reserve_record(). found.n is 0 if the record fits into `left`. */
    struct step_run found;

    /* the reader's */
    uint64_t at; /* position of the next record */
    /* true: the memory of the records that existed at the first read is allocated */
    bool checked;
};

struct ring_head {
    uint32_t n;    /* bytes of the record, without this head and without padding */
    uint32_t kind; /* enum entry_kind */
};

/* Makes a new journal in an empty file, for the writer. `size` is rounded up to a multiple of the
 * step size. Child processes do not inherit the mapping, so a child must not use `w`. Returns 0,
 * MI_EIO (ENOSPC: the file system is full; EFBIG: RLIMIT_FSIZE, with SIGXFSZ), MI_EINVAL or
 * MI_ENOMEM. */
MI_MUST int ring_create(struct ring *w, int fd, uint64_t size, uint64_t limit, struct slice start);
/* Maps a journal, for the reader, which begins to read at `tail`. Does not change the file. Returns
 * 0, MI_EINVAL (not a journal, another version, or damaged), MI_EIO or MI_ENOMEM. */
MI_MUST int ring_open(struct ring *r, int fd);
void ring_close(struct ring *r); /* unmaps; safe to call twice */
/* Returns the bytes about the session that ring_create() was given. */
struct slice ring_get_session_start(const struct ring *r);
/* Returns the maximum length of a record in bytes. */
size_t ring_max_record_size(const struct ring *r);
/* Returns how many bytes of records are published and not stored, including RING_SKIPPED. Any
 * process that has mapped the journal may call this function. */
uint64_t ring_count_unread_bytes(const struct ring *r);
/* Returns whether the session has ended and all its records are stored. Any process that has mapped
 * the journal may call this function. */
bool ring_is_finished(const struct ring *r);

/* ---- the writer ---- */

/* Returns memory for the n bytes of a record, 8-byte aligned. Write the bytes, then call
 * ring_add_record_head() with the same n; without ring_add_record_head() nothing is recorded.
 * Returns NULL with errno: ENOBUFS (no room until the reader releases records), EMSGSIZE (longer
 * than ring_max_record_size()), or the reason why no memory was allocated, such as ENOSPC. In the
 * last case, memory may be available after the next release. */
char *ring_reserve_record(struct ring *w, size_t n);
void ring_add_record_head(struct ring *w, uint32_t kind, size_t n);
/* Makes the added records visible to the reader. Returns true if the reader sleeps; then wake the
 * reader once. */
MI_MUST bool ring_publish_records(struct ring *w);
/* Ends the session: no more records follow. Publishes the records that were added, and returns the
 * result of ring_publish_records(). */
MI_MUST bool ring_mark_ended(struct ring *w);
/* Returns whether all records that were added are stored. */
bool ring_has_stored_everything(const struct ring *w);
/* While `waits` is true, the reader wakes the writer whenever `tail` or `trouble` changes. Publish
 * before calling this function, and check `tail` again after the call, before waiting. Also check
 * `tail` when a reader was replaced: the dead reader may have moved `tail` without a wake-up. */
void ring_set_writer_waits(struct ring *w, bool waits);
/* Returns how many bytes of memory are allocated for records. */
size_t ring_memory_size(const struct ring *w);
/* Returns memory that no record uses to the system, until RING_KEPT bytes are allocated; at most
 * `most` bytes per call, to keep the call short. */
void ring_free_unused_memory(struct ring *w, size_t most);

/* ---- the reader ---- */

/* Reads the next published record; *ret_at: its position. Returns 0, MI_ENOENT (no record now) or
 * MI_EPROTO (the journal is damaged from here on). The bytes are valid until they are released. */
MI_MUST int ring_read_next_record(struct ring *r, uint32_t *ret_kind, struct slice *ret,
                                  uint64_t *ret_at);
void ring_rewind(
    struct ring *r); /* makes ring_read_next_record() return the first unreleased record again */
/* Releases all records that ring_read_next_record() has returned. Call this function after these
 * records were stored. Returns true if the writer waits and must be woken. A new reader calls
 * ring_release_records() once before its first ring_read_next_record(): a killed reader may not
 * have woken the writer. */
MI_MUST bool ring_release_records(struct ring *r);
/* Call this function before the reader sleeps. If it returns false, the reader must not sleep:
 * there are records, or the session has ended. */
MI_MUST bool ring_put_reader_to_sleep(struct ring *r);
/* Call this function each time ring_put_reader_to_sleep() has returned true. The event that wakes
 * the reader must be received before the next ring_put_reader_to_sleep(). */
void ring_mark_reader_awake(struct ring *r);
/* Returns true if the writer waits and must be woken. */
MI_MUST bool ring_set_recorder_trouble(struct ring *r, enum ring_trouble trouble);

#endif
