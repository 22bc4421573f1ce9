/* message_entry.h - a message as the bytes of a journal: the most frequent entry, with a form of its own. An answer may be
 * followed by the invocation that it ends.
 *
 * Form      a fixed part; the numbers that are not 0; the places of the texts that are not missing; the body; the texts
 *           that are not within the body (journal/entry_form.h). A call of 300 B with its answer takes 1.0 KB.
 * Owns      nothing. Texts that were read point into the bytes.
 * Errors    MI_EINVAL: the bytes are not a message; every length and value is checked.
 * Blocks    never. Pure. */
#ifndef MI_JOURNAL_MESSAGE_ENTRY_H
#define MI_JOURNAL_MESSAGE_ENTRY_H

#include "journal/entry.h"

/* x is used only if r->ends_invocation. */
size_t message_size(const struct row *r, const struct invocation *x); /* returns the number of bytes
                                                                       * to write */
void message_write(const struct row *r, const struct invocation *x, char *to);
MI_MUST int message_read(struct slice bytes, struct row *ret, struct invocation *ret_x);

#endif
