/* escalation_rows.h - the table `escalations`: the problems that have an escalation file, and how
 * often each has occurred.
 *
 * Rules     two problems are the same if cause, server and tool are equal; without a tool, the
 *           method is compared. Callers pass sanitized texts.
 *           Each call is a separate transaction: the writer must not have one open.
 * Errors    MI_ESTORE: nothing was changed; writer_error() says why.
 * Blocks    for the write lock, up to the time set by writer_set_lock_timeout(); then on the
 *           disk. */
#ifndef MI_VAULT_STORE_ESCALATION_ROWS_H
#define MI_VAULT_STORE_ESCALATION_ROWS_H

#include "vault/store/writer.h"

#define ESCALATION_FILE_MAX 128 /* longest name of an escalation file, in bytes with the NUL */

/* The fields of a row. Texts are borrowed for the call. */
struct escalation_row {
    PROBLEM_FIELDS(FIELD_MEMBER)
};

/* Searches the rows with the cause and the server of `problem` whose first_at_us is from from_us to
 * to_us. *ret_id: the newest of these rows that also has the tool of `problem`; if `problem` has no
 * tool, the newest one without a tool and with the method of `problem`. If there is no such row,
 * but at least `max` rows were searched, *ret_id is the newest row that was searched. Returns 0,
 * MI_ENOENT or MI_ESTORE. */
MI_MUST int escalation_row_find_similar(struct writer *w, const struct escalation_row *problem,
                                        int64_t from_us, int64_t to_us, int64_t max,
                                        int64_t *ret_id);
/* Adds `more` occurrences to a row. *ret gets the times and the count of the updated row, ret_file
 * the name of its file. Returns 0, MI_ENOENT or MI_ESTORE. */
MI_MUST int escalation_row_count_problem(struct writer *w, int64_t id, uint64_t more,
                                         int64_t last_at_us, struct escalation_row *ret,
                                         char ret_file[ESCALATION_FILE_MAX]);
MI_MUST int escalation_row_add(struct writer *w, const struct escalation_row *row, int64_t *ret_id);

#endif
