/* finding.h - the findings about a message: everything that is wrong or unusual about the message.
 *
 * A message has a set of findings, one bit each. The names are an interface: they are stored in
 * `messages.finding` of the vault, joined by commas, and documented in docs/findings.md. For
 * violations of the rules of MCP see wire/mcp/rule.h.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_FINDING_H
#define MI_WIRE_FINDING_H

#include "base/buf.h"

/* A note needs no fix. A warning is about a message that does not work with every peer. An error
 * violates a rule. */
enum severity { SEVERITY_NOTE, SEVERITY_WARNING, SEVERITY_ERROR };
const char *severity_name(enum severity s); /* returns "note", "warning" or "error" */

enum finding {
    /* the line */
    FIND_CRLF,
    FIND_BOM,
    FIND_BLANK_LINE,
    FIND_GLUED_TEXT,
    FIND_NOT_JSON,
    FIND_CUT_JSON,
    FIND_INVALID_UTF8,
    FIND_TOO_DEEP,
    FIND_SEVERAL_VALUES,
    FIND_TOO_LONG,
    FIND_NO_NEWLINE,
    FIND_UNFINISHED_LINE,
    FIND_CONTENT_LENGTH,
    FIND_HTTP_OVER_STDIO,
    FIND_LARGE_MESSAGE,
    FIND_DEEP_MESSAGE,
    /* repairs of a line of the server */
    FIND_CONTROL_CHARACTER,
    FIND_NOT_A_NUMBER,
    FIND_TRAILING_TEXT,
    FIND_SEVERAL_LINES,
    FIND_NULL_RESULT,
    /* findings about the JSON-RPC message */
    FIND_NOT_JSONRPC,
    FIND_DUPLICATE_ENVELOPE_KEY,
    FIND_CALL_AND_ANSWER,
    FIND_DUPLICATE_KEY,
    FIND_BATCH,
    FIND_NULL_ID,
    FIND_FRACTIONAL_ID,
    FIND_NULL_PARAMS,
    FIND_ARRAY_PARAMS,
    FIND_NULL_BESIDE_ANSWER,
    FIND_RESULT_NOT_OBJECT,
    FIND_MALFORMED_ANSWER,
    /* the conversation */
    FIND_REUSED_ID,
    FIND_ID_TYPE_CHANGED,
    FIND_UNKNOWN_ANSWER,
    FIND_LATE_ANSWER,
    FIND_LATE_PROGRESS,
    FIND_OWN_REQUEST,
    FIND_CANCELLED_INITIALIZE,
    FIND_TOO_MANY_OPEN,
    FIND_SERVER_GONE,
    FIND_INTERRUPTED,
    FIND_TIMEOUT,
    FIND_TOOL_ERROR,
    FIND_TOOL_HIDDEN,
    FIND_AMBIGUOUS_CALL,
    FIND_BODY_LOST,
    FIND_REPEAT_OF_UNCERTAIN,
    FIND_TOOL_UNLISTED,
    FIND_COUNT
};
_Static_assert(FIND_COUNT <= 64, "a set of findings is one uint64_t");

typedef uint64_t findings; /* a set of findings: FINDING(FIND_CRLF) | … */
#define FINDING(f) ((findings)1 << (f))

const char *finding_name(enum finding f);    /* "crlf" */
const char *finding_meaning(enum finding f); /* one sentence */
/* sentences that state the usual cause and what to do */
const char *finding_remedy(enum finding f);
enum severity finding_severity(enum finding f);

#endif
