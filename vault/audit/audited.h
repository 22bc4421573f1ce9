/* audited.h - compares one session with its commitments and with the log.
 *
 * audited_check_session() reads the session's row and the log in one transaction, then the events
 * and messages in pages, each in a transaction of its own. A writer may change the session between
 * two pages. So if a fault is found, or if the session has not ended, the whole session is read in
 * one transaction.
 *
 * Owns      everything it allocates; audited_close() frees it.
 * Errors    those of snapshot.h; MI_EIO also if a file in Bodies/ cannot be read. MI_ENOENT: the
 *           session has no row.
 * Blocks    on the database and on files in Bodies/. */
#ifndef MI_VAULT_AUDIT_AUDITED_H
#define MI_VAULT_AUDIT_AUDITED_H

#include "evidence/places.h"
#include "evidence/record.h"
#include "journal/uid.h"
#include "vault/audit/called.h"
#include "vault/audit/findings.h"
#include "vault/audit/replaced.h"

/* Classes of faults, the most informative first: a fault of a later class is often only the
 * consequence of a fault of an earlier class. */
enum audited_class {
    AUDITED_LOG,      /* the session's row does not agree with the log */
    AUDITED_ROW,      /* a row or its body has values that no recorder writes */
    AUDITED_REMOVED,  /* records are missing */
    AUDITED_MOVED,    /* an event is at a position that it cannot have */
    AUDITED_ADDED,    /* the vault has more records of the session than were recorded */
    AUDITED_REPLACED, /* a redaction, or an event that adds a finding, is invalid */
    AUDITED_RECORD,   /* a record does not agree with its commitment */
    AUDITED_OPENED,   /* the record `session` does not agree with the log's leaf `open` */
    AUDITED_TREE,     /* the commitments do not agree with a seal or with the tree in the row */
    AUDITED_END,      /* the record `end` does not agree with the seal */
    AUDITED_CALLS,    /* the table `calls` does not agree with the messages */
    AUDITED_FINE      /* no fault */
};

struct audited_event {
    int64_t place;       /* number of records of the session before this event */
    struct digest first; /* first commitment of the event */
};

struct audited_seal {
    int64_t records;    /* number of records that the seal states */
    struct digest root; /* root of the tree over the first commitments of the sealed records */
};

struct audited {
    struct snapshot *source; /* borrowed */
    struct trail *trail;     /* borrowed */
    int64_t id;              /* id of the session */

    /* The values of these members are from the session's row: */
    char uid[UID_LEN + 1];
    struct buf name, host;
    int64_t started_at_us;
    bool ended, killed;
    bool has_records;
    int64_t records;
    bool has_tree;
    struct buf tree;
    struct digest session; /* stored commitment of the record `session` */
    struct digest end;     /* stored commitment of the record `end` */
    bool has_end;          /* the row has a commitment of the record `end` */
    struct buf end_reason; /* end_reason of the session, as JSON without its quotes */
    bool has_end_reason;

    /* copy of what the log says about the session */
    struct trail_session log;

    /* The following members are filled from the session's records: */
    struct replaced replaced;
    struct findings_added findings;
    struct audited_event *event; /* owned */
    /* `event_at`: index of the next event to add to `places` */
    size_t event_n, event_cap, event_at;
    /* owned; the session's seals, ordered by the number of records that they cover */
    struct audited_seal *seal;
    size_t seal_n, seal_cap, seal_at; /* `seal_at`: index of the next seal to compare */
    struct places places;             /* tree over the first commitments read so far */
    struct called called;
    int64_t messages; /* number of messages read so far */
    int64_t last_seq;
    int64_t gap;        /* lowest seq that is missing; 0: none is missing */
    bool gaps;          /* true: an event of the session says that messages were lost */
    bool displaced;     /* the positions of the records in the tree are unknown */
    int body_fd;        /* descriptor of the session's file in Bodies/; -1: the file is not open */
    int64_t body_bytes; /* number of bytes of all bodies read from the session's file so far */
    uint64_t bytes;     /* number of bytes of all bodies read so far */

    enum audited_class class; /* class of `wrong`; AUDITED_FINE: no fault */
    struct audit_wrong wrong; /* the fault that will be reported */

    /* called with the amount of data that was read since the previous call of this callback */
    void (*progress)(void *ctx, uint64_t records, uint64_t bytes);
    void *ctx;
};

/* Whether the session must have evidence: it began after the log was started, the log has a leaf
 * `open` of it, or its id is less than 1, which is invalid. */
bool audited_has_evidence(const struct audited *c);
/* Whether the session is verified: it must have evidence and is not being removed. */
bool audited_can_be_verified(const struct audited *c);
void audited_open(struct audited *c, struct snapshot *source, struct trail *trail);
MI_MUST int audited_check_session(struct audited *c, int64_t id);
void audited_close(struct audited *c); /* frees the memory used for the last session */

/* Reports a fault, for walk.c and audited.c. Only one fault of a session is reported: the first one
 * of the lowest class. */
void audited_set_fault(struct audited *c, enum audited_class class, const struct audit_wrong *w);
#define AUDITED_SAY(c, class, ...)                                                                 \
    do {                                                                                           \
        struct audit_wrong said_;                                                                  \
        audit_set_fault(&said_, __VA_ARGS__);                                                      \
        audited_set_fault(c, class, &said_);                                                       \
    } while (0)
/* Reads the events. Call this function before audited_walk_messages(). */
MI_MUST int audited_walk_events(struct audited *c);
/* Reads the messages. Adds the first commitments of events and messages to `places`, in the order
 * of their positions in the tree, and the messages to `called`. */
MI_MUST int audited_walk_messages(struct audited *c);
/* Adds a commitment at the next position in the tree. */
void walk_add_commitment(struct audited *c, const struct digest *first);

#endif
