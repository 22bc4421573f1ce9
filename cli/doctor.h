/* doctor.h - what `doctor` looks at, one check after the other.
 *
 * Each check ends with doctor_fine() or with doctor_found(), which tells the remedy. Nothing is changed.
 *
 * Owns      nothing: cmd_doctor.c opens the output and closes it.
 * Errors    what cannot be looked at is a finding.
 * Blocks    on the disk, and on the whole database unless `--quick` is given. */
#ifndef MI_CLI_DOCTOR_H
#define MI_CLI_DOCTOR_H

#include "cli/config.h"
#include "cli/out.h"

struct doctor {
    const char *vault; /* absolute, as it was named */
    bool json;
    struct out out;
    int64_t found; /* findings so far */
};

/* check: a word such as "permissions". */
void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
/* The remedy first: `what` is a sentence that may hold a path. */
void doctor_found(struct doctor *d, const char *check, const char *remedy, const char *fmt, ...)
    MI_FORMAT(4, 5);

/* doctor_files.c: owner and mode of what is in the vault; disk space. */
void doctor_files(struct doctor *d);
/* The same: what was written into Escalations within a day. */
void doctor_escalations(struct doctor *d);
/* doctor_wrapped.c: clients whose command is not there any more. */
void doctor_wrapped(struct doctor *d);

#endif
