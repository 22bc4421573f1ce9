/* answer.h - answers of the interposer itself: errors, and the result that ends a subscription.
 *
 * Changes   out[ROW_S2C], own_bytes, scratch, spare; closes the requests that it answers.
 * Errors    if memory runs out, an error is written into memory that was set aside. When
 *           this memory is full, the connection to the receiver is closed, so that the receiver
 *           does not wait forever. */
#ifndef MI_PROXY_SESSION_ANSWER_H
#define MI_PROXY_SESSION_ANSWER_H

#include "proxy/session/message.h"
#include "proxy/session/reply.h"

/* Sets memory aside for errors, unless t->spare is already set. */
void answer_reserve_error_memory(struct traffic *t);
/* Returns a text that says what is wrong with JSON that is not a message. */
const char *answer_explain_non_message(findings f);
/* Records a client's line as rejected and answers with an error. If an invalid line answers a
 * pending request of the server, the server also gets an error. Returns the seq of the line. */
uint64_t answer_reject_message(struct traffic *t, struct message *x, int code, const char *why,
                               const char *cause);
/* Like answer_reject_message(); the error also names the invalid argument and the reason, from f. f
 * may be NULL. */
uint64_t answer_reject_arguments(struct traffic *t, struct message *x, int code, const char *why,
                                 const char *cause, const struct schema_fault *f);
/* Like answer_reject_message(), for a call that equals a call which may have run. */
uint64_t answer_reject_repeat(struct traffic *t, struct message *x, const char *why,
                              const struct repeat *r);
/* Records a repeated call as dropped, and answers it with the late result or error of the earlier
 * call (`text`). Returns the seq of the line. */
uint64_t answer_repeat_with_late_result(struct traffic *t, struct message *x, struct slice text,
                                        const struct repeat *r);
/* Records the server's answer to p as rejected; the client gets an error instead. */
void answer_replace_rejected_answer(struct traffic *t, struct message *x, struct pending *p,
                                    const char *why, const char *cause);
/* Answers p with an error instead of the server's answer, which the caller has recorded. */
void answer_client_of_refused_request(struct traffic *t, struct pending *p, const char *why,
                                      const char *cause);
/* Sends an error with this id (JSON text; {NULL, 0} stands for null). Closes no pending request. */
void answer_send_error(struct traffic *t, enum row_direction to, struct slice id, uint64_t seq,
                       int code, const char *why, const char *cause);
/* Answers a pending request of the client with an error because there is no server, and closes the
 * request. status: CALL_SERVER_GONE, or CALL_INTERRUPTED if the server is not to blame. */
void answer_for_missing_server(struct traffic *t, struct pending *p, enum call_status status,
                               const char *cause, const char *why);
/* Answers p with an error when the server has ended, or closed its stdin, before it answered. why:
 * a text that says how. The error adds whether the server had read the request and, for a request
 * with effects, whether the call may have run. */
void answer_request_of_ended_server(struct traffic *t, struct pending *p, enum call_status status,
                                    const char *cause, const char *why);
/* Answers p with an error because its server hangs and will be killed. Abandons p. */
void answer_request_of_hung_server(struct traffic *t, struct pending *p, const char *why);
/* Answers a pending request whose deadline has passed, and abandons it. */
void answer_timed_out_request(struct traffic *t, struct pending *p, int64_t timeout_us,
                              const char *cause, const char *why);
/* Answers a subscriptions/listen with the result that a server sends when it ends the session
 * (mcp-wire.md 3.3). */
void answer_subscription_with_end(struct traffic *t, struct pending *p);
/* Returns true if this invalid line was meant as the answer to a pending request. */
bool answer_is_malformed(struct traffic *t, const struct message *x);
/* If this invalid line of the client answers a pending request of the server, sends an error to
 * the server, and no longer pauses the client's deadlines. The caller records the line. */
void answer_server_with_error(struct traffic *t, const struct message *x);
/* If this invalid line of the server answers a pending request, records the line, answers the
 * client with an error and returns true. */
bool answer_malformed_line(struct traffic *t, struct message *x);

#endif
