/* stderr_reason.h - why a server ended, from the lines of its stderr.
 *
 * The last line is often not the reason: "Node.js v20.20.2", "A complete log of this run can be
 * found in: …", the last frame of a stack. The rules in stderr_rule.c tell which lines give a
 * reason. The last such line is used, unless STDERR_REASON_LINES other lines were written after it;
 * if there is none, the last line is used. The code that Node.js prints below an error is added,
 * and the last cause.
 *
 * Lines are only kept; the rules are applied when the reason is requested, because they take 1 us
 * for a line, more than everything else that is done with it.
 *
 * Owns      the newest lines, at most STDERR_REASON_KEPT bytes. Without memory they are not kept.
 * Limits    of a line the first STDERR_LINE_READ bytes are kept, of indented lines in a row the first
 *           STDERR_INDENTED_MAX: a stack may have thousands. A reason has at most STDERR_REASON_MAX bytes.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_STDERR_REASON_H
#define MI_PROXY_SESSION_STDERR_REASON_H

#include "base/buf.h"

#define STDERR_REASON_KEPT ((size_t)32 << 10)
#define STDERR_REASON_MAX 300  /* maximum bytes of a reason; the same limit applies to its cause */
#define STDERR_REASON_LINES 20 /* a reason is dropped after this many further lines */
#define STDERR_LINE_READ 512   /* bytes of a line */
#define STDERR_INDENTED_MAX 100

struct stderr_reason {
    struct buf lines;  /* each with its newline */
    unsigned indented; /* how many of the last lines are */
};

/* Reads the next line of stderr, sanitized, without its newline. */
void stderr_reason_read_line(struct stderr_reason *r, struct slice line);
/* Forgets all lines. Call it before the lines of the next process. */
void stderr_reason_clear(struct stderr_reason *r);
void stderr_reason_close(struct stderr_reason *r);
/* Appends the reason on one line, without control characters; nothing if no line was written. Returns whether it is
 * an error message, and not only the last line. */
bool stderr_reason_append(const struct stderr_reason *r, struct buf *b);
/* Whether the next process would end for the same reason; see stderr_rule.h. */
bool stderr_reason_is_final(const struct stderr_reason *r);

#endif
