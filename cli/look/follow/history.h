/* history.h - gathers the newest rows of a vault that match a filter, for the beginning of `tail`.
 *
 * history_add_session() must be called for the newest session first. Each session is read
 * backwards, and only while its rows are newer than the oldest row found so far. So only few rows
 * of a large vault are read.
 *
 * Errors    those of vault/query/reader.h and MI_ENOMEM.
 * Blocks    on the vault. */
#ifndef MI_CLI_LOOK_FOLLOW_HISTORY_H
#define MI_CLI_LOOK_FOLLOW_HISTORY_H

#include "cli/frame/filter.h"
#include "cli/look/follow/newest.h"

/* Adds the rows of a session: messages with seq <= `seq` and events with id <= `event`. */
MI_MUST int history_add_session(struct newest *to, struct query *q, const struct filter *f,
                                const struct query_session *s, int64_t seq, int64_t event);

/* Finds the run of rows that begins with row `i` of the sorted rows: one event, or at most `max`
 * consecutive messages of one session. Returns the index of the first row after the run. */
size_t history_find_end_of_sequence(const struct newest *l, size_t i, size_t max);

#endif
