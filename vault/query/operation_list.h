/* operation_list.h - lists the calls of one session that were made of several requests
 * (model/operations.h).
 *
 * Rules     no operations are listed for a store, or for a vault that an older version has written.
 * Owns      the lists. They are empty if the session has no operations.
 * Errors    MI_ENOMEM, or MI_ESTORE with a sentence in query_error().
 * Blocks    operation_list_read(), on the vault. */
#ifndef MI_VAULT_QUERY_OPERATION_LIST_H
#define MI_VAULT_QUERY_OPERATION_LIST_H

#include "vault/query/reader.h"

struct listed_operation {
    int64_t seq; /* seq of the operation's first request */
    enum row_direction direction;
    int64_t requests, asked;
    enum call_status status;
    bool has_error_code;
    int64_t error_code;
    int64_t t_us;
    /* while the operation is open, closing_seq is 0, and duration_us is -1 */
    int64_t closing_seq, duration_us;
    int64_t server_us, person_us;
};

struct operation_list {
    struct listed_operation *operation; /* owned; the operations, sorted by seq */
    size_t n, cap;
    struct listed_hop {
        /* `seq`: seq of a message; `operation_seq`: seq of the first request of the message's
         * operation */
        int64_t seq, operation_seq;
    } * hop,  /* owned; the requests that continue an operation, sorted by seq */
        *of,  /* owned; the same requests as in `hop`, sorted by operation, then by seq */
        *end; /* owned; messages that ended an operation, sorted by seq */
    size_t hop_n, hop_cap;
    size_t end_n, end_cap;
    int64_t last_seq; /* seq of the last message whose requests were read */
    bool no_memory;   /* true: out of memory */
};

/* Reads the operations of a session. *l: {0}, or the list that an earlier call has read for the
 * same session; then only new calls are read. Call operation_list_close() in any case. */
MI_MUST int operation_list_read(struct operation_list *l, struct query *q, int64_t session_id);
void operation_list_close(struct operation_list *l); /* the argument may be {0} */
/* Returns the operation with this first request; NULL if there is none. */
const struct listed_operation *operation_list_find(const struct operation_list *l, int64_t seq);
/* Returns the seq of the first request of the operation that request `seq` continues; 0: none. */
int64_t operation_list_find_continued_seq(const struct operation_list *l, int64_t seq);
/* Returns the requests that continue the operation with this first request, ordered by seq. */
const struct listed_hop *operation_list_get_continuations(const struct operation_list *l,
                                                          int64_t first, size_t *ret_n);
/* Returns the operation that message `seq` ended; NULL if it ended none. */
const struct listed_operation *operation_list_find_by_end_seq(const struct operation_list *l,
                                                              int64_t seq);

#endif
