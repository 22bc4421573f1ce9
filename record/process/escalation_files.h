/* escalation_files.h - the directory VAULT/Escalations: names, new files, and the count inside a
 * file.
 *
 * Rules     file names are not taken from messages. A file appears complete under its final name,
 *           or not at all; an update replaces it by a copy in which only two values differ. The
 *           caller holds the directory's lock.
 * Errors    MI_EIO (errno kept), MI_ENOMEM.
 * Blocks    on the disk: a new file is synced. escalation_lock() waits up to ESCALATION_WAIT_US. */
#ifndef MI_RECORD_PROCESS_ESCALATION_FILES_H
#define MI_RECORD_PROCESS_ESCALATION_FILES_H

#include "journal/entry.h"
#include "vault/store/escalation_rows.h"

#define ESCALATION_AGAIN_US ((int64_t)3600 * 1000000)
#define ESCALATION_WAIT_US 1000000
#define ESCALATION_SUFFIX_MAX 96

/* Locks the directory (flock(2)); closing the descriptor releases the lock. Returns false if it did
 * not get the lock within ESCALATION_WAIT_US. */
MI_MUST bool escalation_lock(int dir);
/* Writes the part of a file's name that follows the time, such as "-hang-files.md". */
void escalation_make_file_suffix(const struct escalation *e, char ret[ESCALATION_SUFFIX_MAX]);
/* Makes the file of a new problem; *ret_name gets its name. If a killed process has already made
 * exactly this file, that file is used. */
MI_MUST int escalation_make_file(int dir, const struct escalation *e, const char *suffix,
                                 char ret_name[ESCALATION_FILE_MAX]);
/* Whether an earlier recorder process has made this file for the same occurrence of the problem. */
bool escalation_file_has_occurrence(int dir, const char *name, const struct escalation *e);
/* Replaces the file by a copy with the count and the last time of the row. Returns MI_ENOENT if the
 * file was removed or was not made by this program. */
MI_MUST int escalation_update_file(int dir, const char *name, const struct escalation_row *row);
/* Removes temporary files of killed processes. *ret_recent: the newest file with this suffix that
 * is not older than ESCALATION_AGAIN_US, or "". */
void escalation_find_recent_file(int dir, const char *suffix, int64_t at_us,
                                 char ret_recent[ESCALATION_FILE_MAX]);

#endif
