/* calls.h - the requests of a session, in both directions, each with its outcome.
 *
 * Rules     the statuses are those of the view `invocations` (docs/vault.md), also for requests of
 *           the server. Requests of the interposer are left out. A call is selected if it matches
 *           the filter; the time of a call is the time of its request. A call with several requests
 *           is an operation (model/operations.h): `calls_n` and the numbers of failures count it as
 *           one call, with the outcome of the operation. `selected` is set for each request
 *           separately.
 * Owns      the lists, in the order of the requests.
 * Blocks    on the vault. */
#ifndef MI_CLI_EXPORT_CALLS_H
#define MI_CLI_EXPORT_CALLS_H

#include "cli/frame/filter.h"
#include "vault/query/operation_list.h"

struct exported_call {
    int64_t seq, answer_seq; /* answer_seq: 0 if there is no answer */
    int64_t t_us, end_us;    /* end_us: -1 if the request is pending */
    int64_t answer_size;
    enum call_status status;
    bool from_server;
    bool selected;
    /* the first request of the operation that this request continues; 0: this request continues no
     * operation */
    int64_t operation_seq;
    /* The operation that this request begins; NULL if it begins none. The operation is closed if
     * one of the exported messages closes it, otherwise it is open. */
    const struct listed_operation *operation;
    bool has_error_code;
    int64_t error_code;
    char *error_message; /* owned; the message of a JSON-RPC error; NULL: none */
};

struct exported_calls {
    struct exported_call *call; /* owned */
    size_t n, cap;
    size_t selected_n;
    struct operation_list operations; /* owned */
    int64_t calls_n;             /* the number of the client's calls; an operation is one call */
    int64_t requests_n;          /* the number of the client's requests */
    int64_t failed_n;            /* the number of the client's calls that failed */
    int64_t server_failed_n;     /* the number of the server's requests that failed */
    const struct filter *filter; /* borrowed; filter of the calls, used only while reading */
    int64_t last_seq;            /* seq of the last exported message; later messages are left out */
    struct exported_call *of;    /* the call whose error message is being read */
    bool each_request;           /* each request counts as a call: operations are not read */
    bool no_memory;
};

/* last_seq: the last message that is exported. requests: each request counts as a call. */
MI_MUST int calls_read(struct exported_calls *c, struct query *q, const struct query_session *s,
                       int64_t last_seq, const struct filter *f, bool requests);
void calls_close(struct exported_calls *c);
/* Returns NULL if seq is not the number of a request. */
const struct exported_call *calls_find_request(const struct exported_calls *c, int64_t seq);
/* If the request begins an operation, these functions return the status and the duration of the
 * operation, otherwise those of the request. The duration is -1 if there is no answer yet. */
enum call_status calls_get_status(const struct exported_call *c);
int64_t calls_get_duration_us(const struct exported_call *c);

#endif
