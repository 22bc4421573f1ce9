/* checks.h - the results of `doctor`: each check calls doctor_fine(), or doctor_found() with the remedy.
 *
 * Owns      nothing: cli/doctor/command.c opens and closes the output.
 * Errors    a file or database that cannot be read is a finding.
 * Blocks    on output. */
#ifndef MI_CLI_DOCTOR_CHECKS_H
#define MI_CLI_DOCTOR_CHECKS_H

#include "cli/frame/out.h"
#include "cli/settings/config.h"

struct doctor {
    const char *vault; /* absolute if it exists */
    bool json;
    struct out out;
    int64_t found; /* findings so far */
};

/* check: a word such as "permissions". The text is a sentence. */
void doctor_fine(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
void doctor_found(struct doctor *d, const char *check, const char *remedy, const char *fmt, ...)
    MI_FORMAT(4, 5);

#endif
