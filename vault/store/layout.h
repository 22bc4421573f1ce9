/* layout.h - compares the schema of a database with the one that this program makes.
 *
 * Why       whoever can write the file can add an index whose entries are not those of the table, or put a view in the
 *           place of a table: SQLite then answers one statement from the forged part and another from the genuine one.
 * What      names, columns, types, keys, indexes, the words of tables, and the text of views (docs/evidence.md, "The
 *           database"). Of vaults of a version without evidence only what misleads.
 * Owns      nothing; the connection is the caller's. Arguments of a callback are borrowed for the call.
 * Errors    MI_ESTORE (see failure_text()).
 * Blocks    on the database; less than 1 ms. */
#ifndef MI_VAULT_STORE_LAYOUT_H
#define MI_VAULT_STORE_LAYOUT_H

#include "base/buf.h"

#include <sqlite3.h>

enum layout_kind { LAYOUT_ADDED, LAYOUT_REMOVED, LAYOUT_CHANGED };

struct layout_fault {
    enum layout_kind kind;
    const char *type;   /* "table", "index", "view", "trigger", "object" */
    struct slice name;  /* from the file: any bytes */
    struct slice table; /* of an index: from the file as well; of others: the name */
    bool deceives;      /* a table of this program, or an index of one */
    bool misleads; /* by what it is, its key or an index: what is read need not be what is stored */
};

typedef void (*layout_fn)(void *ctx, const struct layout_fault *f);

MI_MUST int layout_compare(sqlite3 *db, layout_fn fn, void *ctx);
/* For readers: MI_EINVAL if something misleads, with a clause in `error`. */
MI_MUST int layout_check(sqlite3 *db, struct buf *error);
/* "table messages": the name only if it has only letters, digits and '_'. */
void layout_name(const struct layout_fault *f, struct buf *b);

#endif
