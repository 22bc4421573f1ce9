/* stray.h - records output of the server that is not a message: banners and logs on stdout, and
 * stderr.
 *
 * A secret may span such lines, so they are sanitized here, where each line arrives once and in
 * order.
 *
 * Changes   noise_lines, stderr_lines. */
#ifndef MI_PROXY_SESSION_STRAY_H
#define MI_PROXY_SESSION_STRAY_H

#include "proxy/session/message.h"
#include "wire/glued.h"

/* Returns functions that look up the client's pending requests, for wire/glued.h. */
struct open_requests stray_make_request_lookup(struct traffic *t);
/* Records and logs a text of the server that is not a message. The text is not forwarded. */
void stray_record_non_message(struct traffic *t, struct slice text, findings why);
/* Records a line of stderr with the findings `found`. */
void stray_record_stderr_line(struct traffic *t, const struct line *line, findings found);

#endif
