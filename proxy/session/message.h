/* message.h - one message: its row in the journal and its place in the outbox.
 *
 * Rules     each message is recorded, whether it is forwarded or not. Only staged messages are
 *           sent.
 * Owns      at most a copy of its line; a struct message is valid while its line is being handled.
 * Errors    if there is no memory to stage a message, the connection to the receiver is closed
 *           (outbox_discard_after_error) and a line is logged, because a message recorded as
 *           forwarded must not be lost silently. */
#ifndef MI_PROXY_SESSION_MESSAGE_H
#define MI_PROXY_SESSION_MESSAGE_H

#include "proxy/session/state.h"
#include "wire/line.h"

struct message {
    enum row_direction dir;
    struct line *line;  /* the line that contains the message */
    struct slice text;  /* the text to forward, after repairs, without its newline */
    size_t size;        /* number of bytes of the message as received */
    findings repairs;   /* findings about repairs of the line */
    breaches rules;     /* rules of MCP that the message violates */
    uint64_t batch_seq; /* seq of the batch that contains the message; 0: it is not in a batch */
    struct rpc m;
    struct rpc_id id; /* set only for a request: its id in comparable form (pending_make_id()) */
    /* for a tool call: what happens to it (enum repeat_decision), and the uncertain call that it
     * equals */
    struct repeat again;
    struct line copy; /* owned: the line, if a repair has changed its length; otherwise empty */
};

/* Frees the memory that the message owns; safe to call twice. */
void message_close(struct message *x);

/* Returns the row of a message, in which secrets in the client's answers to forms are replaced. The
 * row is valid until the next call. */
struct row make_message_row(struct traffic *t, const struct message *x, enum row_kind kind,
                            enum row_action action);
/* Replaces the text of the message by n bytes of a new chunk, and parses that text. The message
 * takes ownership of the chunk; the findings about the message do not change. Returns 0 or
 * MI_EPROTO. */
MI_MUST int message_replace_text(struct message *x, struct chunk *copy, size_t n);
/* Records the row of a message, and the repairs of the message. Returns the seq of the row. */
uint64_t message_append_to_journal(struct traffic *t, const struct row *row);
/* Call this function after a message was recorded without message_record(): records the repairs of
 * the message, as message_record() does. */
void message_report_repairs(struct traffic *t, uint64_t seq);
/* Records a message without staging it. Returns the seq of the message. */
uint64_t message_record(struct traffic *t, const struct message *x, enum row_kind kind,
                        enum row_action action);
/* Stages the message's text. The byte after the text becomes a newline. */
void message_add_text_to_outbox(struct traffic *t, const struct message *x);
/* Records and stages a message. Returns the seq of the message. */
uint64_t message_forward(struct traffic *t, const struct message *x, enum row_kind kind);
/* Records and stages the interposer's own request or notification. Returns its seq; 0: out of
 * memory. */
uint64_t message_record_and_stage(struct traffic *t, enum row_direction dir, struct outbox *to,
                                  struct slice text);
/* Appends the method and target for people, such as "tools/call slow", sanitized and truncated; the
 * target may be {NULL, 0}. */
void message_append_name(struct buf *b, struct slice method, struct slice target);

#endif
