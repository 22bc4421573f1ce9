/* findings.h - findings that were added to messages later, by events (docs/evidence.md, "Record").
 *
 * Owns      its arrays; findings_close() frees them.
 * Errors    MI_ENOMEM.
 * Blocks    never. */
#ifndef MI_VAULT_AUDIT_FINDINGS_H
#define MI_VAULT_AUDIT_FINDINGS_H

#include "base/buf.h"

struct finding_added {
    int64_t seq;   /* seq of the message that got the finding */
    size_t order;  /* index of the event among the session's events that add findings */
    int64_t place; /* number of records of the session before the event */
    size_t at, n;  /* names of the findings: a range of findings_added.names */
    bool met;      /* true: the message that got the finding was read */
};

struct findings_added {
    struct finding_added *list; /* owned */
    size_t n, cap;
    struct buf names; /* owned */
};

/* Adds the detail of an event `finding-added`. 0, MI_EINVAL (the detail does not say which finding
 * was added) or MI_ENOMEM. */
MI_MUST int findings_add_from_event_detail(struct findings_added *f, int64_t place,
                                           struct slice detail);
/* Call this function after the last findings_add_from_event_detail() and before
 * findings_remove_added_names(). */
void findings_sort(struct findings_added *f);
/* Removes the names that events added to the finding of message `seq` from *finding. Returns false
 * if the finding does not end with these names. */
MI_MUST bool findings_remove_added_names(struct findings_added *f, int64_t seq,
                                         struct slice *finding);
/* Returns an added finding whose message was not read; NULL if there is none. */
const struct finding_added *findings_find_one_without_message(const struct findings_added *f);
void findings_close(struct findings_added *f); /* the argument may be {0}; may be called twice */

#endif
