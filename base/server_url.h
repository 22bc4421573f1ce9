/* server_url.h - the URL that a server's command connects to, found in its words.
 *
 * From `npx -y mcp-remote https://me@example.com/mcp?key=x` it takes https://, example.com and
 * /mcp. The first
 * argument that is a URL with http or https is used, unless it may be the value of an option, that
 * is, of the word before it. It is assumed to be the URL of an MCP server.
 *
 * Owns      nothing; the parts are in the word.
 * Errors    none: other words are ignored.
 * Blocks    never. Pure. */
#ifndef MI_BASE_SERVER_URL_H
#define MI_BASE_SERVER_URL_H

#include "base/base.h"

struct server_url {
    struct slice scheme; /* including "://" */
    struct slice host;   /* including the port, excluding the user */
    struct slice path;   /* excluding query and fragment */
};

/* Initialize with {0}. The first word that is taken is the program. */
struct server_url_search {
    bool began, after_option;
};

/* Takes the next word of a command. Returns true if the word is the URL. */
bool server_url_find_in_word(struct server_url_search *s, struct slice word,
                             struct server_url *ret);

#endif
