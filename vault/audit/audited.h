/* audited.h - one session, compared with its commitments and with the log.
 *
 * audited_session() reads the session's row with the log of the same moment, then its events and messages in pages. If
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

/* What can be wrong, the most telling first: later ones often follow from an earlier one. */
enum audited_class {
    AUDITED_LOG, /* the session's row and the log do not fit */
    AUDITED_ROW, /* a row, or its body, cannot be one that was recorded */
    AUDITED_REMOVED,
    AUDITED_MOVED,
    AUDITED_ADDED,
    AUDITED_REPLACED, /* what was redacted, and findings that were added */
    AUDITED_RECORD,   /* a record does not agree with its commitment */
    AUDITED_OPENED,
    AUDITED_TREE,
    AUDITED_END,
    AUDITED_CALLS, /* follow from the messages */
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
    struct digest session; /* commitments, as stored */
    struct digest end;
    bool has_end;
    struct buf end_reason; /* as JSON, without quotes */
    bool has_end_reason;

    /* what the log says */
    struct trail_session log;

    /* the records */
    struct replaced replaced;
    struct findings_added findings;
    struct audited_event *event; /* owned */
    size_t event_n, event_cap, event_at;
    struct audited_seal *seal; /* owned; by their records */
    size_t seal_n, seal_cap, seal_at;
    struct places places;
    struct called called;
    int64_t messages, last_seq;
    int64_t gap;        /* the first seq that is missing; 0: none */
    bool gaps;          /* an event says that messages were lost */
    bool displaced;     /* places are not known */
    int body_fd;        /* of the session's file in Bodies/; -1: not open */
    int64_t body_bytes; /* of the bodies in it so far */
    uint64_t bytes;

    enum audited_class class;
    struct audit_wrong wrong;

    void (*progress)(void *ctx, uint64_t records, uint64_t bytes); /* since the last call */
    void *ctx;
};

/* Whether it must have evidence: it was not recorded before. Numbers begin with 1. */
bool audited_has_evidence(const struct audited *c);
/* Whether the session is verified: it is covered, and not being removed. */
bool audited_is_covered(const struct audited *c);
void audited_open(struct audited *c, struct snapshot *source, struct trail *trail);
MI_MUST int audited_session(struct audited *c, int64_t id);
void audited_close(struct audited *c); /* what the last session needed */

/* For walk.c and audited.c: the first of the lowest class is kept. */
void audited_say(struct audited *c, enum audited_class class, const struct audit_wrong *w);
#define AUDITED_SAY(c, class, ...)                                                                 \
    do {                                                                                           \
        struct audit_wrong said_;                                                                  \
        audit_say(&said_, __VA_ARGS__);                                                            \
        audited_say(c, class, &said_);                                                             \
    } while (0)
/* Reads the events, then the messages, and puts their first commitments into places; messages also into the calls. */
MI_MUST int walk_events(struct audited *c);
MI_MUST int walk_messages(struct audited *c);
/* Adds a commitment at the next place. */
void walk_add(struct audited *c, const struct digest *first);

#endif
