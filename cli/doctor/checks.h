/* checks.h - the results of `doctor`. Each check calls doctor_report_fine(), doctor_report_note()
 * or, with a remedy, doctor_report_fault().
 *
 * Text      problems and notes are printed at once. Checks that found no problem are counted and,
 *           with --verbose, listed at the end.
 * Owns      that list; cli/doctor/command.c opens and closes the output.
 * Errors    a file or a database that cannot be read is reported as a problem.
 * Blocks    on output. */
#ifndef MI_CLI_DOCTOR_CHECKS_H
#define MI_CLI_DOCTOR_CHECKS_H

#include "cli/frame/reporting.h"

struct doctor {
    const char *vault; /* an absolute path if the vault exists */
    bool verbose;      /* checks that found no problem are listed as well */
    struct reporting reporting;
    /* owned; for each check that found no problem, its name and its text, each ended by a NUL */
    struct buf fine;
    /* number of problems found, and number of checks that found no problem */
    int64_t found, fine_n;
};

/* Reports that a check found no problem. check: a word such as "permissions". The text is a
 * sentence. */
void doctor_report_fine(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
/* Reports that a check found no problem, but something that the user should read. */
void doctor_report_note(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
/* Reports a problem, and what the user should do. */
void doctor_report_fault(struct doctor *d, const char *check, const char *remedy, const char *fmt,
                         ...) MI_FORMAT(4, 5);
/* Prints the checks that found no problem, or only their number. */
void doctor_print_fine(struct doctor *d);

#endif
