/* match.h - the recorded exchange that answers a request, or why there is none.
 *
 * Rules     equal requests (canon.h) are answered in recorded order; when they run out the last one again, or
 *           with `repeat_fail` none. With `strict_order` only the next recorded request will do; ping,
 *           initialize and server/discover are free. tasks/get is asked as often as the client likes.
 *           An equal hash is not enough: the recorded request is read again and compared.
 * Owns      scratch; match_close() frees it. Plan, source and rules are borrowed.
 * Cost      one look-up and one read of the source, however large the recording; a miss looks at all of it.
 * Blocks    on the source. */
#ifndef MI_REPLAY_MATCH_H
#define MI_REPLAY_MATCH_H

#include "replay/plan.h"
#include "replay/report.h"

struct match {
    struct plan *plan;
    struct source *source;
    const struct canon_rules *rules;
    bool repeat_fail, strict_order;
    uint32_t expected;                 /* with strict_order: the exchange that is next */
    struct buf key, other, text, near; /* owned */
};

enum match_result {
    MATCH_MISS,
    MATCH_FIRST, /* an exchange that was not asked before */
    MATCH_AGAIN, /* the last of its kind, once more */
};

void match_close(struct match *m);
/* Reads messages until some hundred more are planned. *ret_done: there are no more. 0 or an error. */
MI_MUST int match_load(struct match *m, bool *ret_done);
/* enum match_result, with *ret on a match and *ret_why on a miss; or MI_ENOMEM, MI_EFULL, MI_ESTORE, MI_EIO.
 * The request is in sanitized form. */
MI_MUST int match_find(struct match *m, const struct rpc *request, uint32_t *ret,
                       enum report_kind *ret_why);
/* Fills in what a report of a miss tells, beside kind, method and target: the nearest recorded request,
 * where it differs, and the option that would accept it. Good until the next call. 0 or an error. */
MI_MUST int match_explain(struct match *m, const struct rpc *request, struct report_finding *f);

#endif
