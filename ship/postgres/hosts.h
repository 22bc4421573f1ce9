/* hosts.h - the hosts of a connection and their addresses, one at a time.
 *
 * libpq goes from one to the next itself, but when its caller does not block, then only after an error: one that does not
 * answer would be waited for until the end.
 *
 * Owns      a copy of the options, and the addresses.
 * Errors    MI_ENOMEM.
 * Blocks    while names are looked up. */
#ifndef MI_SHIP_POSTGRES_HOSTS_H
#define MI_SHIP_POSTGRES_HOSTS_H

#include "base/buf.h"

#include <libpq-fe.h>

#define HOSTS_OPTIONS 64 /* libpq has some 40 */
#define HOSTS_MAX 64     /* addresses; further ones are not used */

struct host {
    size_t name, address, port; /* places of texts; the text is empty: the default, or a socket */
};

struct hosts {
    struct host list[HOSTS_MAX];
    int n;              /* at least 1 */
    int64_t timeout_us; /* of each: connect_timeout */
    struct buf text;    /* owned */
    /* owned; with the values of the service file, the environment and the defaults */
    PQconninfoOption *all;
};

/* c: was begun with the options; it may have failed. Safe to close after an error. */
MI_MUST int hosts_open(struct hosts *h, PGconn *c);
void hosts_close(struct hosts *h);
/* Begins to connect to the i-th. NULL: no memory. Owned by the caller. */
PGconn *hosts_start(const struct hosts *h, int i);

#endif
