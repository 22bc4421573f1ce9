/* proxy_argv.h - makes the command line that starts a server behind `mcp-interposer proxy`, so that
 * requests of this program to the server are recorded as a session.
 *
 * Owns      the words; proxy_argv_close() frees them.
 * Blocks    never. */
#ifndef MI_CLI_FRAME_PROXY_ARGV_H
#define MI_CLI_FRAME_PROXY_ARGV_H

#include "cli/settings/config.h"

struct proxy_argv {
    char **argv; /* the words of the command line, ended by NULL */
    size_t n, cap;
};

/* Uses the vault, the configuration file and (if the command has that option) the journal directory
 * of the settings. options: further options for `proxy`, as pairs of name and value, ended by NULL.
 * A pair with the value NULL is left out; the value "" means a flag. Returns EXIT_FINE, or
 * EXIT_TROUBLE after a message on stderr. */
MI_MUST int proxy_argv_open(struct proxy_argv *p, const struct settings *s,
                            const char *const options[], char *const *server);
/* Safe after a failed proxy_argv_open(), and for a zeroed struct. */
void proxy_argv_close(struct proxy_argv *p);

#endif
