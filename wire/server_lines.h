/* server_lines.h - classifies the lines of a server: messages, repaired messages, unreadable
 * answers, other output. It is used by the proxy, by `verify` and `replay` with a live server, and
 * for recordings of other programs.
 *
 * Rules     docs/findings.md. A line that json_repair.h can repair is a message. An incomplete line
 *           that begins an object waits for the next line, which may continue it. If a line cannot
 *           be repaired, but has a readable id (lenient.h), and a request with this id is pending,
 *           the line is the answer to that request. Every other line is noise.
 * Limits    for a message over several lines: rules.max bytes, and SERVER_LINES_WAIT_MAX_US.
 * Owns      the lines that wait, and their repaired text.
 * Lifetime  the slices and pointers of a struct server_line are valid during the call of line().
 * Errors    a negative status of line() ends the reading of the line and is returned; MI_ENOMEM.
 * Blocks    never. Pure: the caller has the clock. */
#ifndef MI_WIRE_SERVER_LINES_H
#define MI_WIRE_SERVER_LINES_H

#include "wire/glued.h"

/* Maximum wait, in microseconds, for the next line of a message over several lines, or for a valid
 * answer after an unreadable one. */
#define SERVER_LINES_WAIT_US 100000
/* Maximum wait, in microseconds, for all lines of a message. */
#define SERVER_LINES_WAIT_MAX_US 5000000

enum server_line_kind {
    SERVER_LINE_MESSAGE,
    SERVER_LINE_BLANK,
    SERVER_LINE_NOISE, /* the text is not a message */
    /* the text is JSON that was meant as the answer to a pending request, but is not a valid
     * message */
    SERVER_LINE_REFUSED,
    /* the text was meant as the answer to a pending request, but is not JSON; a valid answer may
     * follow, because some servers print an answer for people first */
    SERVER_LINE_UNREADABLE,
};

struct server_line {
    enum server_line_kind kind;
    /* text of the message, as received or as repaired; n is 0 if another answer in the same line
     * was already reported with this text */
    struct slice text;
    size_t at; /* offset at which the message begins in the line */
    /* Number of bytes as received. For a message: of the whole line or lines that contain it. For
     * noise: of the text of the noise only. */
    size_t size;
    findings found;      /* findings about the line, and about the message `m` */
    const struct rpc *m; /* the message that was read; empty for a blank line; NULL for noise */
    /* id of the message; if the message is an answer, id of the request that it answers */
    struct json_value id;
    /* Repairs of a message. NULL: nothing was repaired, and the text is a part of the received
     * line. */
    const struct repairs *repairs;
    /* For SERVER_LINE_UNREADABLE: offset of the flaw in the text; text.n if something is missing at
     * the end. */
    size_t flaw_at;
    /* For noise: the text that was meant as a message but answers no request; n is 0 if there is
     * none. */
    struct slice meant;
};

struct server_lines_rules {
    size_t max; /* maximum number of bytes of a message */
    /* true: a message that could be repaired is passed on as it was received, including text after
     * it */
    bool keep_flaws;
    struct open_requests open;
    /* returns 0, or a negative status that ends the reading of the line */
    int (*line)(void *ctx, const struct server_line *line);
    void *ctx;
};

struct server_lines {
    struct server_lines_rules rules;
    bool waits;                /* true: the next line may continue the text in `raw` */
    struct buf raw;            /* owned: the waiting lines as received, each with a newline */
    struct json_repair repair; /* the repair of the text in `raw` */
    bool http;                 /* true: a line of HTTP was received */
    findings found;            /* findings about the waiting lines */
    int64_t since_us;          /* time at which the first of the waiting lines was received */
    int64_t
        until_us; /* time at which the caller must end the wait with server_lines_flush_waiting() */
};

void server_lines_open(struct server_lines *l, const struct server_lines_rules *rules);
void server_lines_close(struct server_lines *l); /* safe to call twice */
/* Handles a line as received, without its newline. found: findings about the line; `no-newline`
 * means that the output has ended. Calls line() for the waiting lines if this line does not
 * continue them. Then calls line() for the parts of this line, log text first and a message last,
 * unless this line must wait for the next line. */
MI_MUST int server_lines_handle_line(struct server_lines *l, struct slice line, findings found,
                                     int64_t now_us);
/* Stops waiting for the next line, and calls line() for the waiting lines. cut: true: the output
 * has ended. */
MI_MUST int server_lines_flush_waiting(struct server_lines *l, bool cut);

#endif
