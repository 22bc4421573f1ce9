/* skip.h - decides which recorded requests are not sent to the live server, and why.
 *
 * Skipped   requests that may change something, unless --all; requests that the sanitizer changed;
 *           requests without a recorded answer of the server.
 * Errors    as in state.h.
 * Blocks    while it asks the live server for its tools. */
#ifndef MI_REPLAY_VERIFY_SKIP_H
#define MI_REPLAY_VERIFY_SKIP_H

#include "replay/verify/state.h"

struct verify_skip {
    const char *reason, *remedy;
};

/* *ret: why the request (item i) is not sent; NULL: it is sent. answer: the recorded answer; all zero
 * if there is none. */
MI_MUST int verify_skip(struct verify *v, uint32_t i, const struct rpc *request,
                        const struct rpc *answer, const struct verify_skip **ret);

#endif
