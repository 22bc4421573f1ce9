/* check_inner.h - what the files of the check report share: check.c gathers, check_write.c writes text and JSON,
 * check_ci.c what machines of CI read.
 *
 * Only cli/check*.c include this. */
#ifndef MI_CLI_CHECK_INNER_H
#define MI_CLI_CHECK_INNER_H

#include "cli/check.h"

/* ---- check.c ---- */

struct slice check_name(const struct check_report *r, const struct check_source *x);
/* "tools/call echo", as people may see it, in b; empty: it has none. */
struct slice check_subject(const struct check_report *r, const struct check_found *f,
                           struct buf *b);
/* What the finding means, and what more is known of this one. */
void check_sentence(const struct check_report *r, const struct check_found *f, struct buf *b);

/* ---- check_ci.c ---- */

void check_junit(const struct check_report *r, struct buf *b);
void check_sarif(const struct check_report *r, struct buf *b);

#endif
