/* verdict.h - the words of `audit verify`: the status of a session, and the kinds of change
 * (docs/evidence.md, "Verdict").
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_AUDIT_VERDICT_H
#define MI_VAULT_AUDIT_VERDICT_H

#include "base/base.h"

enum audit_status {
    AUDIT_NOT_COVERED,
    AUDIT_REMOVING,
    AUDIT_TAMPERED,
    AUDIT_OPEN,
    AUDIT_INCOMPLETE,
    AUDIT_REDACTED,
    AUDIT_VALID,
    AUDIT_NOT_ANCHORED,
    AUDIT_STATUSES
};

enum audit_kind {
    AUDIT_NOTHING,
    AUDIT_ADDED,
    AUDIT_REMOVED,
    AUDIT_MOVED,
    AUDIT_CHANGED,
    AUDIT_EXCHANGED,
    AUDIT_SIGNATURE,
    AUDIT_ROLLED_BACK,
    AUDIT_FORKED,
    AUDIT_DAMAGED,
    AUDIT_KINDS
};

/* A fault: the vault breaks a rule of docs/evidence.md. */
struct audit_wrong {
    enum audit_kind kind; /* kind of the fault; AUDIT_NOTHING: no fault */
    /* name of the record: "message 7", "event 3", "session", "end", "leaf 12", "checkpoint 5"; "":
     * the fault does not concern one known record */
    char record[48];
    char text[200]; /* a clause about the record or the session, without any text from the vault */
};

/* The facts that determine the status of a session. */
struct audit_facts {
    bool covered;  /* the session must have evidence: session_audit_has_evidence() */
    bool pruned;   /* the log says that the session was removed */
    bool tampered; /* a fault was found */
    bool sealed;   /* the log has a seal of the session */
    bool killed;   /* the session's end_reason is `killed` */
    bool runs;     /* the session's proxy still runs */
    bool redacted; /* the log has a redaction of the session */
    bool anchored; /* the session's last seal is among the leaves that an anchor has signed */
};

enum audit_status audit_decide_status(const struct audit_facts *f);
/* Returns the name that docs/evidence.md uses: "valid", "not covered", … */
const char *audit_status_name(enum audit_status s);
/* Whether `audit verify` fails because of this status. */
bool audit_status_is_failure(enum audit_status s);
/* Returns the name for people: "changed", "rolled back", … */
const char *audit_kind_name(enum audit_kind k);
/* Returns a sentence that says what a fault of this kind implies. */
const char *audit_explain_fault_kind(enum audit_kind k);

#endif
