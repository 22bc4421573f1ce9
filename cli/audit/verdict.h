/* verdict.h - what `audit check` prints.
 *
 * Owns      nothing.
 * Errors    EXIT_TROUBLE, after a message on stderr.
 * Blocks    as stdout does. */
#ifndef MI_CLI_AUDIT_VERDICT_H
#define MI_CLI_AUDIT_VERDICT_H

#include "evidence/bundle.h"

#define VERDICT_MESSAGES 64 /* the text lists the messages of a bundle that has no more records */

struct verdict {
    const struct bundle *b; /* borrowed */
    const struct public_key *key;
    const char *why; /* not proven: a clause */
    bool proven;
    bool bodies;        /* the text has the bodies of the messages, too */
    const char *anchor; /* the file that has its checkpoint, too; NULL: not compared */
};

MI_MUST int verdict_text(const struct verdict *v);
MI_MUST int verdict_json(const struct verdict *v);

#endif
