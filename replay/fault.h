/* fault.h - faults that a test asks for: KIND@METHOD[:TARGET][#N].
 *
 * KIND      hang           nothing at all comes for this request
 *           delay=DURATION it begins so much later
 *           error=CODE     an error with this code instead of the answer
 *           close          stdout is closed instead of the answer; the process stays until stdin ends
 *           crash          SIGKILL instead of the answer
 *           garbage        a line that is no message, then the answer
 *           truncate       half of the answer, then stdout is closed
 *           duplicate      the answer twice
 *           wrong-id       the answer with an id that nobody asked with
 * METHOD    a method, or a pattern with * (`resources/\*`). TARGET: tool, prompt, URI or task, likewise.
 * N         only the N-th request of that method and target, counted from 1. Without it: each.
 * Several   may be given; the first that fits is played. The same requests give the same faults.
 * Owns      a copy of the text; faults_close() frees it.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_FAULT_H
#define MI_REPLAY_FAULT_H

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
    char *text;            /* owned; method and target point into it */
    char *method, *target; /* target NULL: any */
    int64_t delay_us;
    int code;
    uint64_t nth, seen; /* nth 0: each */
};

struct faults {
    struct fault *list; /* owned */
    size_t n;
};

/* 0; MI_EINVAL with a sentence in error; MI_ENOMEM. */
MI_MUST int faults_add(struct faults *f, const char *text, struct buf *error);
void faults_close(struct faults *f);
/* The fault of this request, which counts it; NULL: none. */
const struct fault *faults_find(struct faults *f, struct slice method, struct slice target);
const char *fault_name(enum fault_kind kind);

#endif
