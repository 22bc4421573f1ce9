/* recheck.h - checks recorded messages against the rules of MCP.
 *
 * A recording has the findings of the version that recorded it. This module finds breaches of the
 * current rules, including the rules about tools and their schemas. The caller passes the messages
 * in order. Messages of the interposer and messages without a body are not checked. In a refused
 * message, only the arguments of a tool call are checked.
 *
 * Owns      the state of the newest RECHECK_PENDING_MAX pending requests, and the list of tools.
 * Errors    MI_ENOMEM: the message was skipped.
 * Blocks    never. Pure. */
#ifndef MI_CLI_CHECK_RECHECK_H
#define MI_CLI_CHECK_RECHECK_H

#include "model/no_progress.h"
#include "redact/form.h"
#include "vault/query/reader.h"
#include "wire/mcp/protocol.h"
#include "wire/schema/tools.h"

#define RECHECK_PENDING_MAX 4096

struct recheck_request {
    int64_t seq;
    uint64_t id, token; /* hashes of the request's id and progress token; 0: it has none */
    bool from_client;
    bool abandoned;  /* the request was cancelled, or the interposer has answered it */
    struct buf tool; /* owned; the name of the called tool as JSON text without the quotes */
    struct protocol_asked asked;
};

struct recheck {
    struct protocol protocol;
    struct tools tools;
    struct forms forms; /* the forms with which the server has asked for input */
    struct no_progress progress;
    /* what no_progress_add_message() has reported about the newest message */
    struct no_progress_found stuck;
    struct schema_fault fault;       /* owned; how the newest message violates its tool's schema */
    struct recheck_request *request; /* owned; the pending requests, sorted by seq */
    size_t n, cap;
};

void recheck_open(struct recheck *r);
void recheck_close(struct recheck *r);
/* body: the complete body, even if the message is large; {NULL, 0} if the body is not available. */
MI_MUST int recheck_message(struct recheck *r, const struct query_message *m, struct slice body,
                            breaches *ret);
/* Appends details about a rule that the newest message breaks, such as "`name`" or "/a must be a
 * number", if there are details. */
void recheck_explain_breach(const struct recheck *r, enum rule broken, struct buf *b);

#endif
