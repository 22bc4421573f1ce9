/* revisions.h - shared by protocol.c, with the rules of all revisions, the files with the rules of one subject, modern.c,
 * with other rules of 2026-07-28, and require.c, with checks that several use. Internal to wire/mcp/. Nothing here
 * blocks. */
#ifndef MI_WIRE_MCP_REVISIONS_H
#define MI_WIRE_MCP_REVISIONS_H

#include "wire/mcp/protocol.h"

/* Whether only revision 2026-07-28 was used on this connection. */
static inline bool protocol_is_modern_only(const struct protocol *p)
{
    return p->modern && p->phase == PHASE_NEW;
}

/* ---- require.c ---- */

/* Whether the member is missing or has another type. Then p->blame names the member. */
bool protocol_lacks_member(struct protocol *p, const uint8_t *have, enum field f,
                           enum json_type type);
/* RULE_UNDECLARED_CAPABILITY if the client's capabilities, `has`, include the capability that this request of the
 * server needs, but not the necessary part of it. A missing capability is reported by check_capability(). */
breaches protocol_check_part(const struct method *k, struct json_value params, uint32_t has);

/* ---- error_data.c ---- */

/* Checks the code of an error, and the data that the code requires. */
breaches protocol_check_error(struct protocol *p, const struct rpc *m, enum revision revision);

/* ---- list.c ---- */

/* Checks the entries of a list, over its pages. m: a result of `a->method`, which may also be no list. */
breaches protocol_check_page(struct protocol *p, const struct rpc *m,
                             const struct protocol_asked *a);
/* Handles a notification of the server that a list has changed: an entry may move from a page that
 * was read to a later page. */
void protocol_list_changed(struct protocol *p, const struct rpc *m);

/* ---- modern.c ---- */

/* Reads and checks the _meta of a request. */
breaches protocol_check_meta(struct protocol *p, const struct rpc *m, struct protocol_asked *a);
unsigned
protocol_log_level(struct slice name); /* level of log messages, from 1; 0: unknown level */
/* Checks that a pending request has requested log messages of this level. */
breaches protocol_check_log_level(const struct protocol *p, const struct rpc *m);
/* *ret_plain: whether it is an ordinary result of the method, not input_required or a task. */
breaches protocol_check_modern_result(struct protocol *p, const struct rpc *m,
                                      const struct protocol_asked *a, bool *ret_plain);

/* ---- input.c ---- */

/* Returns a hash of the scalars in a value and their keys, independent of the order of members, up
 * to 16 KiB; 0: longer, or out of memory. */
uint64_t protocol_hash_value(struct json_value v);
/* Returns a hash of the request's target, which a retry has as well; 0: too long. */
uint64_t protocol_hash_target(const struct rpc *m, const struct method *k);
/* Checks the requests for input in a result or a task, and that the client has the capabilities for them. */
breaches protocol_check_inputs(struct protocol *p, struct json_value requests,
                               uint32_t capabilities);
/* Checks that each URI in a list of roots begins with file://. */
bool protocol_roots_invalid(struct protocol *p, struct json_value roots);
/* Checks the lists of roots in the inputResponses of a request. */
breaches protocol_check_responses(struct protocol *p, const struct rpc *m);
breaches protocol_check_input_required(struct protocol *p, const struct rpc *m,
                                       const struct protocol_asked *a);
/* Checks a retry: it must have a new id and the requestState of the input_required result, if that
 * had one, and must repeat the request. */
breaches protocol_check_retry(const struct protocol *p, const struct rpc *m,
                              const struct protocol_asked *a);

/* ---- stream.c ---- */

void protocol_stream_open(struct protocol *p, const struct rpc *m, const struct protocol_asked *a);
/* Forgets the stream of a request that was rejected. */
void protocol_stream_forget(struct protocol *p, uint64_t id);
void protocol_streams_close(struct protocol *p);
/* Ends the stream whose request's id has this hash. Returns false if no stream has this id. */
bool protocol_stream_note_end(struct protocol *p, enum protocol_party by, uint64_t id);
/* Checks that a notification of a stream names an open stream, and has a kind that the server
 * agreed to. Older revisions have no streams. */
breaches protocol_check_streamed(struct protocol *p, const struct rpc *m);
/* Checks the result that ends a stream. Call it before protocol_stream_note_end(). */
breaches protocol_stream_check_result(struct protocol *p, const struct rpc *m,
                                      const struct protocol_asked *a);

/* ---- task.c ---- */

breaches protocol_check_task_created(struct protocol *p, const struct rpc *m,
                                     const struct protocol_asked *a);
/* Checks a request of 2026-07-28 that names a task, and its result. */
breaches protocol_note_task_request(struct protocol *p, const struct rpc *m,
                                    struct protocol_asked *a);
breaches protocol_check_task_answer(struct protocol *p, const struct rpc *m,
                                    const struct protocol_asked *a);
breaches protocol_check_task_notification(struct protocol *p, const struct rpc *m);
/* Checks the status of a task of 2025-11-25. */
breaches protocol_check_legacy_task(struct protocol *p, struct json_value task);
/* Call it when a new request has this id: the id no longer identifies the request that created a
 * task. */
void protocol_forget_request(struct protocol *p, uint64_t id);
/* Whether the request with this id is finished and its task, which the client knows, is not. */
bool protocol_cancels_task(const struct protocol *p, uint64_t id);

#endif
