/* schema.h - the SQL schema of the vault's database. It is an interface: docs/vault.md describes it.
 *
 * Version   PRAGMA user_version. A new database is made, an old one upgraded, in one transaction.
 * Owns      nothing; the connection is the caller's.
 * Blocks    on the database, as long as its busy handler waits. */
#ifndef MI_VAULT_SCHEMA_H
#define MI_VAULT_SCHEMA_H

#include "base/base.h"

#include <sqlite3.h>

#define SCHEMA_VERSION 2
#define SCHEMA_RUNNING 2 /* the first with the table `running` */
/* messages.id = session_id * 2^SCHEMA_SEQ_BITS + seq: the primary key serves look-ups by session, and
 * the writer pays for no other index. */
#define SCHEMA_SEQ_BITS 36
#define SCHEMA_SEQ_MAX (((int64_t)1 << SCHEMA_SEQ_BITS) - 1)

static inline int64_t schema_message_id(int64_t session_id, uint64_t seq)
{
    return (int64_t)((uint64_t)session_id << SCHEMA_SEQ_BITS) + (int64_t)seq;
}

/* 0, MI_ESTORE (sqlite3_errmsg() says why) or MI_EINVAL: a newer program made this database. */
MI_MUST int schema_ready(sqlite3 *db);

#endif
