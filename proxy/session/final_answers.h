/* final_answers.h - answers to all pending requests of the client when the server or the session
 * ends. */
#ifndef MI_PROXY_SESSION_FINAL_ANSWERS_H
#define MI_PROXY_SESSION_FINAL_ANSWERS_H

#include "proxy/session/state.h"

/* Sends an error for each pending request of the client, because the server cannot answer any more.
 * status: see answer_request_of_ended_server(). `cause` is a stable word, `why` a sentence. `read`:
 * number of bytes that the server has read. */
void final_answers_send_errors(struct traffic *t, enum call_status status, const char *cause,
                               const char *why, uint64_t read);
/* Call this function when the client ends the session: each of its subscriptions gets the result
 * that ends a subscription. */
void final_answers_end_subscriptions(struct traffic *t);
/* Call this function when recording has failed for good: drops the messages staged for the client,
 * which are not recorded. Requests whose answers were among them get an error. */
void final_answers_drop_unrecorded(struct traffic *t, const char *cause, const char *why);
/* Call this function when recording has failed for good: each pending request of the client gets an
 * error. */
void final_answers_send_record_errors(struct traffic *t, const char *cause, const char *why);

#endif
