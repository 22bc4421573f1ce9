/* escalation.h - VAULT/Escalations: a file for each problem that a person should look at.
 *
 * Escalations/20261121T101540.043Z-hang-files.md: Markdown with flat YAML front matter;
 * docs/vault.md describes it. If the same cause occurs again for the same server and tool (for
 * calls without a tool: the same method) within ESCALATION_AGAIN_US of the first time, no new file
 * is made. The number of occurrences is in the table `escalations` of the database
 * (vault/store/escalation_rows.h); `count` and `last_at` in the file are updated from this table.
 *
 * Rules     the text: record/process/escalation_text.h; the files:
 *           record/process/escalation_files.h. The directory is locked (flock) while a file is made
 *           or updated. If the lock is not acquired within ESCALATION_WAIT_US, a new problem gets a
 *           file anyway (possibly a duplicate), and a count is written later. If a killed process
 *           has already written an occurrence, the occurrence gets the same file again: *ret_new is
 *           true again, but the occurrence is not counted twice. At most ESCALATION_FILES_MAX files
 *           per hour, cause and server; further problems are counted in the newest of these files.
 *           If the database cannot be used, files are made as well, and occurrences are counted in
 *           memory.
 * Owns      the occurrences that have not been written to the database.
 * Errors    MI_EIO (errno kept), MI_ENOMEM. Callers log a warning and go on.
 * Blocks    on the disk: a new file is synced; and up to ESCALATION_WAIT_US for the lock of the
 *           database. Counts are written at most once per ESCALATION_QUIET_US. */
#ifndef MI_RECORD_PROCESS_ESCALATION_H
#define MI_RECORD_PROCESS_ESCALATION_H

#include "journal/entry.h"
#include "record/process/escalation_files.h"

#define ESCALATION_QUIET_US ((int64_t)1000000)
#define ESCALATION_FILES_MAX 32
/* Longest text in a file, in bytes, unless a comment says otherwise. */
#define ESCALATION_TEXT_MAX ((size_t)4 << 10)

/* The latest problems of this session. Initialize with zeros. */
struct escalations {
    struct escalation_memory {
        uint64_t key; /* hash of cause, server and tool; 0: the slot is free */
        int64_t id;   /* id of the row in the database; 0: the row could not be written */
        char file[ESCALATION_FILE_MAX];
        int64_t first_us;   /* when the file was made, by the wall clock */
        int64_t written_us; /* when the number of occurrences was last written */
        int64_t last_us;    /* when the problem last occurred */
        uint64_t counted;   /* number of occurrences in the row when the row was last read */
        uint64_t waiting;   /* number of occurrences that are not yet in the row */
    } slot[16];
};

/* Writes a new file, or counts another occurrence. vault_fd: the vault's directory. w: NULL if the
 * database is not open. Appends "Escalations/…" to ret_path; *ret_new is true if the file is new
 * and the user should be notified. Returns 0, MI_EIO or MI_ENOMEM. */
MI_MUST int escalation_write(struct escalations *m, int vault_fd, struct writer *w,
                             const struct escalation *e, struct buf *ret_path, bool *ret_new);
/* Writes the occurrences that have not been counted yet. Call at the end of a session. */
void escalations_close(struct escalations *m, int vault_fd, struct writer *w);

#endif
