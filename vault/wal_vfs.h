/* wal_vfs.h - a thin layer over SQLite's own VFS that writes a transaction's frames together.
 *
 * SQLite writes each page that goes into the write-ahead log with two pwrite(2) calls, 24 bytes of header
 * and the page. Here they gather, and leave in one call when the transaction's last page comes.
 *
 * Rules     the frame header's bytes 4 to 7 are zero except in the last frame of a transaction (SQLite,
 *           "Database File Format", 4.1). So everything gathered is written before the write of that
 *           frame's page returns, and an error is that write's error: SQLite never makes a commit known
 *           whose frames are not in the file. A read, sync, truncation or any other write to the file
 *           writes what has gathered first.
 *           A transaction that is given up must not have gathered anything, for it would be written where
 *           another process's frames may stand by then: needs PRAGMA cache_spill = OFF, so that frames
 *           come with the commit alone.
 * Owns      for each open log a buffer of WAL_VFS_BUFFER bytes.
 * Blocks    as the VFS below. */
#ifndef MI_VAULT_WAL_VFS_H
#define MI_VAULT_WAL_VFS_H

#define WAL_VFS_NAME "mcp-interposer"
#define WAL_VFS_BUFFER (31 * (24 + 4096)) /* unixWrite() of SQLite cuts sizes to 17 bits: 131,071 */

/* Registers the VFS; may be called again. Its name, or NULL (SQLite's own): there was no memory. */
const char *wal_vfs(void);

#endif
