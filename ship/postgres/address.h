/* address.h - checks the URL of a store, and writes the connection string by which a router reaches
 * a shard.
 *
 * Rules     as in connection.h. The connection string has no role and no password: the router adds
 *           the role of the device or reader.
 * Blocks    never. */
#ifndef MI_SHIP_POSTGRES_ADDRESS_H
#define MI_SHIP_POSTGRES_ADDRESS_H

#include "base/buf.h"

/* Options of a connection, and the values that they have if the URL does not set them. */
#define ADDRESS_DEFAULTS 5
extern const char *const address_defaults[ADDRESS_DEFAULTS][2];

/* Whether the text looks like a URL or connection string of PostgreSQL. */
bool address_is_url(const char *url);
/* Whether a text may be used as a URL. MI_EINVAL: the reason is in `error`, without the URL. */
MI_MUST int address_check_url(const char *url, struct buf *error);
/* Appends the connection string to `ret`. MI_EINVAL: the reason is in `error`. MI_ENOMEM. */
MI_MUST int address_write_connection_string(const char *url, struct buf *ret, struct buf *error);

#endif
