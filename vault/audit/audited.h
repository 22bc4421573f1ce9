/* audited.h - one session, compared with its commitments and with the log.
 *
 * audited_check_session() reads the session's row with the log of the same moment, then its events and messages in pages. If
 * something is wrong, or the session has not ended, all of it is read in one transaction: a writer may have changed it
 * between two pages.
 *
 * Owns      everything it allocates; audited_close() frees it.
 * Errors    those of snapshot.h; MI_EIO also if a file in Bodies/ cannot be read. MI_ENOENT: the session has no row.
 * Blocks    on the database and on files in Bodies/. */
#ifndef MI_VAULT_AUDIT_AUDITED_H
#define MI_VAULT_AUDIT_AUDITED_H

#include "evidence/places.h"
#include "evidence/record.h"
#include "journal/uid.h"
#include "vault/audit/called.h"
#include "vault/audit/findings.h"
#include "vault/audit/replaced.h"

/* Kinds of faults, the most informative first: a later kind often follows from an earlier one. */
enum audited_class {
    AUDITED_LOG, /* the session's row does not agree with the log */
    AUDITED_ROW, /* a row or its body has values that no recorder writes */
    AUDITED_REMOVED,
    AUDITED_MOVED,
    AUDITED_ADDED,
    AUDITED_REPLACED, /* finding about a redacted record, or about a finding that was added later */
    AUDITED_RECORD,   /* a record does not agree with its commitment */
    AUDITED_OPENED,
    AUDITED_TREE,
    AUDITED_END,
    AUDITED_CALLS, /* the table `calls` does not agree with the messages */
    AUDITED_FINE
};

struct audited_event {
    int64_t place;
    struct digest first;
};

struct audited_seal {
    int64_t records;
    struct digest root;
};

struct audited {
    struct snapshot *source;
    struct trail *trail;
    int64_t id;

    /* the session's row */
    char uid[UID_LEN + 1];
    struct buf name, host;
    int64_t started_at_us;
    bool ended, killed;
    bool has_records;
    int64_t records;
    bool has_tree;
    struct buf tree;
    struct digest session; /* commitments, as stored in the vault */
    struct digest end;
    bool has_end;
    struct buf end_reason; /* end_reason of the session, as JSON without its quotes */
    bool has_end_reason;

    /* what the log says */
    struct trail_session log;

    /* the records */
    struct replaced replaced;
    struct findings_added findings;
    struct audited_event *event; /* owned */
    size_t event_n, event_cap, event_at;
    struct audited_seal *seal; /* owned; ordered by number of records */
    size_t seal_n, seal_cap, seal_at;
    struct places places;
    struct called called;
    int64_t messages, last_seq;
    int64_t gap;        /* lowest seq that is missing; 0: none is missing */
    bool gaps;          /* true: an event of the session says that messages were lost */
    bool displaced;     /* true: the places of the records are not known */
    int body_fd;        /* descriptor of the session's file in Bodies/; -1: the file is not open */
    int64_t body_bytes; /* bytes of all bodies read from that file so far */
    uint64_t bytes;

    enum audited_class class;
    struct audit_wrong wrong;

    /* called with the amount of data read since the last call */
    void (*progress)(void *ctx, uint64_t records, uint64_t bytes);
    void *ctx;
};

/* Whether the session must have evidence, because it began after the log did. Ids begin with 1. */
bool audited_has_evidence(const struct audited *c);
/* Whether the session is verified: it is covered, and not being removed. */
bool audited_is_covered(const struct audited *c);
void audited_open(struct audited *c, struct snapshot *source, struct trail *trail);
MI_MUST int audited_check_session(struct audited *c, int64_t id);
void audited_close(struct audited *c); /* frees the memory used for the last session */

/* Reports a fault, for walk.c and audited.c. Of all faults of a session, the first one of the
 * lowest class is kept. */
void audited_set_fault(struct audited *c, enum audited_class class, const struct audit_wrong *w);
#define AUDITED_SAY(c, class, ...)                                                                 \
    do {                                                                                           \
        struct audit_wrong said_;                                                                  \
        audit_set_fault(&said_, __VA_ARGS__);                                                      \
        audited_set_fault(c, class, &said_);                                                       \
    } while (0)
/* Reads the events, then the messages, and puts their first commitments into `places`. Messages are
 * also added to `called`. */
MI_MUST int audited_walk_events(struct audited *c);
MI_MUST int audited_walk_messages(struct audited *c);
/* Adds a commitment at the next place. */
void walk_add_commitment(struct audited *c, const struct digest *first);

#endif
