/* state.h - struct recorder, for the files of this folder and their tests. */
#ifndef MI_RECORD_STATE_H
#define MI_RECORD_STATE_H

#include "base/clock.h"
#include "journal/entry_form.h"
#include "journal/journal_file.h"
#include "journal/ring.h"
#include "record/notifier.h"
#include "record/recorder.h"
#include "record/session_facts.h"
#include "record/worker.h"

#include <limits.h>

struct recorder {
    /* The recorder owns the strings of `cfg`, except tools_rule. The path of the vault is
     * absolute. */
    struct recorder_config cfg;
    struct journal journal;
    struct session_start start; /* metadata; its texts are borrowed from this struct recorder */
    char uid[UID_LEN + 1];
    char host[256];
    /* the proxy's working directory, in which it starts the server; empty: unknown */
    char cwd[PATH_MAX];
    struct buf rules; /* the sanitizer's rules as JSON */
    int64_t started_mono_us;
    uint64_t seq;      /* seq of the last message */
    bool tools_wanted; /* the previous tools were requested, but have not arrived */
    struct session_facts facts;
    /* longest time that forwarding waits for the entries of a turn to be recorded:
     * RECORDER_PAUSE_US, except in tests */
    int64_t pause_us;
    /* longest time that recorder_close() waits until everything is stored: RECORDER_END_US or
     * RECORDER_END_FIRST_US, except in tests */
    int64_t end_us;

    struct journal_file file;
    struct ring ring;
    /* false: there is no journal, and nothing is recorded; never with stop_on_error */
    bool has_ring;
    /* records for which the ring had no room; each is a struct ring_head and its bytes */
    struct buf waiting;
    size_t moved_n; /* bytes of `waiting` that were moved to the ring */
    /* lost messages that the journal does not report yet; n is 0 if there are none */
    struct lost_messages lost;
    bool losing;          /* messages are dropped until the journal has room for many messages */
    uint64_t limit;       /* limit of the ring while the recorder can store */
    int64_t bound_due_us; /* time when bound_update_limit() checks again; 0: at once */
    uint64_t bound_from;  /* end of the last entry when bound_update_limit() last checked */
    /* while `losing`: number of bytes that were in the journal when it became full */
    uint64_t full_at;
    bool asked; /* the client sent a request in this turn */
    /* recorder_must_slow_client() has not been called since a message of the client was appended */
    bool took;
    bool failed; /* RECORDER_FAILED was returned */
    /* Without stop_on_error: a message was recorded without its body, which is logged once. With
     * stop_on_error: the body of a message does not fit, so the session must end. */
    bool body_lost;
    /* Since when recording has been delayed, because the journal is full or, with sync_full,
     * because entries are not stored yet; 0: there is no delay. */
    int64_t waits_since_us;

    struct worker worker;
    /* descriptor of VAULT/running.lock from the recorder process, kept open to keep its lock; -1:
     * none */
    int lock;
    struct notifier notifier;
    struct ev_loop *loop; /* the event loop; NULL: events are not watched */
    struct recorder_calls calls;
    void *data;
    /* timer that ends a pause of forwarding or of reading the client, or the wait of a long line */
    ev_timer pause_timer;
    /* the client is not read before this time, because the journal is filling up */
    int64_t paced_until_us;
    /* a line has waited too long; no line waits until the recorder process has caught up */
    bool gave_up_lag;
    /* the timer is active while the journal has more memory than light traffic needs */
    ev_timer idle_timer;
    uint64_t idle_end; /* end of the last entry when idle_timer was started */
};

static inline int64_t recorder_elapsed_us(const struct recorder *r)
{
    return clock_mono_us() - r->started_mono_us;
}

static inline enum ring_trouble recorder_get_trouble(const struct recorder *r)
{
    return (enum ring_trouble)atomic_load_explicit(&r->ring.shared->trouble, memory_order_acquire);
}

/* ---- append.c ---- */

void append_open_journal(struct recorder *r); /* fills in r->journal */
/* Appends an entry. If the ring has no room, the entry waits or is lost. */
void append_entry(struct recorder *r, const struct entry *e);
/* Repeats the session's metadata, for a new recorder process. */
void append_metadata_for_new_recorder(struct recorder *r);
/* Call this function at the end of the session: reports in the journal which messages were lost, if
 * there is memory for the report. */
void append_final_lost_report(struct recorder *r);
/* Moves waiting entries to the ring. Returns false if there is no room for all of them. */
bool append_waiting_entries(struct recorder *r);
/* Drops the waiting messages. Call this function if there was no room for too long. */
void append_drop_waiting_messages(struct recorder *r);

/* ---- bound.c ---- */

/* While the recorder process cannot store: sets the limit of the ring to the bytes of --max-waiting
 * that the other journals leave. Measures the other journals once a second, and after each 256 KiB
 * of entries. */
void bound_update_limit(struct recorder *r);
/* Whether --max-waiting makes the ring's limit lower. */
bool bound_has_lowered_ring_limit(const struct recorder *r);
/* Adds a short entry beyond the ring's limit. Returns false if there is no memory. */
bool bound_append_entry_beyond_limit(struct recorder *r, const struct entry *e);
/* Writes an escalation: messages are lost because --max-waiting is reached. */
void bound_escalate_lost_messages(struct recorder *r);

/* ---- waits.c ---- */

void waits_open_timers(struct recorder *r);
void waits_stop_timers(struct recorder *r);
/* Arranges that `changed` is called at the time until_us (clock_mono_us()). If until_us is 0,
 * `changed` is not called any more. */
void waits_set_pause_timer(struct recorder *r, int64_t until_us);
/* Call this function after entries were published. If no more entries follow for a while, memory of
 * the journal is returned to the system. */
void waits_start_idle_timer(struct recorder *r);

#endif
