/* protocol_inner.h - what the files of the protocol module share: protocol.c has the rules of all revisions,
 * protocol_modern.c those of 2026-07-28.
 *
 * Only wire/protocol*.c include this. */
#ifndef MI_WIRE_PROTOCOL_INNER_H
#define MI_WIRE_PROTOCOL_INNER_H

#include "wire/protocol.h"

/* Nothing but 2026-07-28 was spoken here. */
static inline bool protocol_modern_only(const struct protocol *p)
{
    return p->modern && p->phase == PHASE_NEW;
}

/* ---- protocol.c ---- */

/* It has another type, or is not there: p->blame names it. */
bool protocol_lacks(struct protocol *p, const uint8_t *have, enum field f, enum json_type type);
/* `has`, the client's capabilities, are the one that this question to it needs, but not the part of it. Without the
 * whole, who looks at capabilities has said it. */
breaches protocol_part(const struct method *k, struct json_value params, uint32_t has);

/* ---- protocol_modern.c ---- */

/* What a request says of itself in its _meta. */
breaches protocol_meta(struct protocol *p, const struct rpc *m, struct protocol_asked *a);
/* A retry says what it got: the state, exactly, under an id of its own. Without a state it answers a result
 * that had none. */
breaches protocol_retry(const struct protocol *p, const struct rpc *m, uint64_t id);
void protocol_stream_open(struct protocol *p, const struct rpc *m, uint64_t id);
void protocol_stream_over(struct protocol *p, uint64_t id); /* of any request; 0 is fine */
/* A notification that belongs to a stream names it; the older revisions have no streams. */
breaches protocol_streamed(struct protocol *p, const struct rpc *m);
/* *ret_plain: it is a result of the method's own kind. */
breaches protocol_modern_result(struct protocol *p, const struct rpc *m,
                                const struct protocol_asked *a, bool *ret_plain);

#endif
