/* recorder_inner.h - between the recorder*.c files. */
#ifndef MI_VAULT_RECORDER_INNER_H
#define MI_VAULT_RECORDER_INNER_H

#include "vault/backlog.h"
#include "vault/recorder.h"

struct recorder {
    struct recorder_config cfg; /* strings owned */
    struct vault_dir dir;
    struct store *store; /* NULL while the vault cannot be opened */
    char uid[UID_LEN + 1];
    char host[256];
    int64_t started_mono_us, started_wall_us;
    int64_t session_id;   /* 0: not in the database yet */
    bool session_written; /* and what was learnt about it, too */
    uint64_t seq;         /* of the last row */

    struct row *turn; /* owned: the rows of this turn; slices and holds borrowed from the traffic */
    size_t turn_n, turn_cap;
    struct backlog waiting; /* owned: rows that an earlier commit could not write */
    size_t portion_n;       /* of the first that wait: in the open transaction */

    struct store_update learnt; /* text owned by learnt_text[] */
    struct buf learnt_text[6];
    bool learnt_some;
    struct running running;
    bool running_known, running_changed;

    bool failing;   /* the last commit did not write everything */
    bool only_busy; /* because another process held the lock */
    int64_t failing_since_us, next_try_us, looked_us;
    uint64_t lost_n, lost_first, lost_last; /* rows dropped since the last gap event */
    char reason[200];                       /* why it fails */
};

/* What waits, then the rows of this turn and what is new of the session. 0 or MI_ESTORE: then what is not written is
 * where it was. */
MI_MUST int recorder_write(struct recorder *r);

#endif
