/* rules.h - the deadlines that the proxies of wrapped servers have.
 *
 * The options of a wrapped server are in the file of its client; the configuration file adds its own. A server that is
 * in no such file has the deadlines of the configuration file.
 *
 * Owns      the rules; rules_close() frees them.
 * Blocks    on the configuration file. */
#ifndef MI_CLI_DOCTOR_RULES_H
#define MI_CLI_DOCTOR_RULES_H

#include "cli/frame/server_name.h"
#include "cli/settings/config.h"
#include "proxy/session/deadline.h"

struct rules_server {
    char name[SERVER_NAME_MAX]; /* in records */
    struct deadlines deadlines;
    int64_t max_us; /* of --max-timeout; 0: none */
};

struct rules {
    const struct settings *settings; /* borrowed; of doctor */
    struct rules_server others;      /* of servers in no client's file */
    struct rules_server *server;     /* owned; wrapped ones */
    size_t n, cap;
};

/* Reads the configuration file; the defaults if it is invalid. 0 or MI_ENOMEM; rules_close() in any case. */
MI_MUST int rules_open(struct rules *r, const struct settings *s);
void rules_close(struct rules *r);
/* Adds a wrapped server; argv begins with the name of the command. 0, MI_ENOMEM, or MI_EINVAL: the proxy
 * would end with this error. */
MI_MUST int rules_add(struct rules *r, int argc, char **argv, struct buf *error);
/* The shortest deadline of calls of this tool; 0: none. */
int64_t rules_deadline(const struct rules *r, struct slice server, struct slice tool);

#endif
