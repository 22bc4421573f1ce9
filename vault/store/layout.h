/* layout.h - compares the schema of a database with the one that this program makes.
 *
 * Why       an attacker who can write the file can add an index whose entries differ from the
 *           table, or put a view in place of a table. SQLite then answers one statement from the
 *           forged part and another from the genuine one.
 * What      the names, columns, types, keys and indexes, the words in the SQL of tables, and the
 *           SQL of views (docs/evidence.md, "The database"). In vaults of a version without
 *           evidence, only faults that set `misleads` are searched.
 * Owns      nothing; the connection is the caller's. Arguments of a callback are borrowed for the
 *           call.
 * Errors    MI_ESTORE (see failure_text()).
 * Blocks    on the database; less than 1 ms. */
#ifndef MI_VAULT_STORE_LAYOUT_H
#define MI_VAULT_STORE_LAYOUT_H

#include "base/buf.h"

#include <sqlite3.h>

enum layout_kind { LAYOUT_ADDED, LAYOUT_REMOVED, LAYOUT_CHANGED };

struct layout_fault {
    enum layout_kind kind;
    const char *type;  /* type of the object: "table", "index", "view", "trigger" or "object" */
    struct slice name; /* name of the object; read from the file, so it may contain any bytes */
    /* name of the table to which an index belongs, read from the file; for another object, its own
     * name */
    struct slice table;
    /* true: the object is a table of this program, or an index of such a table */
    bool deceives;
    /* true: the kind, the key or an index of the table can cause wrong results of queries */
    bool misleads;
};

typedef void (*layout_fn)(void *ctx, const struct layout_fault *f);

MI_MUST int layout_compare_objects(sqlite3 *db, layout_fn fn, void *ctx);
/* Checks the database for a reader. Returns MI_EINVAL, with a clause in `error`, if an object can
 * make queries return wrong results; otherwise 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int layout_find_misleading_table(sqlite3 *db, struct buf *error);
/* Appends the type and the name of the object, as in "table messages". A long name, or a name with
 * other characters than letters, digits and '_', is left out. */
void layout_append_object_name(const struct layout_fault *f, struct buf *b);

#endif
