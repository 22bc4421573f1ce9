/* fault.h - faults that --fault injects: KIND@METHOD[:TARGET][#N].
 *
 * KIND      hang           the request gets no messages and no answer
 *           delay=DURATION messages and answer are delayed by this time
 *           error=CODE     an error with this code instead of the answer
 *           close          stdout is closed instead of the answer; the process runs until stdin
 *           ends crash          SIGKILL instead of the answer
 *           garbage        an invalid line, then the answer
 *           truncate       half of the answer, then stdout is closed
 *           duplicate      the answer twice
 *           wrong-id       the answer with an unknown id
 * METHOD    a method, or a pattern with * (`resources/\*`)
 * TARGET    a tool, prompt, URI or task, or a pattern
 * N         only the N-th matching request, counted from 1. Without N: each matching request.
 * Order     if several faults match, the first one is injected. A replay with the same requests has
 *           the same faults.
 * Owns      a copy of the text; faults_close() frees it.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_MOCK_FAULT_H
#define MI_REPLAY_MOCK_FAULT_H

#include "base/buf.h"

enum fault_kind {
    FAULT_NONE,
    FAULT_HANG,
    FAULT_DELAY,
    FAULT_ERROR,
    FAULT_CLOSE,
    FAULT_CRASH,
    FAULT_GARBAGE,
    FAULT_TRUNCATE,
    FAULT_DUPLICATE,
    FAULT_WRONG_ID,
};

struct fault {
    enum fault_kind kind;
    char *text; /* owned; KIND of the fault; `method` and `target` point into the same allocation */
    char *method, *target; /* target: a tool, prompt, URI or task; NULL: each target matches */
    int64_t delay_us;
    int code;
    /* number of the matching request at which the fault occurs, from 1; 0: at each matching
     * request */
    uint64_t nth;
    uint64_t seen; /* number of matching requests so far */
    bool applied;  /* the fault was injected at least once */
};

struct faults {
    struct fault *list; /* owned */
    size_t n;
};

/* Adds a fault. Returns 0; MI_EINVAL with the reason in `error`; MI_ENOMEM. */
MI_MUST int faults_add(struct faults *f, const char *text, struct buf *error);
void faults_close(struct faults *f);
/* Counts the request, and returns its fault, or NULL. */
const struct fault *faults_find_for_request(struct faults *f, struct slice method,
                                            struct slice target);
/* Iterates over the faults that were never injected: appends the text of the next such fault. *at
 * starts at 0. Returns false if there are no more such faults. */
bool faults_append_next_unused_fault(const struct faults *f, size_t *at, struct buf *b);
const char *fault_name(enum fault_kind kind);

#endif
