/* table.h - the virtual tables of remote.h, as modules of SQLite (https://sqlite.org/vtab.html).
 *
 * Owns      nothing: SQLite owns tables and cursors.
 * Errors    SQLite's codes. */
#ifndef MI_VAULT_REMOTE_TABLE_H
#define MI_VAULT_REMOTE_TABLE_H

#include "vault/remote/store_pages.h"

/* The plan that plan_choose_index() makes for xFilter. idxNum: the flags; idxStr: two characters
 * for each argument, a column ('a' is the first) and an operator. */
enum {
    PLAN_BACKWARDS = 1,
    PLAN_BODIES = 2, /* plan flag: also read the bodies of messages */
    /* plan flag: read a first page of one row, because the statement probably needs only one row,
     * such as the first or last message, or the session next to another session */
    PLAN_ONE = 4
};
enum { PLAN_EQ = '=', PLAN_GT = '>', PLAN_GE = 'g', PLAN_LT = '<', PLAN_LE = 'l' };
int plan_choose_index(enum remote_table table, sqlite3_index_info *info);

/* Registers the tables with db. */
MI_MUST int remote_register_tables(sqlite3 *db, struct remote *r);

#endif
