/* deadline_rules.h - the deadlines that the proxies of wrapped servers have.
 *
 * The deadlines of a wrapped server are options of its command in the client's file, or of the
 * configuration file. A server that no file of a client names has the deadlines of the
 * configuration file.
 *
 * Owns      the rules; rules_close() frees them.
 * Blocks    on the configuration file. */
#ifndef MI_CLI_DOCTOR_DEADLINE_RULES_H
#define MI_CLI_DOCTOR_DEADLINE_RULES_H

#include "cli/frame/server_name.h"
#include "cli/settings/config.h"
#include "proxy/session/deadline.h"

struct rules_server {
    char name[SERVER_NAME_MAX]; /* the name of the server in recordings */
    struct deadlines deadlines;
    int64_t max_us; /* value of --max-timeout; 0: there is no maximum */
};

struct rules {
    const struct settings *settings; /* borrowed; the settings of `doctor` */
    struct rules_server others;      /* rules for servers that no file of a client names */
    struct rules_server *server;     /* owned; the wrapped servers */
    size_t n, cap;
};

/* Reads the configuration file. If the file is invalid, uses the defaults. Returns 0 or MI_ENOMEM;
 * call rules_close() in both cases. */
MI_MUST int rules_open(struct rules *r, const struct settings *s);
void rules_close(struct rules *r);
/* Adds a wrapped server. argv begins with the name of the command. Returns 0 or MI_ENOMEM. Returns
 * MI_EINVAL if a proxy with this argv would end with an error; `error` then holds that error. */
MI_MUST int rules_add_server(struct rules *r, int argc, char **argv, struct buf *error);
/* Returns the shortest deadline that calls of the tool have, in microseconds; 0: none. */
int64_t rules_find_deadline(const struct rules *r, struct slice server, struct slice tool);

#endif
