/* recheck.h - checks recorded messages against the rules of MCP.
 *
 * A recording has the findings of the version that recorded it; this adds those of the current rules, including tools
 * and their schemas. Messages are passed in order. Messages of the interposer, and those without a body, are skipped;
 * of rejected messages, only the arguments of tool calls are checked.
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
    uint64_t id, token; /* hashes; 0: none */
    bool from_client;
    bool abandoned;  /* cancelled, or answered by the interposer */
    struct buf tool; /* owned; the name of the called tool, between the quotes */
    struct protocol_asked asked;
};

struct recheck {
    struct protocol protocol;
    struct tools tools;
    struct forms forms; /* what the server has asked for */
    struct no_progress progress;
    struct no_progress_found stuck; /* of the last message */
    struct schema_fault fault;       /* owned; how the last message violates its tool's schema */
    struct recheck_request *request; /* owned; sorted by seq */
    size_t n, cap;
};

void recheck_open(struct recheck *r);
void recheck_close(struct recheck *r);
/* body: complete, also of a large message; {NULL, 0}: not available. */
MI_MUST int recheck_message(struct recheck *r, const struct query_message *m, struct slice body,
                            breaches *ret);
/* Appends details of a rule that the last message breaks, if any: "`name`", "/a must be a number". */
void recheck_detail(const struct recheck *r, enum rule broken, struct buf *b);

#endif
