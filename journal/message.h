/* message.h - a message as the bytes of a journal: the most frequent entry, with a form of its own.
 *
 * Form      a fixed part, the body, then the texts that are not within the body (journal/form.h).
 * Owns      nothing. Texts of a read row point into the bytes.
 * Errors    MI_EINVAL: the bytes are not a message; every length and value is checked.
 * Blocks    never. Pure. */
#ifndef MI_JOURNAL_MESSAGE_H
#define MI_JOURNAL_MESSAGE_H

#include "journal/entry.h"

size_t message_size(const struct row *r); /* bytes that message_write() writes */
void message_write(const struct row *r, char *to);
MI_MUST int message_read(struct slice bytes, struct row *ret);

#endif
