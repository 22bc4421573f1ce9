/* recorded.h - adds candidates from the vault: sessions, and names of servers, clients, tools and
 * methods.
 *
 * Limits    only the newest sessions are read, and only the first requests of each session; reading
 *           ends after RECORDED_US.
 * Errors    are not reported: a vault that cannot be read has no candidates.
 * Blocks    on the vault, which it only reads. */
#ifndef MI_CLI_COMPLETE_RECORDED_H
#define MI_CLI_COMPLETE_RECORDED_H

#include "cli/complete/candidates.h"

#define RECORDED_US 300000

enum recorded {
    RECORDED_SESSION,
    RECORDED_SERVER,
    RECORDED_CLIENT,
    RECORDED_TOOL,
    RECORDED_METHOD
};

/* vault: the path of the directory of the vault. */
void recorded_add_candidates(struct candidates *c, enum recorded what, const char *vault);

#endif
