/* server_lines.h - what the lines of a server are, by the rules of the proxy, for whoever reads a server or a recording of one
 * without a proxy.
 *
 * Rules     docs/findings.md, with --validate wire. proxy/session/odd does the same for the live connection, from the same
 *           parts (mend, lenient, glued); tests/e2e/29-import-odd compares the two.
 * Owns      the lines that wait, and their repaired text.
 * Lifetime  the slices of a struct server_line are valid during the call of line().
 * Errors    those of line(), which end the reading of the line; MI_ENOMEM.
 * Blocks    never. Pure: the caller has the clock. */
#ifndef MI_WIRE_SERVER_LINES_H
#define MI_WIRE_SERVER_LINES_H

#include "wire/glued.h"

#define SERVER_LINES_WAIT_US                                                                       \
    100000 /* for the next line of a message over several lines, or for a valid answer */
#define SERVER_LINES_WAIT_MAX_US 5000000 /* for all of them */

enum server_line_kind {
    SERVER_LINE_MESSAGE, /* valid; repaired, if `found` says so */
    SERVER_LINE_BLANK,
    SERVER_LINE_NOISE,   /* not a message */
    SERVER_LINE_REFUSED, /* meant as the answer with this id, and not a message */
    SERVER_LINE_UNREADABLE, /* the same, not even JSON: a valid answer may come, because servers print what they send */
};

struct server_line {
    enum server_line_kind kind;
    struct slice text; /* n == 0: another answer on the line before */
    findings found;
    struct json_value id; /* of SERVER_LINE_REFUSED and SERVER_LINE_UNREADABLE */
};

struct server_lines_rules {
    size_t max; /* bytes of a message */
    struct open_requests open;
    int (*line)(void *ctx, const struct server_line *line); /* 0 or a negative status */
    void *ctx;
};

struct server_lines {
    struct server_lines_rules rules;
    bool waits;                 /* for the line that continues `raw` */
    int64_t since_us, until_us; /* the first of these lines, and the end of the wait */
    findings found;             /* about them */
    struct mend mend;           /* of `raw` */
    struct buf raw;             /* owned: the lines as received, each with a newline */
};

void server_lines_open(struct server_lines *l, const struct server_lines_rules *rules);
void server_lines_close(struct server_lines *l);
/* A line as received, without its newline. Calls line() for what it is, or for what has waited; never, if it waits. */
MI_MUST int server_lines_take(struct server_lines *l, struct slice line, int64_t now_us);
/* Nothing waits any longer. cut: by the end of the output. */
MI_MUST int server_lines_end(struct server_lines *l, bool cut);

#endif
