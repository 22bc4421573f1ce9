/* redact_file.h - what the rules in force find in a cassette, and writing it anew without that.
 *
 * Rules     the file is written whole or stays as it was; without a find it is not touched.
 * Errors    told on stderr.
 * Blocks    on the file. */
#ifndef MI_CLI_REDACT_FILE_H
#define MI_CLI_REDACT_FILE_H

#include "vault/scrub.h"

/* seq of a hit is the message's number in the file. EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int redact_file(const char *path, bool apply, scrub_fn fn, void *ctx);

#endif
