/* proxied.h - the command line that starts a server behind `mcp-interposer proxy`, so that what is sent to it is recorded as
 * a session like any other.
 *
 * Owns      the words; proxied_close() frees them.
 * Blocks    never. */
#ifndef MI_CLI_FRAME_PROXIED_H
#define MI_CLI_FRAME_PROXIED_H

#include "cli/settings/config.h"

struct proxied {
    char **argv; /* ended by NULL */
    size_t n, cap;
};

/* With the vault, the configuration file and, if the command has that option, the directory of journals of the settings.
 * options: further ones for proxy, in pairs of a name and a value, ended by NULL; a pair with the value NULL is left out, and one with "" is a flag.
 * EXIT_FINE, or EXIT_TROUBLE after a message on stderr. */
MI_MUST int proxied_open(struct proxied *p, const struct settings *s, const char *const options[],
                         char *const *server);
/* Safe after a failed proxied_open(), and for a zeroed one. */
void proxied_close(struct proxied *p);

#endif
