/* outcome.h - the output of `audit verify`: a table with details and a summary, or JSON lines; and
 * a report case for each session and for the log.
 *
 * Owns      its table, its lists and buffers; outcome_close() frees them.
 * Errors    sticky: outcome_print() returns EXIT_TROUBLE after a message on stderr.
 * Blocks    outcome_print(), on stdout and the files of the report. */
#ifndef MI_CLI_AUDIT_OUTCOME_H
#define MI_CLI_AUDIT_OUTCOME_H

#include "cli/frame/reporting.h"
#include "cli/frame/table.h"
#include "vault/audit/audit.h"

struct outcome {
    struct reporting reporting;
    struct table table;
    struct buf details;         /* owned */
    size_t shown;               /* number of details; only the first DETAILS_MAX are added */
    uint64_t n[AUDIT_STATUSES]; /* number of sessions, by status */
    uint64_t wrong, tests;      /* wrong: number of faults of the log; tests: of sessions */
};

/* Returns the status of reporting_open(). */
MI_MUST int outcome_open(struct outcome *r, const struct settings *s);
void outcome_close(struct outcome *r);
void outcome_add_session(struct outcome *r, const struct audit_session *s);
/* Adds a fault of the vault's log. */
void outcome_add_fault(struct outcome *r, const struct audit_wrong *w);
/* Returns EXIT_FINE, EXIT_FOUND or EXIT_TROUBLE. */
MI_MUST int outcome_print(struct outcome *r, const struct audit_vault *v);

#endif
