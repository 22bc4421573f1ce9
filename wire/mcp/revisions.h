/* revisions.h - shared by protocol.c, with the rules of all revisions, modern.c, with the rules of 2026-07-28, and
 * require.c, with checks that both use. Internal to wire/mcp/. Nothing here blocks. */
#ifndef MI_WIRE_MCP_REVISIONS_H
#define MI_WIRE_MCP_REVISIONS_H

#include "wire/mcp/protocol.h"

/* Only revision 2026-07-28 was used on this connection. */
static inline bool protocol_modern_only(const struct protocol *p)
{
    return p->modern && p->phase == PHASE_NEW;
}

/* ---- require.c ---- */

/* Is the member missing, or of another type? Then p->blame names it. */
bool protocol_lacks(struct protocol *p, const uint8_t *have, enum field f, enum json_type type);
/* RULE_UNDECLARED_CAPABILITY if the client's capabilities, `has`, include the capability that this request of the
 * server needs, but not the necessary part of it. A missing capability is reported by check_capability(). */
breaches protocol_part(const struct method *k, struct json_value params, uint32_t has);

/* ---- modern.c ---- */

/* Reads and checks the _meta of a request. */
breaches protocol_meta(struct protocol *p, const struct rpc *m, struct protocol_asked *a);
/* Checks a retry: it must have a new id, and the requestState of the input_required result, if that had one. */
breaches protocol_retry(const struct protocol *p, const struct rpc *m, uint64_t id);
void protocol_stream_open(struct protocol *p, const struct rpc *m, uint64_t id);
void protocol_stream_over(struct protocol *p, uint64_t id); /* the id of any request, or 0 */
/* Checks that a notification of a stream names an open stream. Older revisions have no streams. */
breaches protocol_streamed(struct protocol *p, const struct rpc *m);
/* *ret_plain: it is an ordinary result of the method, not input_required or a task. */
breaches protocol_modern_result(struct protocol *p, const struct rpc *m,
                                const struct protocol_asked *a, bool *ret_plain);

#endif
