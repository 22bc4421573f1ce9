/* tool_changes.h - the first complete tools/list of a session, compared with that of the previous session.
 *
 * Changes   tools, previous_tools. */
#ifndef MI_PROXY_SESSION_TOOL_CHANGES_H
#define MI_PROXY_SESSION_TOOL_CHANGES_H

#include "proxy/session/message.h"

/* The client's first request, which is long before most servers have answered tools/list: requests the previous list
 * from the journal, once. */
void tool_changes_request(struct traffic *t);
/* The answer to journal_want_previous_tools(): the tools of the session uid. Takes ownership of them. If the list of this
 * session came first, they are compared now, and the finding is added to its recorded message. */
void tool_changes_previous(struct traffic *t, struct tools *tools, const char *uid);
/* A result of tools/list: stores the page. If the list is complete and differs from the previous one, the difference
 * is noted, logged and recorded as an event. */
void tool_changes_result(struct traffic *t, struct message *x, uint64_t cursor);
/* A result of the server was recorded, perhaps of tools/list. */
void tool_changes_recorded(struct traffic *t, uint64_t seq);

#endif
