/* checks.h - the results of `doctor`. Each check calls doctor_report_fine(), doctor_report_note(), or
 * doctor_report_fault(), which also takes the remedy.
 *
 * Text      problems and notes are printed at once. What is fine is counted and, with --verbose,
 *           listed at the end.
 * Owns      the list of what is fine; cli/doctor/command.c opens and closes the output.
 * Errors    if a file or a database cannot be read, that is a finding.
 * Blocks    on output. */
#ifndef MI_CLI_DOCTOR_CHECKS_H
#define MI_CLI_DOCTOR_CHECKS_H

#include "cli/frame/reporting.h"

struct doctor {
    const char *vault; /* an absolute path if the vault exists */
    bool verbose;      /* also list the checks that found no problem */
    struct reporting reporting;
    /* owned; for each result that is fine, the name of its check and its text, both ended by a
     * NUL */
    struct buf fine;
    int64_t found, fine_n;
};

/* Reports that a check found no problem. check: a word such as "permissions". The text is a
 * sentence. */
void doctor_report_fine(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
/* Reports that a check found no problem, but something that the user should read. */
void doctor_report_note(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
void doctor_report_fault(struct doctor *d, const char *check, const char *remedy, const char *fmt,
                         ...) MI_FORMAT(4, 5);
/* Prints the results that are fine, or only their number. */
void doctor_end(struct doctor *d);

#endif
