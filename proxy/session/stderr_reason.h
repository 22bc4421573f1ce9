/* stderr_reason.h - finds the reason why a server ended in the lines of its stderr.
 *
 * The last line is often not the reason: "Node.js v20.20.2", "A complete log of this run can be
 * found in: …", the last frame of a stack. The rules in stderr_rule.c tell which lines give a
 * reason. The last such line is used, unless STDERR_REASON_LINES other lines were written after it;
 * if no line gives a reason, the last line is used. The code that Node.js prints below an error is
 * added, and so is the last cause.
 *
 * Lines are stored when they arrive. The rules are applied only when the reason is requested,
 * because they take 1 us for a line, more than all other work on the line.
 *
 * Owns      the newest lines, at most STDERR_REASON_KEPT bytes. If memory runs out, lines are not
 *           kept.
 * Limits    the first STDERR_LINE_READ bytes of a line are kept, and the first STDERR_INDENTED_MAX
 *           of consecutive indented lines: a stack may have thousands. A reason has at most
 *           STDERR_REASON_MAX bytes.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_STDERR_REASON_H
#define MI_PROXY_SESSION_STDERR_REASON_H

#include "base/buf.h"

#define STDERR_REASON_KEPT ((size_t)32 << 10)
#define STDERR_REASON_MAX 300  /* maximum bytes of a reason, and maximum bytes of its cause */
#define STDERR_REASON_LINES 20 /* a reason is dropped after this many further lines */
#define STDERR_LINE_READ 512   /* maximum bytes of a line that are kept */
#define STDERR_INDENTED_MAX 100

struct stderr_reason {
    struct buf lines;  /* owned; the kept lines, each with its newline */
    unsigned indented; /* number of indented lines at the end of stderr so far */
};

/* Keeps the next line of stderr. line: sanitized, without its newline. */
void stderr_reason_read_line(struct stderr_reason *r, struct slice line);
/* Forgets all lines. Call this function before the lines of the next process. */
void stderr_reason_clear(struct stderr_reason *r);
void stderr_reason_close(struct stderr_reason *r);
/* Appends the reason on one line, without control characters; appends nothing if stderr had no
 * line. Returns true if the reason is an error message, false if it is only the last line. */
bool stderr_reason_append(const struct stderr_reason *r, struct buf *b);
/* Returns true if the next process would end for the same reason; see stderr_rule.h. */
bool stderr_reason_will_recur(const struct stderr_reason *r);

#endif
