/* session_line.h - a session as a row of a list, with columns for table, JSON and CSV.
 *
 * Owns      nothing: texts are borrowed from the session.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_SESSION_LINE_H
#define MI_CLI_FRAME_SESSION_LINE_H

#include "cli/frame/session.h"
#include "show/show.h"

struct session_line {
    struct query_session s;
    struct session_view v;
    struct slice uid_head; /* prefix of the UID that identifies the session in one vault */
    /* prefix of the UID that identifies the session in a store of several vaults */
    struct slice uid_shown;
    struct slice evidence, state;
    int64_t errors, failed_requests; /* numbers of failed operations and of failed requests */
    bool imported;
};

/* Returns the columns. several: rows come from several vaults, so that session numbers are not
 * unique. requests: the table for people counts requests, not operations. */
struct show_list session_list_columns(bool several, bool requests);

struct session_line session_line(const struct query_session *s, const struct session_view *v);

#endif
