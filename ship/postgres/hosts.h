/* hosts.h - the hosts of a connection, one at a time.
 *
 * libpq goes from one host to the next itself, but when its caller does not block, then only after an error: a host
 * that does not answer would be waited for until the end.
 *
 * Owns      a copy of the options.
 * Errors    MI_ENOMEM.
 * Blocks    while a name is looked up. */
#ifndef MI_SHIP_POSTGRES_HOSTS_H
#define MI_SHIP_POSTGRES_HOSTS_H

#include "base/base.h"

#include <libpq-fe.h>

#define HOSTS_OPTIONS 64 /* libpq has some 40 */

struct hosts {
    int n;              /* at least 1 */
    int64_t timeout_us; /* of each: connect_timeout */
    PQconninfoOption
        *all; /* owned; with the values of the service file, the environment and the defaults */
    const char *host, *address, *port; /* borrowed lists; NULL: none */
};

/* c: was begun with the options; it may have failed. Safe to close after an error. */
MI_MUST int hosts_open(struct hosts *h, PGconn *c);
void hosts_close(struct hosts *h);
/* Begins to connect to the i-th. NULL: no memory. Owned by the caller. */
PGconn *hosts_start(const struct hosts *h, int i);

#endif
