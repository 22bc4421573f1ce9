/* wal_vfs.h - a thin layer over SQLite's own VFS that saves system calls on the way of a message.
 *
 * SQLite writes each page that goes into the write-ahead log with two pwrite(2) calls, 24 bytes of header
 * and the page. Here they gather, and leave in one call when the transaction's last page comes. Where a
 * log grows by small transactions, that call writes zeros behind them: pages that the file gets one by
 * one cost three times as much as pages that it gets together. The read lock between two transactions:
 * vault/wal_locks.h.
 *
 * Rules     the frame header's bytes 4 to 7 are zero except in the last frame of a transaction (SQLite,
 *           "Database File Format", 4.1). So everything gathered is written before the write of that
 *           frame's page returns, and an error is that write's error: SQLite never makes a commit known
 *           whose frames are not in the file. A read, sync, truncation or any other write to the file
 *           writes what has gathered first.
 *           A transaction that is given up must not have gathered anything, for it would be written where
 *           another process's frames may stand by then: needs PRAGMA cache_spill = OFF, so that frames
 *           come with the commit alone.
 *           What stands behind a log's last frame is never read as a frame: zeros are no frame of any log.
 *           SQLite syncs the header of a log before the first frame, so that after a power cut the frames
 *           of an earlier log cannot come to life again. A log that begins in an empty file has none: that
 *           sync is left out, and the header reaches the disk with the next one.
 * Owns      for each open log a buffer of WAL_VFS_BUFFER bytes.
 * Blocks    as the VFS below. */
#ifndef MI_VAULT_WAL_VFS_H
#define MI_VAULT_WAL_VFS_H

#define WAL_VFS_NAME "mcp-interposer"
#define WAL_VFS_BUFFER (31 * (24 + 4096)) /* unixWrite() of SQLite cuts sizes to 17 bits: 131,071 */

/* File control of a database opened through the VFS: sets the struct wal_locks * given to its locks. */
#define WAL_VFS_LOCKS 0x6d6901

/* Registers the VFS; may be called again. Its name, or NULL (SQLite's own): there was no memory. */
const char *wal_vfs(void);

#endif
