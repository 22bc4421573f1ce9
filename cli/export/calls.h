/* calls.h - the requests of a session, in both directions, each with its outcome.
 *
 * Rules     statuses are those of the view `invocations` (docs/vault.md), also for requests of the server. Requests of
 *           the interposer are left out. A call is selected if it matches the filter; the time of a call is that of its
 *           request. People see a call that was several requests as one (model/operations.h): `calls_n` and the numbers of
 *           failures count it once, as its operation ended; `selected` is about each request.
 * Owns      the lists, in the order of the requests.
 * Blocks    on the vault. */
#ifndef MI_CLI_EXPORT_CALLS_H
#define MI_CLI_EXPORT_CALLS_H

#include "cli/frame/filter.h"
#include "vault/query/operation_list.h"

struct exported_call {
    int64_t seq, answer_seq; /* answer_seq 0: none */
    int64_t t_us, end_us;    /* end_us -1: pending */
    int64_t answer_size;
    enum call_status status;
    bool from_server;
    bool selected;
    int64_t operation_seq; /* of the first request of the operation that it continues; 0: none */
    /* The operation that it begins; closed by the last message that is exported, else open. NULL: it is one request. */
    const struct listed_operation *operation;
    bool has_error_code;
    int64_t error_code;
    char *error_message; /* owned; of a JSON-RPC error; NULL: none */
};

struct exported_calls {
    struct exported_call *call; /* owned */
    size_t n, cap;
    size_t selected_n;
    struct operation_list operations; /* owned */
    int64_t of_client_n;              /* calls of the client, as every command counts them */
    int64_t requests_n;               /* its requests */
    int64_t failed_n;                 /* those that failed */
    int64_t server_failed_n;          /* failed requests of the server */
    const struct filter *filter;      /* borrowed, while reading */
    int64_t last_seq;                 /* later messages are left out */
    struct exported_call *of;         /* the call of the message that is read */
    bool each_request;                /* operations are not read */
    bool no_memory;
};

/* requests: each is a call of its own. */
MI_MUST int calls_read(struct exported_calls *c, struct query *q, const struct query_session *s,
                       int64_t last_seq, const struct filter *f, bool requests);
void calls_close(struct exported_calls *c);
/* NULL: not a request */
const struct exported_call *calls_find(const struct exported_calls *c, int64_t seq);
/* What became of it: of its operation, or of itself. */
enum call_status calls_status(const struct exported_call *c);
int64_t calls_took_us(const struct exported_call *c); /* -1: it is open */

#endif
