/* target.h - a kind of target: what `ship to` needs of the code that sends a vault somewhere.
 *
 * Errors    of a round: those below, MI_ESTORE (the vault) and MI_ENOMEM, each with a sentence in error(). */
#ifndef MI_SHIP_OUTBOX_TARGET_H
#define MI_SHIP_OUTBOX_TARGET_H

#include "base/buf.h"

/* TARGET_LOST: try again later. TARGET_AGAIN, TARGET_DIFFERS: try again at once, a few times at most. TARGET_REFUSED:
 * it will never be taken. TARGET_STOPPED: `stop` is true, or the time is over. */
enum {
    TARGET_LOST = -101,
    TARGET_AGAIN = -102,
    TARGET_REFUSED = -103,
    TARGET_STOPPED = -104,
    TARGET_DIFFERS = -105
};

struct unsent;

/* What a target is opened with; borrowed until it is closed. */
struct target {
    const char *url;
    struct unsent *from;
    bool minimal;       /* no bodies, and no texts that come from them */
    bool content;       /* for a collector: arguments and results, too */
    bool notifications; /* the same: spans of notifications */
    bool (*stop)(void); /* asked about once a second, or more often, while waiting */
    int64_t until_us;   /* no call waits beyond this time (clock_mono_us()); 0: none */
};

struct target_kind {
    const char *form; /* of its URLs, for people */
    /* Whether a text looks like one of its URLs. */
    bool (*is_url)(const char *url);
    /* Whether it may be used. MI_EINVAL: the reason is in `error`, without parts of the URL that may be secret. */
    int (*check_url)(const char *url, struct buf *error);
    /* MI_ENOMEM, or another error with a sentence in `error`. */
    int (*open)(void **ret, const struct target *t, struct buf *error);
    void (*close)(void *x);
    /* Sends everything that is there. *ret_sent: rows. */
    int (*round)(void *x, int64_t *ret_sent);
    const char *(*error)(void *x, int status);
    /* The others may be NULL, for a kind to which they do not apply. */
    /* Asks whether the other side still has everything. If not, the next round sends it again. */
    int (*check)(void *x);
    bool (*is_cut)(void *x); /* its connection was closed: check now */
    /* The vault's cursors could not be written: another round, soon. */
    bool (*is_unsaved)(const void *x);
    int64_t (*leaves)(const void *x); /* of the vault's log that were sent */
    /* How long the other side wants us to wait; 0: it has not said. */
    int64_t (*wait_ms)(const void *x);
    /* What the other side will never take, and why, since it was opened; NULL: nothing. */
    const char *(*refused)(void *x);
};

#endif
