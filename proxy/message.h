/* message.h - one message under way: its row, its request, its place in the outbox.
 *
 * The inner half of traffic.h, by what is done: traffic.c decides about lines, message.c about messages, batch.c
 * about arrays of them, judge.c by the rules of MCP, expire.c about requests whose time is over; answer.c writes the
 * errors of ours, learn.c keeps what the session's row has of its messages.
 *
 * Rules     every message is recorded, passed on or not; what is not staged goes nowhere.
 * Owns      nothing: a struct message is good while its line is read.
 * Errors    without memory for what a peer waits for, the connection to it ends (outbox_break), and stderr is told.
 * Blocks    never. */
#ifndef MI_PROXY_MESSAGE_H
#define MI_PROXY_MESSAGE_H

#include "proxy/reply.h"
#include "proxy/traffic.h"

struct message {
    enum row_direction dir;
    struct line *line;  /* where it lies */
    struct slice text;  /* what goes on, without its newline: the line less what was repaired */
    size_t size;        /* bytes as received */
    findings repairs;   /* of the line */
    breaches rules;     /* of MCP that it breaks */
    uint64_t batch_seq; /* the line it is a member of; 0: it is a line of its own */
    struct rpc m;
};

/* ---- message.c ---- */

/* A valid message or batch: record it, correlate it, stage it (a batch's member is not staged). */
void message_handle(struct traffic *t, struct message *x);
/* Records one valid message: the row, the table of open requests, the log. False: it must not go on. */
bool message_note(struct traffic *t, struct message *x);
/* The row of a message. */
struct row message_row(const struct message *x, const char *kind, enum row_action action);
/* Stage the line as it is and record it under this kind; its seq. */
uint64_t message_pass(struct traffic *t, struct message *x, const char *kind);
/* Record what goes nowhere; its seq. */
uint64_t message_drop(struct traffic *t, struct message *x, const char *kind,
                      enum row_action action);
/* Records a message of our own, a request or a notification, and stages it; its seq, 0: no memory. */
uint64_t message_own(struct traffic *t, enum row_direction dir, struct outbox *to,
                     struct slice text);
/* An open request ends: for good, or an answer may still come and is to be kept back. dir: who asked. */
void message_close(struct traffic *t, enum row_direction dir, struct pending *p);
void message_give_up(struct traffic *t, enum row_direction dir, struct pending *p);

/* ---- answer.c ---- */

/* Record a client's line as refused and answer with an error. */
void message_refuse(struct traffic *t, struct message *x, int code, const char *why,
                    const char *cause);
/* The same, with the place in the arguments and the reason; f may be NULL. */
void message_refuse_fault(struct traffic *t, struct message *x, int code, const char *why,
                          const char *cause, const struct schema_fault *f);
/* The server's answer is kept back, recorded, and the client gets an error in its place. */
void message_refuse_answer(struct traffic *t, struct message *x, struct pending *p, const char *why,
                           const char *cause);
/* An error with this id, JSON text, or {NULL, 0} for null, where no entry of the table is to be closed. */
void message_reply(struct traffic *t, enum row_direction to, struct slice id, uint64_t seq,
                   int code, const char *why, const char *cause);
/* Ends an open subscriptions/listen with the session, as a server does that ends (mcp-wire.md 3.3). */
void message_end_listen(struct traffic *t, struct pending *p);
/* Answers an open request of the client in the server's place, and closes it. */
void message_answer_for_server(struct traffic *t, struct pending *p, const char *cause,
                               const char *why);
/* The deadline of an open request has passed; it is given up. */
void message_answer_timeout(struct traffic *t, struct pending *p, int64_t timeout_us,
                            const char *cause, const char *why);
/* If a broken line of the server answers an open request, the client gets an error for it, the line is
 * recorded, and true comes back. */
bool message_malformed_answer(struct traffic *t, struct message *x);
/* The line of the log for a request that is over. */
struct action message_action(const struct traffic *t, const struct pending *p);

/* ---- judge.c: each notes in x->rules what the message breaks ---- */

/* False: --validate refuses it, it is recorded and answered, and must go no further. */
bool judge_request(struct traffic *t, struct message *x, struct protocol_asked *ret);
bool judge_notification(struct traffic *t, struct message *x);
bool judge_answer(struct traffic *t, struct message *x, struct pending *p);
/* The progress of a request, or, with NULL, of none that is open: noted; then, does it go on? */
void judge_progress(struct traffic *t, struct message *x, struct pending *p);
bool judge_progress_passes(struct traffic *t, struct message *x);

/* ---- batch.c ---- */

/* An array line (2025-03-26 only). */
void batch_handle(struct traffic *t, struct message *x);

/* ---- expire.c ---- */

/* "tools/call slow", clean and short, for people; the target may be {NULL, 0}. */
void message_name(struct buf *b, struct slice method, struct slice target);

/* ---- learn.c ---- */

/* Does the text of an error say that credentials are missing, wrong or expired? */
bool message_says_unauthorized(struct slice text);
/* What a request and a result tell of the session. */
void message_learn_request(struct traffic *t, const struct rpc *m, bool modern);
void message_learn_result(struct traffic *t, const struct pending *p, const struct rpc *m);

#endif
