/* anchored.h - reads notes to compare a vault with: from files of --against, and from the anchors
 * of the configuration.
 *
 * Owns      nothing.
 * Blocks    on the file system only. */
#ifndef MI_CLI_AUDIT_ANCHORED_H
#define MI_CLI_AUDIT_ANCHORED_H

#include "cli/settings/config.h"
#include "vault/audit/audit.h"

/* Adds the notes of all --against and --anchor. An anchor may have notes of other vaults, and may
 * not exist before the first checkpoint was copied there. An incomplete note at the end is left
 * out, with a warning. Returns EXIT_FINE or, after a message on stderr, EXIT_USAGE (a file that
 * does not have notes) or EXIT_TROUBLE. */
MI_MUST int anchored_add(const struct settings *s, struct audit *a);

#endif
