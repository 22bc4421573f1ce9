/* session_audit.h - compares one session with its commitments and with the log.
 *
 * session_audit_check_session() reads the session's row and the log in one transaction, then the
 * events and messages in pages, each in a transaction of its own. A writer may change the session
 * between two pages. So if a fault is found, or if the session has not ended, the whole session is
 * read in one transaction.
 *
 * Owns      everything it allocates; session_audit_close() frees it.
 * Errors    those of snapshot.h; MI_EIO also if a file in Bodies/ cannot be read. MI_ENOENT: the
 *           session has no row.
 * Blocks    on the database and on files in Bodies/. */
#ifndef MI_VAULT_AUDIT_SESSION_AUDIT_H
#define MI_VAULT_AUDIT_SESSION_AUDIT_H

#include "evidence/record.h"
#include "evidence/session_tree.h"
#include "journal/uid.h"
#include "vault/audit/call_audit.h"
#include "vault/audit/findings.h"
#include "vault/audit/old_commitments.h"

/* Classes of faults, the most informative first: a fault of a later class is often only the
 * consequence of a fault of an earlier class. */
enum session_fault_class {
    SESSION_FAULT_LOG,       /* the session's row does not agree with the log */
    SESSION_FAULT_ROW,       /* a row or its body has values that no recorder writes */
    SESSION_FAULT_REMOVED,   /* records are missing */
    SESSION_FAULT_MOVED,     /* an event is at a position that it cannot have */
    SESSION_FAULT_ADDED,     /* the vault has more records of the session than were recorded */
    SESSION_FAULT_REDACTION, /* a redaction, or an event that adds a finding, is invalid */
    SESSION_FAULT_RECORD,    /* a record does not agree with its commitment */
    SESSION_FAULT_OPENED,    /* the record `session` does not agree with the log's leaf `open` */
    SESSION_FAULT_TREE,  /* the commitments do not agree with a seal or with the tree in the row */
    SESSION_FAULT_END,   /* the record `end` does not agree with the seal */
    SESSION_FAULT_CALLS, /* the table `calls` does not agree with the messages */
    SESSION_FAULT_NONE   /* no fault */
};

struct session_audit_event {
    int64_t place;       /* number of records of the session before this event */
    struct digest first; /* first commitment of the event */
};

struct session_audit_seal {
    int64_t records;    /* number of records that the seal states */
    struct digest root; /* root of the tree over the first commitments of the sealed records */
};

struct session_audit {
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
    struct old_commitments old_commitments;
    struct findings_added findings;
    struct session_audit_event *event; /* owned */
    /* `event_at`: index of the next event to add to `places` */
    size_t event_n, event_cap, event_at;
    /* owned; the session's seals, ordered by the number of records that they cover */
    struct session_audit_seal *seal;
    size_t seal_n, seal_cap, seal_at; /* `seal_at`: index of the next seal to compare */
    struct session_tree places;       /* tree over the first commitments read so far */
    struct call_audit calls;
    int64_t messages; /* number of messages read so far */
    int64_t last_seq;
    int64_t gap;        /* lowest seq that is missing; 0: none is missing */
    bool gaps;          /* true: an event of the session says that messages were lost */
    bool displaced;     /* the positions of the records in the tree are unknown */
    int body_fd;        /* descriptor of the session's file in Bodies/; -1: the file is not open */
    int64_t body_bytes; /* number of bytes of all bodies read from the session's file so far */
    uint64_t bytes;     /* number of bytes of all bodies read so far */

    enum session_fault_class class; /* class of `wrong`; SESSION_FAULT_NONE: no fault */
    struct audit_wrong wrong;       /* the fault that will be reported */

    /* called with the amount of data that was read since the previous call of this callback */
    void (*progress)(void *ctx, uint64_t records, uint64_t bytes);
    void *ctx;
};

/* Whether the session must have evidence: it began after the log was started, the log has a leaf
 * `open` of it, or its id is less than 1, which is invalid. */
bool session_audit_has_evidence(const struct session_audit *c);
/* Whether the session is verified: it must have evidence and is not being removed. */
bool session_audit_can_be_verified(const struct session_audit *c);
void session_audit_open(struct session_audit *c, struct snapshot *source, struct trail *trail);
MI_MUST int session_audit_check_session(struct session_audit *c, int64_t id);
void session_audit_close(struct session_audit *c); /* frees the memory used for the last session */

/* Reports a fault, for walk.c and session_audit.c. Only one fault of a session is reported: the
 * first one of the lowest class. */
void session_audit_add_fault(struct session_audit *c, enum session_fault_class class,
                             const struct audit_wrong *w);
#define SESSION_AUDIT_ADD_FAULT(c, class, ...)                                                     \
    do {                                                                                           \
        struct audit_wrong said_;                                                                  \
        audit_set_fault(&said_, __VA_ARGS__);                                                      \
        session_audit_add_fault(c, class, &said_);                                                 \
    } while (0)
/* Reads the events. Call this function before session_audit_check_messages(). */
MI_MUST int session_audit_check_events(struct session_audit *c);
/* Reads the messages. Adds the first commitments of events and messages to `places`, in the order
 * of their positions in the tree, and the messages to `calls`. */
MI_MUST int session_audit_check_messages(struct session_audit *c);
/* Adds a commitment at the next position in the tree. */
void walk_add_commitment(struct session_audit *c, const struct digest *first);

#endif
