/* rules.h - the rules of MCP, applied to each message.
 *
 * A violation is always noted in x->rules. Under --validate protocol a message that violates a MUST
 * is rejected: it is recorded, and its sender or the client that waits for it gets an error that
 * names the rule. */
#ifndef MI_PROXY_SESSION_RULES_H
#define MI_PROXY_SESSION_RULES_H

#include "proxy/session/message.h"

/* The following three functions return false if the message was rejected. *ret: what the rules
 * require of the answer. p: the request that x answers. */
bool rules_check_request(struct traffic *t, struct message *x, struct protocol_asked *ret);
bool rules_check_notification(struct traffic *t, struct message *x);
bool rules_check_answer(struct traffic *t, struct message *x, struct pending *p);
/* Checks a late answer, which is dropped. Returns false if the answer would be rejected if it were
 * not late. */
bool rules_check_late_answer(struct traffic *t, struct message *x, const struct pending *p);
/* Notes violations by a progress notification for p; p is NULL if the request is not pending. */
void rules_add_progress_breaches(struct traffic *t, struct message *x, struct pending *p);
/* Rejects a notification if the violations noted so far require a rejection. Returns false if the
 * notification was rejected. */
bool rules_check_progress(struct traffic *t, struct message *x);

#endif
