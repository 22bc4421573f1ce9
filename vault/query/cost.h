/* cost.h - what the tools of each server cost the context of a client's model (model/context.h), and which of them are used.
 *
 * Rules     Only sessions that match count, also for definitions (vault/query/cost_lists.h). Calls are those of tools that match the
 *           filter. A call that was several requests (model/operations.h) is one, with the tokens of all of them. A tool is used if
 *           it is in the list and was called.
 *           Results are counted when they are recorded (calls.result_tokens). uncounted: answered calls of which that is not
 *           known: those of a store, and results beyond 64 KiB that an older version has recorded.
 * Owns      everything below struct cost; cost_close() frees it. Memory: 4 bytes for each call.
 * Units     estimated tokens; -1: not known. Times: microseconds since the epoch.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on the vault. */
#ifndef MI_VAULT_QUERY_COST_H
#define MI_VAULT_QUERY_COST_H

#include "base/intern.h"
#include "vault/query/reader.h"

#define COST_RESULT_MAX ((int64_t)UINT32_MAX) /* tokens of a result; a higher value in a vault counts as this one */

struct cost_results {
    uint32_t *tokens; /* owned; of each result */
    size_t n, cap;
    int64_t sum;
};

struct cost_tool {
    struct slice name;
    int64_t definition_tokens; /* -1: it is not in the list */
    int64_t calls, errors, uncounted;
    int64_t last_at_us; /* 0: never */
    struct cost_results results;
    int64_t result_tokens; /* sum; -1: of none of the answered calls they are known */
    int64_t p50, p95; /* of the results; -1: there are none */
};

/* A session whose lists may be read. */
struct cost_session {
    int64_t id;
    bool imported;
    unsigned lists; /* which were asked for: cost_lists_bit() */
    char uid[32];
};

struct cost_server {
    struct slice server;
    int64_t sessions;          /* that match */
    int64_t tools, used;       /* -1: no list is known */
    int64_t definition_tokens; /* of all tools of the list */
    int64_t never_used_tokens; /* of those that were not called */
    int64_t instruction_tokens, prompt_tokens, resource_tokens; /* -1: not known */
    int64_t calls, errors, uncounted, last_at_us;
    int64_t result_tokens;  /* as of a tool */
    int64_t p50, p95;       /* of the results */
    struct cost_tool *tool; /* owned; those of the list, and those that were called; by name */
    size_t tool_n, tool_cap;
    struct cost_session *session; /* owned; the newest ones, at most TOOL_LIST_SESSIONS */
    size_t session_n, session_cap;
    struct intern names; /* owned; of the tools */
};

struct cost {
    const char *server; /* only this one, not a glob; NULL: all */
    struct filter filter;
    bool imported; /* imported sessions, too */
    bool sent;     /* those that `send` made, too */

    struct cost_server *list; /* owned; those with the highest definition_tokens first */
    size_t n, cap;
    bool left_out;        /* sessions were left out, since they were imported, or made by `send` */
    struct intern names;  /* owned; of the servers */
};

/* Zeroes `cost`, except for its first four members. Call cost_close() in any case. */
MI_MUST int cost_read(struct cost *c, struct query *q);
void cost_close(struct cost *c);

#endif
