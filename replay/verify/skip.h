/* skip.h - decides which recorded requests are not sent to the live server, and why.
 *
 * Skipped   requests that may change something, unless --all; requests that the sanitizer changed;
 *           requests without
 *           an answer of the server to compare with.
 * Errors    as in state.h.
 * Blocks    when the live server is asked for its tools first. */
#ifndef MI_REPLAY_VERIFY_SKIP_H
#define MI_REPLAY_VERIFY_SKIP_H

#include "replay/verify/state.h"

struct verify_skip {
    const char *reason, *remedy;
};

/* *ret: why item i, this request, is not sent; NULL: it is sent. answer: the recorded answer; all
 * zero if there is none. */
MI_MUST int verify_skip(struct verify *v, uint32_t i, const struct rpc *request,
                        const struct rpc *answer, const struct verify_skip **ret);

#endif
