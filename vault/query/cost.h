/* cost.h - computes how many tokens the tools of each server take in the context of a client's
 * model (model/context.h), and which tools are used.
 *
 * Rules     Only sessions that match the filter are counted, also for definitions
 *           (vault/query/cost_lists.h), and only calls of tools that match the filter. A call made
 *           of several requests (model/operations.h) counts once, with the tokens of all its
 *           requests. A tool is used if it is in the list and was called. The tokens of a result
 *           are counted when it is recorded (calls.result_tokens). uncounted: number of answered
 *           calls whose tokens are unknown, which are calls of a store, and results beyond 64 KiB
 *           that an older version has recorded. Images, audio and blobs of results are counted
 *           separately.
 * Owns      everything below struct cost; cost_close() frees it. Memory: 4 bytes for each call.
 * Units     estimated tokens; -1: not known. Times: microseconds since the epoch.
 * Errors    MI_ENOMEM, and those of vault/query/reader.h.
 * Blocks    on the vault. */
#ifndef MI_VAULT_QUERY_COST_H
#define MI_VAULT_QUERY_COST_H

#include "base/intern.h"
#include "model/context.h"
#include "vault/query/reader.h"

/* Highest number of tokens or binaries of a result; a higher number is reduced to this. */
#define COST_RESULT_MAX ((int64_t)UINT32_MAX)
/* Highest number of bytes of the binaries of a result; a higher number is reduced to this. */
#define COST_BINARY_SIZE_MAX ((int64_t)1 << 40)

struct cost_results {
    uint32_t *tokens; /* owned; number of tokens of each result */
    size_t n, cap;
    int64_t sum;
};

/* Images, audio and blobs in results. */
struct cost_binaries {
    /* number of images, audio and blobs; -1: there are answered calls, but the number is unknown
     * for each of them */
    int64_t n;
    /* sum of the sizes of the binaries, in bytes; -1: there are answered calls, but the size is
     * unknown for each of them */
    int64_t size;
    int64_t counted; /* number of results whose binaries were counted */
    /* number of answered calls with an unknown number of binaries (images, audio, blobs) */
    int64_t uncounted;
};

struct cost_tool {
    struct slice name;
    /* tokens of the tool's definition; -1: the list does not have the tool */
    int64_t definition_tokens;
    int64_t calls, errors, uncounted;
    int64_t last_at_us; /* time of the last call; 0: the tool was never called */
    struct cost_results results;
    /* sum of the tokens of all results; -1: there are answered calls, but the number is unknown for
     * each of them */
    int64_t result_tokens;
    int64_t p50, p95; /* percentiles of the tokens of a result; -1: there are no results */
    struct cost_binaries binaries;
};

/* A session from which lists of tools, prompts and resources may be read. */
struct cost_session {
    int64_t id;
    bool imported;
    /* the lists and instructions that were requested in the first TOOL_LIST_MESSAGES messages of
     * the session, as bits of cost_lists_get_method_mask() */
    unsigned lists;
    char uid[32];
};

struct cost_server {
    struct slice server;
    int64_t sessions; /* number of sessions that match the filter */
    /* number of tools in the list, and how many of them were called; -1: no list is known */
    int64_t tools, used;
    int64_t definition_tokens; /* tokens of all tools in the list */
    int64_t never_used_tokens; /* tokens of the tools in the list that were never called */
    /* tokens of the instructions, of all prompts, and of all resources and templates; -1:
     * unknown */
    int64_t instruction_tokens, prompt_tokens, resource_tokens;
    int64_t calls, errors, uncounted, last_at_us;
    /* sum of the tokens of all results; -1: there are answered calls, but the number is unknown for
     * each of them */
    int64_t result_tokens;
    int64_t p50, p95; /* percentiles of the tokens of a result */
    struct cost_binaries binaries;
    /* owned; sorted by name; tools in the list and tools that were called */
    struct cost_tool *tool;
    size_t tool_n, tool_cap;
    struct cost_session *session; /* owned; the newest sessions, at most TOOL_LIST_SESSIONS */
    size_t session_n, session_cap;
    struct intern names; /* owned; names of the tools */
};

struct cost {
    const char *server; /* name of the server, not a glob; NULL: all servers */
    struct filter filter;
    bool imported; /* true: include imported sessions */
    bool sent;     /* true: include sessions that `send` made */
    /* Optional callback: returns the size of the result of request `seq` (tokens, binaries), or
     * CONTEXT_NO_RESULT if this is unknown. NULL: the columns of `calls` are used. */
    struct context_result (*result)(void *ctx, int64_t seq);
    void *ctx;

    struct cost_server *list; /* owned; the servers, sorted by definition_tokens, highest first */
    size_t n, cap;
    /* true: sessions were left out, because they were imported or made by `send` */
    bool left_out;
    struct intern names; /* owned; names of the servers */
};

/* Sets all members of `cost` after `ctx`; the caller sets the members up to `ctx`. Call
 * cost_close() in any case. */
MI_MUST int cost_read_sessions(struct cost *c, struct query *q);
void cost_close(struct cost *c);

#endif
