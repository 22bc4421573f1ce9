/* load.h - reads a recording into a plan.
 *
 * Form      requests that another version of the sanitizer recorded are sanitized again
 *           (source_sanitize_message()).
 * Owns      nothing: `scratch` holds the body that is being added.
 * Errors    MI_EFULL, MI_ENOMEM, and errors of the source.
 * Blocks    on the source. */
#ifndef MI_REPLAY_PLAN_LOAD_H
#define MI_REPLAY_PLAN_LOAD_H

#include "replay/plan/exchanges.h"

/* Adds at most `messages` messages, and finishes the plan after the last one. Returns 0 or an
 * error. */
MI_MUST int plan_load(struct plan *p, struct source *s, size_t messages, struct buf *scratch);
/* Reads the request of an exchange again, into `scratch`. Returns 0; MI_ENOENT: the request was
 * deleted; or an error. */
MI_MUST int plan_read_request(struct plan *p, struct source *s, uint32_t exchange,
                              struct buf *scratch, struct rpc *ret);

#endif
