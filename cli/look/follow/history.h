/* history.h - gathers the newest rows of a vault that match a filter, for the beginning of `tail`.
 *
 * history_add() must be called for the newest session first. Each session is read backwards, and
 * only while its rows are newer than the oldest row found so far. So only few rows of a large vault
 * are read.
 *
 * Owns      the rows; newest_close() frees them.
 * Errors    those of vault/query/reader.h and MI_ENOMEM.
 * Blocks    on the vault. */
#ifndef MI_CLI_LOOK_FOLLOW_HISTORY_H
#define MI_CLI_LOOK_FOLLOW_HISTORY_H

#include "cli/frame/filter.h"

/* ---- the newest rows of several sessions: the seq or id of each row, not its content ---- */

struct newest_row {
    int64_t at_us, session_id;
    int64_t number; /* seq of a message, id of an event */
    bool is_event;
};

/* Has at most `max` rows of 32 bytes each. If the list is full, a newer row replaces the
 * oldest. */
struct newest {
    struct newest_row *row; /* owned; a heap whose first row is the oldest, until newest_sort() */
    size_t n, cap, max;
};

void newest_open(struct newest *l, size_t max);
void newest_close(struct newest *l);
/* Whether newest_add() would keep a row of this time: not if there are `max` newer rows already. */
bool newest_would_keep(const struct newest *l, int64_t at_us);
MI_MUST int newest_add(struct newest *l, const struct newest_row *row);
void newest_sort(struct newest *l); /* sorts the rows, oldest first; no row can be added later */

/* ---- the history ---- */

/* Adds the rows of a session: messages with seq <= `seq` and events with id <= `event`. */
MI_MUST int history_add(struct newest *to, struct query *q, const struct filter *f,
                        const struct query_session *s, int64_t seq, int64_t event);

/* Returns the end of the run that begins with row i of the sorted rows: consecutive messages of one
 * session, at most `max`; or one event. */
size_t history_run_end(const struct newest *l, size_t i, size_t max);

#endif
