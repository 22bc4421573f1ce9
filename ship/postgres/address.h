/* address.h - a URL as the connection string by which a router reaches a shard.
 *
 * Rules     as link.h: TLS is verified unless the URL says otherwise, and of several hosts the one that can be written is
 *           used. The role and a password are left out: the router adds the role of the device or reader.
 * Blocks    never. */
#ifndef MI_SHIP_POSTGRES_ADDRESS_H
#define MI_SHIP_POSTGRES_ADDRESS_H

#include "base/buf.h"

/* Appends it to `ret`. MI_EINVAL: the reason is in `error`. MI_ENOMEM. */
MI_MUST int address_write(const char *url, struct buf *ret, struct buf *error);

#endif
