/* command.c - `mcp-interposer audit`: evidence that recordings were not changed. Each verb has its
 * own file. */
#include "cli/audit/commands.h"

/* Verbs in the order of the help. */
/* clang-format off */
static const struct command *const verbs[] = {
    &audit_key,
    &audit_checkpoint,
    &audit_prove,
    &audit_check,
    &audit_verify,
    NULL,
};
/* clang-format on */

const struct command command_audit = {
    .name = "audit",
    .summary = "evidence that recordings were not changed",
    .verbs = verbs,
};
