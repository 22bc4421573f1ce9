/* hosts.h - the hosts of a connection and their addresses, one at a time.
 *
 * libpq itself tries one host after the other, but for a non-blocking caller only after an error:
 * it would spend all the time on a host that does not answer.
 *
 * Owns      a copy of the options, and the addresses.
 * Errors    MI_ENOMEM.
 * Blocks    while names are looked up. */
#ifndef MI_SHIP_POSTGRES_HOSTS_H
#define MI_SHIP_POSTGRES_HOSTS_H

#include "base/buf.h"

#include <libpq-fe.h>

#define HOSTS_OPTIONS 64 /* maximum number of options; libpq has some 40 */
#define HOSTS_MAX 64     /* maximum number of addresses; further addresses are not used */

struct host {
    /* offsets in hosts.text of a host's name, address and port; an empty text: the default, or a
     * Unix socket */
    size_t name, address, port;
};

struct hosts {
    struct host list[HOSTS_MAX];
    int n;              /* number of addresses, at least 1 */
    int64_t timeout_us; /* time limit for each address, from connect_timeout */
    struct buf text;    /* owned */
    /* Owned; the options, with values of the service file, the environment and the defaults. */
    PQconninfoOption *all;
};

/* Reads the hosts of c, a connection that was begun with the options, and that may have failed.
 * After an error, hosts_close() must be called as well. */
MI_MUST int hosts_open(struct hosts *h, PGconn *c);
void hosts_close(struct hosts *h);
/* Begins to connect to the host with index i. The caller owns the connection. NULL: out of
 * memory. */
PGconn *hosts_start_connecting(const struct hosts *h, int i);

#endif
