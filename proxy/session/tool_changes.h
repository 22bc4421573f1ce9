/* tool_changes.h - compares the first complete tools/list of a session with that of the previous
 * session.
 *
 * Changes   tools, previous_tools. */
#ifndef MI_PROXY_SESSION_TOOL_CHANGES_H
#define MI_PROXY_SESSION_TOOL_CHANGES_H

#include "proxy/session/message.h"

/* Call this function for the client's first request, long before most servers have answered
 * tools/list: requests the previous list from the journal, once. */
void tool_changes_request_previous_tools(struct traffic *t);
/* Handles the answer to journal_request_previous_tools(): the tools of the session `uid`. If this
 * session's list was received earlier than that answer, the lists are compared now, and the finding
 * is added to the recorded message with this session's list. */
void tool_changes_take_previous_tools(struct traffic *t, struct tools *tools, const char *uid);
/* Stores the page of a tools/list result. If the list is complete and differs from the previous
 * list, the difference is noted, logged and recorded as an event. */
void tool_changes_add_list_page(struct traffic *t, struct message *x, uint64_t cursor);
/* Call this function after any result of the server was recorded. */
void tool_changes_on_recorded_result(struct traffic *t, uint64_t seq);

#endif
