/* columns.h - the fields of records (model/records.h) as columns of a statement.
 *
 * Names with @ in the text of a statement stand for columns. If a name stands for several columns,
 * their text begins with a comma:
 *
 *   @session, @message, @event     all fields of the tables s, m and e (of m and e without the key)
 *   @session_record, @message_record, @event_record, @end_record
 *                                  the fields that evidence covers, in its order, without the body
 *                                  (commitment.h)
 *   @number                        of a session: its number in its vault
 *   @evidence                      of a session: 0 no evidence, 1 evidence, 2 sealed
 *   @sent                          of a session: whether `send`, or `R` of `ui`, made it
 *   @revision                      of a message
 *
 * A column that the database does not have is NULL.
 *
 * Owns      nothing.
 * Blocks    never. */
#ifndef MI_VAULT_STORE_COLUMNS_H
#define MI_VAULT_STORE_COLUMNS_H

#include "base/buf.h"
#include "model/records.h"

#include <sqlite3.h>

/* SQL type of a column for each type of field. */
#define COLUMN_TYPE(type) FIELD_EITHER(FIELD_NUMBER_##type, " INTEGER", " TEXT")

/* Appends the statement `sql`, with each name that begins with @ replaced by the columns that it
 * stands for. version: version of the schema; store: the tables are those of a store
 * (vault/remote/remote.h). */
void columns_expand_statement(const char *sql, int64_t version, bool store, struct buf *ret);
/* Prepares a statement for the current version of the schema. Returns NULL after an error; see
 * failure_text(). */
sqlite3_stmt *columns_prepare_statement(sqlite3 *db, const char *sql);

#endif
