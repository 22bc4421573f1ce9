/* outcome.h - what `audit verify` prints: a table with details and a summary, or JSON lines; and a case for each session and
 * for the log.
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
    struct buf details; /* owned */
    size_t shown;       /* details so far */
    uint64_t n[AUDIT_STATUSES], wrong, tests;
};

MI_MUST int outcome_open(struct outcome *r, const struct settings *s); /* as reporting_open() */
void outcome_close(struct outcome *r);
void outcome_session(struct outcome *r, const struct audit_session *s);
void outcome_wrong(struct outcome *r, const struct audit_wrong *w); /* of the vault */
/* EXIT_FINE, EXIT_FOUND or EXIT_TROUBLE. */
MI_MUST int outcome_print(struct outcome *r, const struct audit_vault *v);

#endif
