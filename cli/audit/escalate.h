/* escalate.h - a file in Escalations/ of the vault, when its log is not signed because it was changed.
 *
 * Rules     none is written within an hour of the last one with this cause. Nothing is written to the database, which
 *           may be forged (docs/vault.md, "Escalations").
 * Errors    none: the caller has reported the problem on stderr.
 * Blocks    on the file system. */
#ifndef MI_CLI_AUDIT_ESCALATE_H
#define MI_CLI_AUDIT_ESCALATE_H

#include "base/base.h"

void escalate_evidence(const char *vault, const char *why);

#endif
