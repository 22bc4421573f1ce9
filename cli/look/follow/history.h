/* history.h - gathers the newest rows of a vault that match a filter, for the beginning of `tail`.
 *
 * Sessions are added newest first. Each is read backwards, and only as long as it has rows that are newer than those
 * that were found, so that few rows are read of however many are recorded.
 *
 * Errors    those of vault/query/reader.h and MI_ENOMEM.
 * Blocks    on the vault. */
#ifndef MI_CLI_LOOK_FOLLOW_HISTORY_H
#define MI_CLI_LOOK_FOLLOW_HISTORY_H

#include "cli/frame/filter.h"
#include "cli/look/follow/newest.h"

/* Adds the rows of a session: messages with seq <= `seq` and events with id <= `event`. */
MI_MUST int history_add(struct newest *to, struct query *q, const struct filter *f,
                        const struct query_session *s, int64_t seq, int64_t event);

/* The end of a run of consecutive messages in sorted rows that begins with row i: at most `max` of them. */
size_t history_run(const struct newest *l, size_t i, size_t max);

#endif
