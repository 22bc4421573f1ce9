/* sql.h - the SQL of a router, as text (router.sql, catalogue.sql). */
#ifndef MI_SHIP_SHARDS_SQL_H
#define MI_SHIP_SHARDS_SQL_H

#include <stddef.h>

extern const char router_sql[];
extern const size_t router_sql_n;
extern const char catalogue_sql[];
extern const size_t catalogue_sql_n;

#endif
