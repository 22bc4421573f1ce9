/* revisions.h - functions that the files of protocol.h share. protocol.c has the rules of all
 * revisions, modern.c those of 2026-07-28, require.c checks that several files use; each of the
 * other files has the rules of one subject. Internal to wire/mcp/. Nothing here blocks. */
#ifndef MI_WIRE_MCP_REVISIONS_H
#define MI_WIRE_MCP_REVISIONS_H

#include "wire/mcp/protocol.h"

/* Whether only revision 2026-07-28 was used on this connection. */
static inline bool protocol_is_modern_only(const struct protocol *p)
{
    return p->modern && p->phase == PHASE_NEW;
}

/* ---- require.c ---- */

/* Returns whether the member is missing or has another type. If so, sets p->blame to the name of
 * the member. */
bool protocol_lacks_member(struct protocol *p, const uint8_t *have, enum field f,
                           enum json_type type);
/* Checks the client's capabilities, `has`, for a request of the server. From 2025-11-25 on, some
 * requests need a part of a capability: the mode of an elicitation, or tools in sampling. Returns 0
 * if the whole capability is missing, because check_capability() reports that. */
breaches protocol_check_subcapability(const struct method *k, struct json_value params,
                                      uint32_t has);

/* ---- error_data.c ---- */

/* Checks the code of an error, and the data that the code requires. */
breaches protocol_check_error(struct protocol *p, const struct rpc *m, enum revision revision);

/* ---- list.c ---- */

/* Checks the entries of a list, over all its pages. m: a result; a: the request that it answers,
 * whose `method` must not be NULL. Does nothing if the result is not a list. */
breaches protocol_check_page(struct protocol *p, const struct rpc *m,
                             const struct protocol_asked *a);
/* Handles a notification of the server that a list has changed: an entry may now move from a page
 * that the client has read to a later page. */
void protocol_handle_list_changed(struct protocol *p, const struct rpc *m);

/* ---- modern.c ---- */

/* Reads and checks the _meta of a request. */
breaches protocol_check_meta(struct protocol *p, const struct rpc *m, struct protocol_asked *a);
/* Returns the number of a level of log messages, from 1; 0 if the level is unknown. */
unsigned protocol_log_level_number(struct slice name);
/* Checks that a pending request has asked for log messages of the level that this message has. */
breaches protocol_check_log_level(const struct protocol *p, const struct rpc *m);
/* *ret_plain: true if `m` is an ordinary result of the method; false if it is input_required or a
 * task */
breaches protocol_check_modern_result(struct protocol *p, const struct rpc *m,
                                      const struct protocol_asked *a, bool *ret_plain);

/* ---- input.c ---- */

/* Returns a hash of the scalars in a value and their keys, independent of the order of members; 0
 * if the value is longer than 16 KiB, or if out of memory. */
uint64_t protocol_hash_scalars_of_value(struct json_value v);
/* Returns a hash of the request's target, which is the same for a retry; 0 if the target is too
 * long. */
uint64_t protocol_hash_of_target(const struct rpc *m, const struct method *k);
/* Checks the requests for input in a result or a task: their form, and whether the client has the
 * capabilities that they need. */
breaches protocol_check_inputs(struct protocol *p, struct json_value requests,
                               uint32_t capabilities);
/* Returns whether a URI in a list of roots does not begin with file://. If so, sets p->blame. */
bool protocol_has_invalid_roots(struct protocol *p, struct json_value roots);
/* Checks the lists of roots in the inputResponses of a request. */
breaches protocol_check_responses(struct protocol *p, const struct rpc *m);
breaches protocol_check_input_required(struct protocol *p, const struct rpc *m,
                                       const struct protocol_asked *a);
/* Checks a retry: it must have a new id, and must repeat the request. If the input_required result
 * had a requestState, the retry must have the same requestState. */
breaches protocol_check_retry(const struct protocol *p, const struct rpc *m,
                              const struct protocol_asked *a);

/* ---- stream.c ---- */

void protocol_stream_open(struct protocol *p, const struct rpc *m, const struct protocol_asked *a);
/* Forgets the stream of a request that was rejected. */
void protocol_stream_remove(struct protocol *p, uint64_t id);
void protocol_streams_close(struct protocol *p);
/* Ends the stream whose request's id has this hash. Returns whether there was such a stream. Also
 * returns true if there were more than PROTOCOL_STREAMS streams, because the stream may have been
 * forgotten. */
bool protocol_stream_mark_ended(struct protocol *p, enum protocol_party by, uint64_t id);
/* Checks that a notification of a stream names an open stream and is of a kind that the server has
 * agreed to. Older revisions have no streams. */
breaches protocol_check_stream_notice(struct protocol *p, const struct rpc *m);
/* Checks the result that ends a stream. Call it before protocol_stream_mark_ended(). */
breaches protocol_stream_check_result(struct protocol *p, const struct rpc *m,
                                      const struct protocol_asked *a);

/* ---- task.c ---- */

breaches protocol_check_created_task(struct protocol *p, const struct rpc *m,
                                     const struct protocol_asked *a);
/* These functions check a request of 2026-07-28 that names a task, and the answer to such a
 * request. */
breaches protocol_check_task_request(struct protocol *p, const struct rpc *m,
                                     struct protocol_asked *a);
breaches protocol_check_task_answer(struct protocol *p, const struct rpc *m,
                                    const struct protocol_asked *a);
breaches protocol_check_task_notification(struct protocol *p, const struct rpc *m);
/* Checks the status of a task of 2025-11-25. */
breaches protocol_check_legacy_task(struct protocol *p, struct json_value task);
/* Forgets that a request with this id created a task. Call this when a new request has the same
 * id. */
void protocol_forget_request(struct protocol *p, uint64_t id);
/* Whether the request with this id has ended and has created a task. Returns false if the client
 * does not know the task, or if the task has ended. */
bool protocol_request_has_open_task(const struct protocol *p, uint64_t id);

#endif
