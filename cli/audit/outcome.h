/* outcome.h - what `audit verify` prints: a table with details and a summary, JSON lines, JUnit XML.
 *
 * Owns      its table, its lists and buffers; outcome_close() frees them.
 * Errors    sticky: outcome_print() returns EXIT_TROUBLE after a message on stderr.
 * Blocks    outcome_print(), on stdout and the file of JUnit. */
#ifndef MI_CLI_AUDIT_OUTCOME_H
#define MI_CLI_AUDIT_OUTCOME_H

#include "cli/frame/table.h"
#include "vault/audit/audit.h"

struct outcome {
    struct out out;
    struct table table;
    bool json;
    const char *junit;                  /* path; NULL: none */
    bool text;                          /* stdout has the text */
    struct buf details, cases, scratch; /* owned */
    size_t shown;                       /* details so far */
    uint64_t n[AUDIT_STATUSES], wrong, tests, failures;
};

void outcome_open(struct outcome *r, bool json, const char *junit);
void outcome_close(struct outcome *r);
void outcome_session(struct outcome *r, const struct audit_session *s);
void outcome_wrong(struct outcome *r, const struct audit_wrong *w); /* of the vault */
/* EXIT_FINE, EXIT_FOUND or EXIT_TROUBLE. */
MI_MUST int outcome_print(struct outcome *r, const struct audit_vault *v, double seconds);

#endif
