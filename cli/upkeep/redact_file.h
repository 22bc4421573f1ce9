/* redact_file.h - finds secrets in a cassette with the present rules, and removes them.
 *
 * Rules     the file is replaced completely or stays unchanged. If nothing is found, it is not
 *           written.
 * Errors    are logged.
 * Blocks    on the file. */
#ifndef MI_CLI_UPKEEP_REDACT_FILE_H
#define MI_CLI_UPKEEP_REDACT_FILE_H

#include "vault/upkeep/scrub/scrub_run.h"

/* `seq` of a hit is the number of the message in the file. Returns EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int redact_file(const char *path, bool apply, scrub_fn fn, void *ctx);

#endif
