/* target.h - the interface between `ship to` and the code that sends a vault to one kind of target.
 *
 * Errors    a round returns one of the errors below, MI_ESTORE (the vault) or MI_ENOMEM, each with
 *           a sentence in error(). */
#ifndef MI_SHIP_OUTBOX_TARGET_H
#define MI_SHIP_OUTBOX_TARGET_H

#include "base/buf.h"

/* TARGET_LOST: try again later. TARGET_AGAIN, TARGET_DIFFERS: try again at once, a few times at
 * most. TARGET_REFUSED: the target will never accept the data. TARGET_STOPPED: `stop` returned
 * true, or until_us has passed. */
enum {
    TARGET_LOST = -101,
    TARGET_AGAIN = -102,
    TARGET_REFUSED = -103,
    TARGET_STOPPED = -104,
    TARGET_DIFFERS = -105
};

struct unsent;

/* Parameters for opening a target; borrowed until the target is closed. */
struct target {
    const char *url;
    struct unsent *from;
    bool minimal;       /* true: send no bodies, and no texts that are taken from bodies */
    bool content;       /* true: also send arguments and results (for a collector) */
    bool notifications; /* true: also send spans of notifications (for a collector) */
    bool (*stop)(void); /* called at least about once a second while waiting */
    /* time (clock_mono_us()) after which no function of the target waits; 0: no limit */
    int64_t until_us;
};

struct target_kind {
    /* what URLs of this kind look like, for people, such as "otlp+http://HOST:4318" */
    const char *form;
    /* Whether the text looks like a URL of this kind. */
    bool (*is_url)(const char *url);
    /* Whether the URL may be used. MI_EINVAL: `error` has the reason, without secrets. */
    int (*check_url)(const char *url, struct buf *error);
    /* Opens the target. 0, MI_ENOMEM, or another error with a sentence in `error`. */
    int (*open)(void **ret, const struct target *t, struct buf *error);
    void (*close)(void *x);
    /* Sends all rows of the vault that are new. *ret_sent: number of rows. */
    int (*round)(void *x, int64_t *ret_sent);
    const char *(*error)(void *x, int status);
    /* A kind of target that does not need one of the following functions sets it to NULL. */
    /* Checks that the target still has all rows. If not, the next round sends the lost rows
     * again. */
    int (*check)(void *x);
    /* Whether the connection was closed. If so, the caller must call check() now. */
    bool (*is_cut)(void *x);
    /* Whether the vault's cursors could not be written, so that another round must follow soon. */
    bool (*is_unsaved)(const void *x);
    int64_t (*leaves)(const void *x); /* returns how many leaves of the vault's log were sent */
    /* Returns the time that the target has asked us to wait; 0: none. */
    int64_t (*wait_ms)(const void *x);
    /* Returns a text about data that the target has permanently refused since it was opened; NULL:
     * none. */
    const char *(*refused)(void *x);
};

#endif
