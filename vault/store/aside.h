/* aside.h - puts a damaged database aside, so that a new one can be made.
 *
 * Rules     interposer.db is renamed to interposer.db.damaged-YYYYMMDDTHHMMSSZ, with its -wal and -shm. No file is
 *           overwritten or changed. A process that still has it open goes on with the renamed files, and notices
 *           (writer_vanished()).
 *           It is checked first (PRAGMA quick_check), so that an error of the moment is not taken for damage. The
 *           directory is locked (flock) meanwhile: of several processes one renames it, and the others find a sound one.
 * Owns      nothing.
 * Blocks    on the disk: seconds per gigabyte of a database that can be read in part. */
#ifndef MI_VAULT_STORE_ASIDE_H
#define MI_VAULT_STORE_ASIDE_H

#include "vault/store/dir.h"

#define ASIDE_PREFIX VAULT_DB ".damaged-"
#define ASIDE_NAME_MAX 64

/* Whether SQLite's result code says that the database is damaged, as far as one statement can tell. */
bool aside_is_damage(int code);
/* 0: *ret_name is the new name, and `why` has SQLite's words; MI_ENOENT: the database is sound, or cannot be checked now;
 * MI_EIO: it could not be renamed (errno); MI_ENOMEM. */
MI_MUST int aside_put(const struct vault_dir *dir, char ret_name[ASIDE_NAME_MAX], struct buf *why);
/* Calls for the name of each database that was put aside and is still there, in any order. */
void aside_each(int dir, void (*call)(void *ctx, const char *name), void *ctx);
/* How many databases were put aside and are still there. ret_newest: the name of the newest; NULL is allowed. */
size_t aside_count(int dir, char ret_newest[ASIDE_NAME_MAX]);

#endif
