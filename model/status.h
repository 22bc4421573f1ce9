/* status.h - determines the status of a call (docs/vault.md, `invocations`).
 *
 * Copies    of these rules: call_status() in ship/postgres/calls.sql, the view `invocations` in
 *           vault/store/schema.c, and invocation_make_from_answer() for the log directory. `failed`
 *           in ship/postgres/views.sql copies call_status_failed().
 * Blocks    never. Pure. */
#ifndef MI_MODEL_STATUS_H
#define MI_MODEL_STATUS_H

#include "model/values.h"

/* Returns the status of a request that no message has ended yet. */
enum call_status call_status_before_answer(enum row_action request_action);
/* Returns the status of a request that this message ends (model/calls.h). finding: the names of the
 * message's findings, as in the column messages.finding. */
enum call_status call_status_after_message(enum row_action request_action, enum row_kind kind,
                                           enum row_origin origin, struct slice finding);
/* Returns the status of a single message. For an answer, this is the status that it would give to
 * its request, even if it is late and ends nothing. For any other message, this is CALL_REFUSED if
 * the message was rejected, otherwise CALL_UNKNOWN. */
enum call_status message_status(enum row_kind kind, enum row_action action, enum row_origin origin,
                                struct slice finding, enum row_action request_action);
/* Returns whether a call with this status failed. Open, cancelled and interrupted calls have not
 * failed. */
bool call_status_failed(enum call_status s);

/* Returns whether a list of findings contains a name, also as a part of a longer name. */
bool finding_is_listed(struct slice finding, const char *name);

#endif
