/* newest.h - keeps the newest rows of several sessions: the number of each row, not its content.
 *
 * Owns      the rows; newest_rows_close() frees them.
 * Limits    `max` rows of 32 bytes each; beyond them, a newer row replaces the oldest.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_CLI_LOOK_FOLLOW_NEWEST_H
#define MI_CLI_LOOK_FOLLOW_NEWEST_H

#include "base/base.h"

struct newest_row {
    int64_t at_us, session_id;
    int64_t number; /* seq of the message, or id of the event */
    bool is_event;
};

struct newest {
    struct newest_row
        *row; /* owned; a heap whose first row is the oldest, until newest_rows_sort() */
    size_t n, cap, max;
};

void newest_rows_open(struct newest *l, size_t max);
void newest_rows_close(struct newest *l);
/* Whether newest_rows_add() would keep a row of this time. Returns false if there are `max` newer
 * rows already. */
bool newest_rows_would_keep_row(const struct newest *l, int64_t at_us);
MI_MUST int newest_rows_add(struct newest *l, const struct newest_row *row);
void newest_rows_sort(
    struct newest *l); /* sorts the rows, oldest first; no row can be added later */

#endif
