/* odd.h - handles lines that are not valid messages, and the requests that they belong to.
 *
 * Rules     docs/findings.md. wire/server_lines classifies lines of the server. A repaired message
 *           is forwarded, and recorded as it is forwarded. A request with an unreadable answer gets
 *           an error, unless a valid answer comes within ODD_WAIT_US; then the line was only a log
 *           of it.
 * Changes   odd, and the requests that such lines answer.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_ODD_H
#define MI_PROXY_SESSION_ODD_H

#include "proxy/session/message.h"

#define ODD_WAIT_US SERVER_LINES_WAIT_US
#define ODD_HTTP_WAIT_US 1000000 /* microseconds until a response of HTTP counts as the answer */
#define ODD_OTHERS_MAX 1000

void odd_open(struct traffic *t);
void odd_close(struct traffic *t);

/* Handles a line of the server that is not a valid message, or any line while another line waits.
 * Sets x->line and x->repairs. Returns true if x is a message now, false if the line was recorded
 * or waits. */
bool odd_read_line(struct traffic *t, struct message *x);
/* Handles a blank line of the server, which ends the headers of HTTP. */
void odd_on_blank_line(struct traffic *t);
/* Forwards an invalid line with --validate none; the request that it answers is closed. */
void odd_forward_line(struct traffic *t, struct message *x);
struct lenient;
/* For a client's line that is not JSON: sets the id of x->m to the first id on the line, if there
 * is one. *place holds the id. *ret_rest: the line after the object with the id. */
void odd_find_id(struct message *x, struct lenient *place, struct slice *ret_rest);
/* The action that was taken for such a line. */
struct odd_rejection {
    uint64_t seq;
    int code;
    const char *why, *cause;
};
/* Answers the other requests on the line, and those of the server that others answer: at most ODD_OTHERS_MAX. */
void odd_reject_others(struct traffic *t, const struct message *x, struct slice rest,
                       const struct odd_rejection *r);

/* Call it when the output of the server has ended. A waiting line was then cut off, and its
 * request is answered with the reason of the end. */
void odd_on_output_ended(struct traffic *t);
/* Microseconds until odd_handle_due() must be called; -1: no line and no error waits. */
int64_t odd_next_due_us(const struct traffic *t, int64_t now_us);
/* Ends the waits whose time has come. */
void odd_handle_due(struct traffic *t, int64_t now_us);

/* Notes a text of the server that answers nothing, a message or something meant as one: the server
 * is not silent. */
void odd_keep_quote(struct traffic *t, struct slice text);
/* Appends such a line, if one came after the request was written. */
void odd_append_explanation(const struct traffic *t, const struct pending *p, struct buf *why);

#endif
