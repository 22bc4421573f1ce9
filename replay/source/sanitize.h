/* sanitize.h - sanitizes parts of messages for display, with the rules in force.
 *
 * Errors    MI_ENOMEM: do not show the value.
 * Blocks    never. */
#ifndef MI_REPLAY_SOURCE_SANITIZE_H
#define MI_REPLAY_SOURCE_SANITIZE_H

#include "base/buf.h"

/* Appends the sanitized JSON value to `b`. The last token of the pointer is the value's key; rules
 * may depend on this key. */
MI_MUST int sanitize_value(struct buf *b, struct slice pointer, struct slice value);

#endif
