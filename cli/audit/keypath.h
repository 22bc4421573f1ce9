/* keypath.h - the option --audit-key of the verbs that need the private key.
 *
 * Owns      the path belongs to the caller.
 * Blocks    like the functions of paths.h. */
#ifndef MI_CLI_AUDIT_KEYPATH_H
#define MI_CLI_AUDIT_KEYPATH_H

#include "cli/settings/config.h"

#define AUDIT_OPT_KEY                                                                              \
    {                                                                                              \
        0, "audit-key", "FILE", NULL, "file of the private key (see: mcp-interposer help)"         \
    }

/* Returns the path of the key file; NULL, after a message on stderr, if memory is short or there is
 * no home directory. */
char *audit_key_path(const struct settings *s);

#endif
