/* verify_output.h - the output of `audit verify`: a table with details and a summary, or JSON
 * lines; and a report case for each session and for the log.
 *
 * Owns      its table, its lists and buffers; verify_output_close() frees them.
 * Errors    sticky: verify_output_print_all() returns EXIT_TROUBLE after a message on stderr.
 * Blocks    verify_output_print_all(), on stdout and the files of the report. */
#ifndef MI_CLI_AUDIT_VERIFY_OUTPUT_H
#define MI_CLI_AUDIT_VERIFY_OUTPUT_H

#include "cli/frame/reporting.h"
#include "cli/frame/table.h"
#include "vault/audit/audit.h"

struct verify_output {
    struct reporting reporting;
    struct table table;
    struct buf details; /* owned */
    size_t shown; /* number of details; only the first DETAILS_MAX of them are added to `details` */
    uint64_t n[AUDIT_STATUSES]; /* number of sessions, by status */
    uint64_t wrong, tests;      /* wrong: number of faults of the log; tests: number of sessions */
};

/* Returns the status of reporting_open(). */
MI_MUST int verify_output_open(struct verify_output *r, const struct settings *s);
void verify_output_close(struct verify_output *r);
void verify_output_add_session(struct verify_output *r, const struct audit_session *s);
/* Adds a fault of the vault's log. */
void verify_output_add_fault(struct verify_output *r, const struct audit_wrong *w);
/* Returns EXIT_FINE, EXIT_FOUND or EXIT_TROUBLE. */
MI_MUST int verify_output_print_all(struct verify_output *r, const struct audit_vault *v);

#endif
