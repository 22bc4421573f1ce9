/* router.h - makes or upgrades a central store that is spread over several databases: the shards,
 * and the router in front of them, a database with PL/Proxy that has the same functions
 * (router.sql).
 *
 * Rules     router_make_central_store() can be run again at any time, also after a failure. A shard
 *           keeps its number: a shard cannot be removed or replaced, and new shards are added at
 *           the end. Each device and reader that one of the databases has is added to all the
 *           others. A lost router can be made again: the new router learns from the shards which
 *           vaults they have.
 * Owns      nothing; it borrows the plan.
 * Errors    MI_EINVAL: a URL is invalid; MI_EIO: an error of a database; `error` says which one,
 *           and why. MI_ENOMEM.
 * Blocks    as in ship/postgres/connection.h. */
#ifndef MI_SHIP_SHARDS_ROUTER_H
#define MI_SHIP_SHARDS_ROUTER_H

#include "ship/shards/shard_list.h"

struct router_plan {
    const struct shard_list *shards;
    const char *file;   /* name of the file that lists the shards, for messages */
    const char *url;    /* URL of the router's database */
    const char *device; /* name of a device to be added; NULL: none */
};

/* Makes or upgrades the router and the schemas of the shards. */
MI_MUST int router_make_central_store(const struct router_plan *p, struct buf *error);
/* Appends the SQL of the router, as one transaction. Reads the shards, which must have their
 * schema, but does not change them. */
MI_MUST int router_print(const struct router_plan *p, struct buf *ret, struct buf *error);

#endif
