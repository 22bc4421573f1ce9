/* match.h - finds the recorded exchange that answers a request, or the reason why there is none.
 *
 * Rules     equal requests (canon.h) are answered in recorded order. Further equal requests get the
 *           last answer again, or with `repeat_fail` do not match; tasks/get may always be
 *           repeated. With `strict_order` only the next recorded request matches. ping, initialize
 *           and server/discover are exempt from both options. Requests with equal hashes are read
 *           again and compared.
 * Owns      scratch; match_close() frees it. Plan, source and rules are borrowed.
 * Cost      one look-up and one read of the source for a match; a miss reads the whole recording.
 * Blocks    on the source. */
#ifndef MI_REPLAY_MOCK_MATCH_H
#define MI_REPLAY_MOCK_MATCH_H

#include "replay/mock/misses.h"
#include "replay/plan/exchanges.h"

struct match {
    struct plan *plan;
    struct source *source;
    const struct canon_rules *rules;
    bool repeat_fail, strict_order;
    uint32_t expected;                 /* index of the expected exchange, if strict_order is true */
    struct buf key, other, text, near; /* owned */
};

enum match_result {
    MATCH_MISS,
    MATCH_FIRST, /* the exchange was not requested before */
    MATCH_AGAIN, /* all equal exchanges were requested: the last one is repeated */
};

void match_close(struct match *m);
/* Adds the next few hundred messages to the plan. Sets *ret_done if all messages were read. Returns
 * 0 or an error. */
MI_MUST int match_load_messages(struct match *m, bool *ret_done);
/* Finds the exchange for a sanitized request. Returns enum match_result, with the exchange in *ret,
 * or the reason of a miss in *ret_why; or MI_ENOMEM, MI_EFULL, MI_ESTORE, MI_EIO. */
MI_MUST int match_find_exchange(struct match *m, const struct rpc *request, uint32_t *ret,
                                enum miss_kind *ret_why);
/* Completes a finding whose kind, method and target are set: adds the nearest recorded request, the
 * differences from it, and the options that would accept the request. The texts are valid until the
 * next call of this function. Returns 0 or an error. */
MI_MUST int match_explain_miss(struct match *m, const struct rpc *request, struct miss *f);

#endif
