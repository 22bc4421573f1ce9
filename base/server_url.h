/* server_url.h - finds the URL that a server's command connects to, in the words of the command.
 *
 * The parts of the URL in `npx -y mcp-remote https://me@example.com/mcp?key=x` are https://,
 * example.com and /mcp. The first argument that is a URL with http or https is taken for the URL of
 * an MCP server, unless it follows an option and may be the value of this option.
 *
 * Owns      nothing; the parts are in the word.
 * Errors    none: other words are ignored.
 * Blocks    never. Pure. */
#ifndef MI_BASE_SERVER_URL_H
#define MI_BASE_SERVER_URL_H

#include "base/base.h"

struct server_url {
    struct slice scheme; /* scheme with "://" */
    struct slice host;   /* host and port, without the user */
    struct slice path;   /* path without query and fragment */
};

/* State of a search. Initialize it with {0}. */
struct server_url_search {
    bool began;        /* the first word, which is the program, was read */
    bool after_option; /* the previous word was an option */
};

/* Takes the next word of a command. Returns true if the word is the URL. */
bool server_url_find_in_word(struct server_url_search *s, struct slice word,
                             struct server_url *ret);

#endif
