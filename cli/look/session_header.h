/* session_header.h - prints the lines about a session that `show` has above the messages.
 *
 * Owns      nothing.
 * Errors    those of the output (cli/frame/out.h). */
#ifndef MI_CLI_LOOK_SESSION_HEADER_H
#define MI_CLI_LOOK_SESSION_HEADER_H

#include "cli/frame/out.h"
#include "cli/frame/session.h"

/* requests: true: requests are counted; false: calls are counted. */
void session_header_print(struct out *o, const struct query_session *s,
                          const struct session_view *v, bool requests);
/* Prints the session in one line. */
void session_title_print(struct out *o, const struct query_session *s);

#endif
