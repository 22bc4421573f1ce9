/* address.h - a URL as the connection string by which a router reaches a shard.
 *
 * Rules     those of link.h. The role and a password are left out: the router adds the role of the device or reader.
 * Blocks    never. */
#ifndef MI_SHIP_POSTGRES_ADDRESS_H
#define MI_SHIP_POSTGRES_ADDRESS_H

#include "base/buf.h"

/* Options of a connection, and their values if the URL does not have them. */
#define ADDRESS_DEFAULTS 5
extern const char *const address_defaults[ADDRESS_DEFAULTS][2];

/* Appends it to `ret`. MI_EINVAL: the reason is in `error`. MI_ENOMEM. */
MI_MUST int address_write(const char *url, struct buf *ret, struct buf *error);

#endif
