/* clean.h - what people get to see of a message passes the sanitizer, with the rules in force.
 *
 * Errors    MI_ENOMEM: then nothing may be shown.
 * Blocks    never. */
#ifndef MI_REPLAY_CLEAN_H
#define MI_REPLAY_CLEAN_H

#include "base/buf.h"

/* A JSON value, which is judged together with its key, the last part of the pointer. Appended to b. */
MI_MUST int clean_value(struct buf *b, struct slice pointer, struct slice value);

#endif
