/* message_notes.h - what a line of the timeline says about a message: a word for WHAT, and notes in
 * brackets.
 *
 * Blocks    never. Pure. */
#ifndef MI_CLI_LOOK_TIMELINE_MESSAGE_NOTES_H
#define MI_CLI_LOOK_TIMELINE_MESSAGE_NOTES_H

#include "cli/frame/out.h"
#include "vault/query/operation_list.h"

/* Returns the word for the column WHAT: the status of the request if the message is an answer,
 * otherwise the kind of the message. */
const char *message_outcome_word(const struct query_message *m, enum out_style *ret_style);
/* Appends notes such as "refused: not-json" or "by interposer, to 7"; nothing for an ordinary
 * message. unanswered: the message is a request without an answer. */
void message_notes_append(struct buf *b, const struct query_message *m, bool unanswered);
/* Appends notes if the message belongs to a call of several requests: "continues 3"; "for 3" (a
 * request of the other side); "ends 3: 2 requests in 20.1s, of which a person took 20.0s". */
void operation_notes_append(struct buf *b, const struct query_message *m,
                            const struct operation_list *l);

#endif
