/* invalid_line.h - handles lines that are not valid messages, and the requests that they belong to.
 *
 * Rules     see docs/findings.md. wire/server_lines classifies lines of the server. A repaired
 *           message is forwarded and recorded in its repaired form. A request with an unreadable
 *           answer gets an error, unless a valid answer comes within INVALID_LINE_WAIT_US. In that
 *           case the unreadable line was only a log of the answer.
 * Changes   invalid_lines, and the requests that such lines answer.
 * Blocks    never. */
#ifndef MI_PROXY_SESSION_INVALID_LINE_H
#define MI_PROXY_SESSION_INVALID_LINE_H

#include "proxy/session/message.h"

#define INVALID_LINE_WAIT_US SERVER_LINES_WAIT_US
/* If the server answers no request within this time after an HTTP response, the response counts as
 * the answer. */
#define INVALID_LINE_HTTP_WAIT_US 1000000
/* maximum number of objects on a line that invalid_line_reject_later_objects() handles */
#define INVALID_LINE_OTHERS_MAX 1000

void invalid_line_open(struct traffic *t);
void invalid_line_close(struct traffic *t);

/* Handles a line of the server that is not a valid message, or any line while another line waits.
 * Sets x->line and x->repairs. Returns true if x is a message now, false if the line was recorded
 * or waits. */
bool invalid_line_handle_server_line(struct traffic *t, struct message *x);
/* Handles a blank line of the server, which ends the headers of an HTTP response. */
void invalid_line_on_blank_line(struct traffic *t);
/* Forwards an invalid line with --validate none; the request that it answers is closed. */
void invalid_line_forward_invalid_line(struct traffic *t, struct message *x);
struct lenient;
/* For a client's line that is not JSON: sets the id of x->m to the first id on the line, if there
 * is one. *object: gets the object with this id, which x->m.id then borrows. *ret_rest: the line
 * after that object. */
void invalid_line_find_first_id(struct message *x, struct lenient *object, struct slice *ret_rest);
/* How a client's line that is not JSON was rejected. */
struct invalid_line_rejection {
    uint64_t seq; /* seq of the line */
    int code;
    const char *why, *cause;
};
/* Handles the other objects on the line, at most INVALID_LINE_OTHERS_MAX: a request is answered
 * with the same error; if an object answers a request of the server, the server gets an error. */
void invalid_line_reject_later_objects(struct traffic *t, const struct message *x,
                                       struct slice rest, const struct invalid_line_rejection *r);

/* Call this function when the output of the server has ended. A waiting line is incomplete
 * then, and is recorded as noise. The request that it answers stays pending, and later gets an
 * error that says how the server ended. */
void invalid_line_on_output_ended(struct traffic *t);
/* Returns the microseconds until invalid_line_handle_timeouts() must be called; -1: no line and
 * no error waits. */
int64_t invalid_line_next_timeout_us(const struct traffic *t, int64_t now_us);
/* Handles the line that waits and the errors that wait, if their time has passed. */
void invalid_line_handle_timeouts(struct traffic *t, int64_t now_us);

/* Keeps the start of a line of the server that looks like a message but answers no request. If a
 * request times out, its error can quote this line: the server was not silent. */
void invalid_line_save_line_start(struct traffic *t, struct slice text);
/* Appends the start of the line that invalid_line_save_line_start() has kept, if the line came
 * after the request p was written. */
void invalid_line_append_explanation(const struct traffic *t, const struct pending *p,
                                     struct buf *why);

#endif
