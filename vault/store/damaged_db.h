/* damaged_db.h - renames a damaged database, so that a new one can be made.
 *
 * Rules     interposer.db is renamed to interposer.db.damaged-YYYYMMDDTHHMMSSZ, with its -wal and
 *           -shm. No file is overwritten or changed. A process that has the database open continues
 *           with the renamed files, until it calls writer_database_vanished(). The database is
 *           checked first (PRAGMA quick_check), so that a temporary error is not taken for damage.
 *           During check and renaming, the directory is locked (flock): if several processes try,
 *           one of them renames the database, and the others then find a sound database or none.
 * Owns      nothing.
 * Blocks    on the disk: seconds per gigabyte of a database that can be read in part. */
#ifndef MI_VAULT_STORE_DAMAGED_DB_H
#define MI_VAULT_STORE_DAMAGED_DB_H

#include "vault/store/dir.h"

#define DAMAGED_PREFIX VAULT_DB ".damaged-"
#define DAMAGED_NAME_MAX 64

/* Whether SQLite's result code says that the database is damaged. Other codes do not prove that it
 * is sound: a statement finds only the damage of the pages that it reads. */
bool damaged_db_is_damage_code(int code);
/* Checks the database, and renames it if it is damaged. Returns 0 (*ret_name is the new name, `why`
 * has SQLite's description of the damage), MI_ENOENT (the database is sound, or cannot be checked
 * now), MI_EIO (the directory cannot be opened, or renaming failed; see errno) or MI_ENOMEM. */
MI_MUST int damaged_db_move_aside(const struct vault_dir *dir, char ret_name[DAMAGED_NAME_MAX],
                                  struct buf *why);
/* Calls `call` with the name of each renamed database that still exists, in any order. */
void damaged_db_visit_all(int dir, void (*call)(void *ctx, const char *name), void *ctx);
/* Counts the renamed databases that still exist. ret_newest: the name of the newest; may be
 * NULL. */
size_t damaged_db_count(int dir, char ret_newest[DAMAGED_NAME_MAX]);

#endif
