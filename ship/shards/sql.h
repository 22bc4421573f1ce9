/* sql.h - the SQL of a router and its shards, as text (router.sql, shard.sql, share.sql,
 * catalogue.sql). */
#ifndef MI_SHIP_SHARDS_SQL_H
#define MI_SHIP_SHARDS_SQL_H

#include <stddef.h>

extern const char router_sql[];
extern const size_t router_sql_n;
extern const char shard_sql[];
extern const size_t shard_sql_n;
extern const char share_sql[];
extern const size_t share_sql_n;
extern const char catalogue_sql[];
extern const size_t catalogue_sql_n;

#endif
