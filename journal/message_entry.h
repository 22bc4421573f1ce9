/* message_entry.h - writes and reads a message as the bytes of a journal entry. Messages are the
 * most frequent entries, so they have a form of their own. An answer that ends an invocation is
 * stored together with this invocation.
 *
 * Form      a fixed part; the numbers that are not 0; the positions of the texts that are not
 *           missing; the body; the texts that are not within the body (journal/entry_form.h). A
 *           call of 300 B with its answer takes 1.0 KB.
 * Owns      nothing. Texts that were read point into the bytes.
 * Errors    MI_EINVAL: the bytes are not a message; every length and value is checked.
 * Blocks    never. Pure. */
#ifndef MI_JOURNAL_MESSAGE_ENTRY_H
#define MI_JOURNAL_MESSAGE_ENTRY_H

#include "journal/entry.h"

/* In these functions, x is read only if r->ends_invocation is true. */
/* Returns the number of bytes that message_write() writes. */
size_t message_written_size(const struct row *r, const struct invocation *x);
void message_write(const struct row *r, const struct invocation *x, char *to);
MI_MUST int message_read(struct slice bytes, struct row *ret, struct invocation *ret_x);

#endif
