/* calls.h - the requests of a session, in both directions, each with its outcome.
 *
 * Rules     statuses are those of the view `invocations` (docs/vault.md), also for requests of the server. Requests of
 *           the interposer are left out. A call is selected if it matches the filter; the time of a call is that of its
 *           request.
 * Owns      the list, in the order of the requests.
 * Blocks    on the vault: one pass over the session. */
#ifndef MI_CLI_EXPORT_CALLS_H
#define MI_CLI_EXPORT_CALLS_H

#include "cli/frame/filter.h"

struct call {
    int64_t seq, answer_seq; /* answer_seq 0: none */
    int64_t t_us, end_us;    /* end_us -1: pending */
    int64_t answer_size;
    enum call_status status;
    bool from_server;
    bool selected;
    bool has_error_code;
    int64_t error_code;
    char *error_message; /* owned; of a JSON-RPC error; NULL: none */
};

struct calls {
    struct call *call; /* owned */
    size_t n, cap;
    size_t selected_n;
    int64_t last_t_us; /* of the last message */
    bool no_memory;
    const struct filter *filter; /* borrowed, while reading */
    int64_t started_at_us;       /* of the session */
};

MI_MUST int calls_read(struct calls *c, struct query *q, const struct query_session *s,
                       int64_t last_seq, const struct filter *f);
void calls_close(struct calls *c);
const struct call *calls_find(const struct calls *c, int64_t seq); /* NULL: not a request */

#endif
