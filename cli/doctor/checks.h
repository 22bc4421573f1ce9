/* checks.h - the results of `doctor`: each check calls doctor_fine(), doctor_note(), or doctor_found() with the remedy.
 *
 * Text      problems and notes at once; what is fine is counted and, if asked for, listed at the end.
 * Owns      the list of what is fine; cli/doctor/command.c opens and closes the output.
 * Errors    a file or database that cannot be read is a finding.
 * Blocks    on output. */
#ifndef MI_CLI_DOCTOR_CHECKS_H
#define MI_CLI_DOCTOR_CHECKS_H

#include "cli/frame/reporting.h"

struct doctor {
    const char *vault; /* absolute if it exists */
    bool verbose;      /* list what is fine, too */
    struct reporting reporting;
    struct buf fine; /* owned; check and text of each, both with a NUL behind them */
    int64_t found, fine_n;
};

/* check: a word such as "permissions". The text is a sentence. */
void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
/* Fine, and worth reading all the same. */
void doctor_note(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
void doctor_found(struct doctor *d, const char *check, const char *remedy, const char *fmt, ...)
    MI_FORMAT(4, 5);
/* Prints the checks that are ok, or how many there are. */
void doctor_end(struct doctor *d);

#endif
