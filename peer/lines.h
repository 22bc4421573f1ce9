/* lines.h - lines of a live server: invalid lines are repaired or become errors, as in the proxy.
 *
 * Rules     see wire/server_lines.h. An unreadable answer becomes an error after
 *           SERVER_LINES_WAIT_US, unless a valid answer arrives before. Lines that are not messages
 *           are passed on unchanged.
 * Owns      the lines that wait, and the results.
 * Lifetime  a result is valid until the next call.
 * Blocks    never. Pure: the caller passes the time. */
#ifndef MI_PEER_LINES_H
#define MI_PEER_LINES_H

#include "wire/server_lines.h"

struct lines {
    struct server_lines read;
    /* id of the request whose answer is awaited; 0: an answer with any id counts; UINT64_MAX: the
     * answer was refused, and no later answer counts */
    uint64_t asked;
    struct buf method;     /* owned; method of the request `asked` */
    struct buf out;        /* owned; results, each with a newline */
    size_t done;           /* number of bytes of `out` already returned */
    struct buf refused;    /* owned; the error for an unreadable answer; empty: none */
    struct buf refused_id; /* owned; id of the unreadable answer, as JSON */
    int64_t refused_us;    /* time at which the error in `refused` becomes a result */
    int64_t now_us;        /* time at which the line being read was received */
    bool failed;           /* a line was lost because memory ran out */
};

void lines_open(struct lines *l, size_t max);
void lines_close(struct lines *l);
/* Sets the id and the method of the request whose answer is read next. */
void lines_set_awaited_request(struct lines *l, uint64_t id, struct slice method);
/* Handles a line that the server wrote. `last` is true if the output ended without a newline.
 * Returns true if *ret is a result. In either case, call lines_take_next_result() for further
 * results. */
MI_MUST bool lines_add_received_line(struct lines *l, struct slice line, bool last, int64_t now_us,
                                     struct slice *ret);
/* Returns the next result in *ret, or false if there is none. */
MI_MUST bool lines_take_next_result(struct lines *l, struct slice *ret);
/* Returns when lines_handle_expired_timeouts() must be called; INT64_MAX: no line and no
 * error waits. */
int64_t lines_next_timeout_us(const struct lines *l);
/* Ends the wait of each line and each error whose time has passed. */
void lines_handle_expired_timeouts(struct lines *l, int64_t now_us);
/* Ends the wait of every line and every error. Call this function when the server's output has
 * ended. */
void lines_on_output_end(struct lines *l);
/* Returns true if memory ran out and lines are missing. */
bool lines_are_out_of_memory(const struct lines *l);

#endif
