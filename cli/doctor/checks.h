/* checks.h - the checks of `doctor`, and their results. Each check calls doctor_report_passed(),
 * doctor_report_note() or, with a remedy, doctor_report_fault(). The file of a check says what it
 * reads and how far back it looks.
 *
 * Text      problems and notes are printed at once. Checks that found no problem are counted and,
 *           with --verbose, listed at the end.
 * Owns      that list; cli/doctor/command.c opens and closes the output.
 * Errors    a file or a database that cannot be read is reported as a problem.
 * Blocks    on output; a check, on the vault and on other files. */
#ifndef MI_CLI_DOCTOR_CHECKS_H
#define MI_CLI_DOCTOR_CHECKS_H

#include "cli/frame/reporting.h"

struct rules; /* deadline_rules.h */

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
void doctor_report_passed(struct doctor *d, const char *check, const char *fmt, ...)
    MI_FORMAT(3, 4);
/* Reports a note of a check: the check found no problem, but the user should read the note. */
void doctor_report_note(struct doctor *d, const char *check, const char *fmt, ...) MI_FORMAT(3, 4);
/* Reports a problem, and what the user should do. */
void doctor_report_fault(struct doctor *d, const char *check, const char *remedy, const char *fmt,
                         ...) MI_FORMAT(4, 5);
/* Prints the checks that found no problem, or only their number. */
void doctor_print_passed_checks(struct doctor *d);

/* ---- files.c ---- */

/* Checks the owner and mode of each file, whether the vault can be written, the free disk space,
 * and whether there are damaged databases. */
void doctor_check_files(struct doctor *d);
/* Reports escalations that were written within the last day. */
void doctor_check_escalations(struct doctor *d);

/* ---- recorders.c ---- */

/* Checks the directory of the journals, and the recorder process of each running session. Waits
 * for a recorder that has something to store, or that has not started. */
void doctor_check_recorders(struct doctor *d);
/* Checks only the journals that killed sessions have left. This is for a vault that does not
 * exist. */
void doctor_check_journals(struct doctor *d);

/* ---- the other checks: one function in each file ---- */

/* failing.c: reports servers whose newest sessions failed. */
void doctor_check_failing_servers(struct doctor *d);
/* hidden.c: reports tools that a client called although a rule hides them from it. */
void doctor_check_hidden_tools(struct doctor *d);
/* seals.c: reports sessions that are not sealed and not running. */
void doctor_check_seals(struct doctor *d);
/* signing.c: checks the key that signs checkpoints, and whether all sessions that have ended are
 * signed and anchored. */
void doctor_check_signing(struct doctor *d, const struct settings *s, bool has_vault);
/* slow.c: reports tools whose calls came close to their deadline. */
void doctor_check_slow_tools(struct doctor *d, const struct rules *rules);
/* wrapped.c: reports wrapped servers whose programs do not exist or whose options are invalid, and
 * names the servers of plugins. Adds the deadlines of wrapped servers to `rules`. */
void doctor_check_wrapped_servers(struct doctor *d, struct rules *rules);

/* ---- repair.c ---- */

/* `doctor --repair`: imports what can be read from damaged databases. */
void doctor_repair(struct doctor *d);

#endif
