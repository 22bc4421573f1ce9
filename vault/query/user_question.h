/* user_question.h - lists what servers have asked the user for, and how long each answer took.
 *
 * Rules     a server asks with a request (before 2026-07-28), or with an entry of `inputRequests`
 *           in an answer. Such entries are found through the operations of the session
 *           (model/operations.h), so they are not found in a store.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on the vault: reads its calls once, and the messages that ask or answer. */
#ifndef MI_VAULT_QUERY_USER_QUESTION_H
#define MI_VAULT_QUERY_USER_QUESTION_H

#include "vault/query/reader.h"

/* longest message that user_question_read_all() reads, in bytes */
#define QUESTION_MESSAGE_MAX ((size_t)1 << 20)

struct user_question {
    int64_t session_id, seq; /* session and seq of the message that asks */
    int64_t at_us;           /* time of the question */
    struct slice server;
    /* method and target of the call during which the server asks; {NULL, 0}: unknown
     * (model/asker.h) or none */
    struct slice method, target;
    /* like the members of struct input_request, but unescaped; `host`: the host in its `url` */
    struct slice what, mode, host, message;
    struct slice answer; /* the outcome: input_outcome_word(), or "never" */
    int64_t after_us;    /* time until the answer; -1: no answer */
};

/* Which questions user_question_read_all() reports. */
struct user_question_filter {
    /* `tool` of the filter selects the tool of the call; the filter's times select the time of the
     * question */
    const struct filter *filter;
    bool sent; /* true: include sessions that `send` made */
};

/* Called for each question. Returns false to stop. Texts are borrowed for the call. */
typedef bool (*user_question_fn)(void *ctx, const struct user_question *a);

/* Calls fn for each question: those of the newest call first, and those of one call in the order in
 * which the server asked. *ret_unread: number of calls and requests that ask, but whose text is not
 * recorded. */
MI_MUST int user_question_read_all(struct query *q, const struct user_question_filter *wanted,
                                   user_question_fn fn, void *ctx, int64_t *ret_unread);

#endif
