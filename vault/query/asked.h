/* asked.h - what servers have asked the user for, and how long the answer took.
 *
 * Rules     a request of the server (before 2026-07-28), or an entry of `inputRequests` in an answer. The second kind is found by
 *           the operations of the session (model/operations.h), which a store does not have here.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on the vault: reads its calls once, and the messages that ask and that answer. */
#ifndef MI_VAULT_QUERY_ASKED_H
#define MI_VAULT_QUERY_ASKED_H

#include "vault/query/reader.h"

#define ASKED_MAX                                                                                  \
    ((size_t)1 << 20) /* bytes of a message that are read; of a longer one nothing is */

struct asked {
    int64_t session_id, seq; /* of the message that asks */
    int64_t at_us;
    struct slice server;
    struct slice method, target; /* of the call; {NULL, 0}: not known (model/asker.h), or it has none */
    struct slice what, mode, host, message; /* struct input_request; without escapes */
    struct slice answer;                    /* input_answer_word(), or "never" */
    int64_t after_us;                       /* -1: never */
};

/* Which ones are asked for. */
struct asked_question {
    const struct filter *filter; /* its tool is that of the call, its times are those of asking */
    bool sent;                   /* of sessions that `send` made, too */
};

/* false: no further one is wanted. Texts are borrowed for the call. */
typedef bool (*asked_fn)(void *ctx, const struct asked *a);

/* Newest call first; those of one call in the order in which they were asked. *ret_unread: calls
 * and requests that ask, but whose text is not recorded. */
MI_MUST int asked_read(struct query *q, const struct asked_question *x, asked_fn fn, void *ctx,
                       int64_t *ret_unread);

#endif
