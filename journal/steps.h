/* steps.h - the memory of a journal's records, as its writer manages it.
 *
 * The memory is divided into steps of equal size. A step either has memory or is a hole in the
 * file. A step is in use or free. A free step keeps its memory until steps_return_memory(), so that
 * using it again costs nothing.
 *
 * Pages are allocated (memory_allocate()) before they are written, so that a full file system is an
 * error here and never a SIGBUS. The lowest steps are used first, so that the same few steps are
 * used again and again while there is little traffic.
 *
 * Owns      a byte for each step. The mapping and the file are borrowed.
 * Errors    MI_EIO: see errno; ENOBUFS: too many steps are in use.
 * Blocks    never. */
#ifndef MI_JOURNAL_STEPS_H
#define MI_JOURNAL_STEPS_H

#include "base/base.h"

struct steps {
    uint8_t *state;  /* owned; for each step: STEP_HAS_MEMORY, STEP_IS_USED */
    size_t n;        /* steps */
    size_t low;      /* all steps before this one are in use */
    size_t high;     /* this step and all later steps have no memory */
    size_t memory_n; /* number of steps that have allocated memory */
    size_t step;     /* size of a step in bytes; a multiple of the page size */
    char *data;      /* borrowed; address at which the first step is mapped */
    uint64_t at;     /* offset of the first step in the file */
    int fd;          /* borrowed */
};

/* Consecutive steps. */
struct step_run {
    size_t first, n;
};

/* Prepares n steps, of which none has memory. data and fd: see struct steps. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int steps_open(struct steps *s, size_t n, size_t step, char *data, int fd, uint64_t at);
void steps_close(struct steps *s); /* safe to call twice */
/* Finds free steps and allocates their memory: `more` steps from `next` on, or n steps anywhere.
 * Prefers steps that already have memory, and among equal steps the lowest ones. The steps stay
 * free until steps_mark_used(). Returns 0 or MI_EIO. */
MI_MUST int steps_find_free_steps(struct steps *s, size_t next, size_t more, size_t n,
                                  struct step_run *ret);
void steps_mark_used(struct steps *s, struct step_run run);
void steps_mark_free(struct steps *s, size_t i); /* does nothing if there is no step i */
/* Returns memory of free steps to the system, the last steps first: at most `most` bytes, until
 * `keep` bytes are allocated. */
void steps_return_memory(struct steps *s, size_t keep, size_t most);

#endif
