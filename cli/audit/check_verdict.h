/* check_verdict.h - prints the result of `audit check`.
 *
 * Owns      nothing.
 * Errors    EXIT_TROUBLE, after a message on stderr.
 * Blocks    as stdout does. */
#ifndef MI_CLI_AUDIT_CHECK_VERDICT_H
#define MI_CLI_AUDIT_CHECK_VERDICT_H

#include "evidence/bundle.h"

/* the text lists messages only if the bundle has at most this many records */
#define VERDICT_MESSAGES 64

struct verdict {
    const struct bundle *b;       /* borrowed */
    const struct public_key *key; /* borrowed; the key of --key */
    const char *why;              /* borrowed; a clause that says why the bundle is not proven */
    bool proven;
    bool bodies;        /* the text includes the bodies of messages */
    const char *anchor; /* file of --checkpoint that has the bundle's checkpoint; NULL: none */
};

MI_MUST int verdict_print_text(const struct verdict *v);
MI_MUST int verdict_print_json(const struct verdict *v);

#endif
