/* schema.h - the SQL schema of the vault's database. It is an interface: docs/vault.md describes
 * it.
 *
 * Version   PRAGMA user_version. A new database is created or an old one upgraded in one
 *           transaction.
 * Additions tables that older programs can ignore, and views that were extended. They do not change
 *           the version, so that older programs continue to use the vault. schema_make_ready()
 *           creates missing additions. A reader that has not called it must check with
 *           schema_has_table() whether an addition exists.
 * Owns      nothing; the connection is the caller's.
 * Blocks    on the database, as long as its busy handler waits. */
#ifndef MI_VAULT_STORE_SCHEMA_H
#define MI_VAULT_STORE_SCHEMA_H

#include "base/base.h"

#include <sqlite3.h>

#define SCHEMA_VERSION 5
#define SCHEMA_RUNNING 2  /* first schema version with the table `running` */
#define SCHEMA_EVIDENCE 3 /* first schema version with evidence (docs/evidence.md) */
#define SCHEMA_CALLS 4    /* first schema version with the table `calls` */
/* First schema version with calls.result_binaries and calls.result_binary_size. */
#define SCHEMA_BINARIES 5
/* For each schema version N that added fields (model/records.h): SCHEMA_FIRST_N is 1 if the columns
 * of these fields precede the columns of evidence; SCHEMA_LAST_N is 1 if they follow. */
#define SCHEMA_FIRST_1 1
#define SCHEMA_FIRST_2 1
#define SCHEMA_FIRST_4 0
#define SCHEMA_LAST_1 0
#define SCHEMA_LAST_2 0
#define SCHEMA_LAST_4 1
/* Version 4 and version 5 of the schema have a table `calls`. For each version N that added fields
 * of `calls`: SCHEMA_OLD_N is 1 if version 4 has the columns of these fields already; SCHEMA_NEW_N
 * is 1 if only version 5 has the columns. */
#define SCHEMA_OLD_4 1
#define SCHEMA_OLD_5 0
#define SCHEMA_NEW_4 0
#define SCHEMA_NEW_5 1
/* A message's id is session_id * 2^SCHEMA_SEQ_BITS + seq. So the primary key finds the messages of
 * a session, and no other index is needed. */
#define SCHEMA_SEQ_BITS 36
#define SCHEMA_SEQ_MAX (((int64_t)1 << SCHEMA_SEQ_BITS) - 1)
#define SCHEMA_SESSION_MAX (INT64_MAX >> SCHEMA_SEQ_BITS)

static inline int64_t schema_message_id(int64_t session_id, uint64_t seq)
{
    return (int64_t)((uint64_t)session_id << SCHEMA_SEQ_BITS) + (int64_t)seq;
}

/* SQL statements that make the tables `calls` and `operations`. */
#define SCHEMA_CALLS_NAME "CREATE TABLE calls "
extern const char schema_calls[];
#define SCHEMA_OPERATIONS_NAME "CREATE TABLE operations "
extern const char schema_operations[];

/* Creates or upgrades the schema. Returns 0, MI_ESTORE (see failure_text()) or MI_EINVAL: a newer
 * program made the database. */
MI_MUST int schema_make_ready(sqlite3 *db);
/* Reads the version of a database; 0 if it has no tables yet. Returns 0 or MI_ESTORE. */
MI_MUST int schema_version(sqlite3 *db, int64_t *ret);
/* *ret: whether the table exists. Returns 0 or MI_ESTORE. */
MI_MUST int schema_has_table(sqlite3 *db, const char *table, bool *ret);

#endif
