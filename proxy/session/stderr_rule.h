/* stderr_rule.h - classifies a line of a server's stderr: does it say why the server ended? A table
 * has rules for the outputs of node, npm, python, uv, pip, docker, deno, bun, java, go, rust, ruby,
 * php, perl, .NET, shells and others. tests/stderr has samples of these outputs.
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_PROXY_SESSION_STDERR_RULE_H
#define MI_PROXY_SESSION_STDERR_RULE_H

#include "base/buf.h"

enum stderr_says {
    STDERR_DETAIL,    /* the line is a stack frame, a version, a hint or a warning */
    STDERR_FRAMES,    /* lines of a stack follow, up to an empty line */
    STDERR_TRACEBACK, /* indented lines of a stack follow, and then the reason */
    STDERR_CODE,      /* the line gives the code of an error, in the form code: 'NAME' */
    /* the line, or else the next line, says what caused the error that an earlier line reports */
    STDERR_CAUSE,
    STDERR_OTHER, /* no rule applies */
    /* the line has a word such as "error": an error, or a log line about an error */
    STDERR_MAYBE,
    STDERR_REASON, /* the line has the error that ended the program */
    /* like STDERR_REASON, but the next lines, if the same rule matches them, are its details */
    STDERR_REASON_TOP,
};

/* Classifies a line. The line must not be empty, and must have no escape sequences and no blanks at
 * its ends. *ret_text: the line without introduction and decoration. *ret_rule: identifies the
 * rule; NULL if none applies. */
enum stderr_says stderr_rule_classify(struct slice line, struct slice *ret_text,
                                      const void **ret_rule);
/* Returns true if a restarted server would end with the same error, for example because a package
 * does not exist. Returns false if rule is NULL. */
bool stderr_rule_error_will_recur(const void *rule);
/* Returns how many of the lines after this reason belong to it. */
unsigned stderr_rule_count_following_lines(struct slice reason);

#endif
