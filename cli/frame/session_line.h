/* session_line.h - a session as a row of a list: its columns, for all forms.
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
    struct slice uid_head,
        uid_shown; /* the beginning of its UID, in a vault and in a store of several */
    struct slice evidence, state;
    int64_t errors, failed_requests; /* errors: of operations */
    bool imported;
};

/* The list. `several`: of several vaults, in which several sessions may have the same number. `requests`: people see each request
 * of a call that was several. */
struct show_list session_list(bool several, bool requests);

struct session_line session_line(const struct query_session *s, const struct session_view *v);

#endif
