/* message_line.h - reads and writes the line of a message in a cassette (docs/cassette.md), with
 * one table of the members.
 *
 * A line has only values that differ from those of struct cassette_derived, which are derived from
 * the body. Three fields have special values here:
 *   size         below 0: unknown: use the size of the body in the line
 *   request_seq  the number of a message in the file; 0: none; below 0: not in the line
 *   batch_seq    not 0: the message is a member of the batch before it
 *
 * Owns      nothing.
 * Blocks    never. Pure. */
#ifndef MI_VAULT_CASSETTE_MESSAGE_LINE_H
#define MI_VAULT_CASSETTE_MESSAGE_LINE_H

#include "base/json_out.h"
#include "vault/cassette/derived.h"

/* Reads a line of this version of the format. If the line has no kind, the kind is KIND_UNKNOWN.
 * Texts of *ret are borrowed from `line` or `texts`; `texts` must have enough space reserved. 0, or
 * MI_EPROTO with the reason in `why`. */
MI_MUST int message_line_read(struct slice line, int version, struct buf *texts,
                              struct query_message *ret, struct buf *why);
/* Writes the members of m that differ from `derived`. is_msg: the body is JSON, written as such. */
void message_line_write(struct json_out *j, int version, const struct query_message *m,
                        const struct cassette_derived *derived, bool is_msg);

#endif
