/* entry.h - the entries of a session's record: messages, events, session metadata, finished
 * invocations.
 *
 * Owns      nothing.
 * Units     bytes; microseconds since the session's start, except where a field says wall clock.
 * Lifetime  slices are borrowed.
 * Blocks    never; types only. */
#ifndef MI_JOURNAL_ENTRY_H
#define MI_JOURNAL_ENTRY_H

#include "model/context.h"
#include "model/fields.h"
#include "wire/mcp/rule.h"
#include "wire/rpc.h"

/* One message or event. */
struct row {
    /* static; NULL: the row is a message; otherwise the row is an event of this kind, and has only
     * t_us and body */
    const char *event;
    enum row_kind kind;
    uint64_t seq;
    /* time when the message was received; 0: the journal sets the time of appending */
    int64_t t_us;
    enum row_direction direction;
    enum row_origin origin;
    enum row_action action;
    struct slice rpc_id; /* the id as JSON text; {NULL, 0}: no id */
    struct slice method; /* the method as a JSON string without the quotes */
    struct slice target; /* the target as a JSON string without the quotes */
    struct slice body;   /* the line */
    /* the body may contain any bytes; the recorder converts it to valid UTF-8 before storing it */
    bool not_json;
    size_t size;          /* size of the received message in bytes */
    uint64_t redactions;  /* number of secrets already replaced in body */
    uint64_t request_seq; /* seq of the request that this answer belongs to; 0: none */
    bool has_error_code;
    int64_t error_code; /* the code of an error answer */
    /* seq of the batch that contains this message; 0: the message is not in a batch */
    uint64_t batch_seq;
    findings findings;
    breaches rules;
    /* MCP revision of an imported message if the session has another revision; not in a journal */
    struct slice revision;
    /* false: the body has none of the members that link_read_from_message() reads (model/link.h) */
    bool may_link;
    /* the parsed body, set by the recorder; NULL: not parsed yet; not in a journal */
    const struct rpc *read;
    /* this message is an answer that ends an invocation; set by the journal */
    bool ends_invocation;
    /* the size of a large answer's result; NULL: not counted yet; not in a journal */
    const struct context_result *result;
};

/* An update of session metadata. A member that is NULL leaves its field of the session
 * unchanged. */
struct session_update {
    SESSION_FIELDS(FIELD_UPDATE_MEMBER)
};

/* C types of the record fields that the proxy reports (model/records.h). */
#define ENTRY_TIME int64_t
#define ENTRY_TOOK int64_t
#define ENTRY_COUNT uint64_t
#define ENTRY_SIZE size_t
#define ENTRY_TEXT struct slice
#define ENTRY_JSON struct slice
#define ENTRY_STRING const char *
#define ENTRY_FLAG bool
#define ENTRY_WORD(type, words) enum type
#define ENTRY_MEMBER(name, type, null) ENTRY_##type name;

/* Longest text of a result in an invocation, in bytes. It is longer than what the log shows,
 * because secrets are recognized before the text is truncated for the log. */
#define INVOCATION_RESULT_MAX 1024

struct invocation {
    INVOCATION_FIELDS(ENTRY_MEMBER)
    /* The recorder sets `result_clean` and `commitment`. */
    bool result_clean; /* the sanitizer found no secret in the answer */
    /* commitment of the answer, in hexadecimal; {NULL, 0}: the answer has no commitment */
    struct slice commitment;
};

static inline bool invocation_is_valid(const struct invocation *x)
{
    return x->arguments_n >= x->arguments.n && x->result.n <= INVOCATION_RESULT_MAX;
}

#define ESCALATION_LINES_MAX 20 /* maximum number of lines of stderr in an escalation */

/* The texts of an escalation are valid only while the function runs to which the escalation is
 * passed. */
struct escalation {
    ESCALATION_FIELDS(ENTRY_MEMBER)
    /* lines of stderr, oldest first; only the last ESCALATION_LINES_MAX are used */
    const struct slice *stderr_lines;
    size_t stderr_n;
    /* The next three members are not in the journal. NULL: unknown. */
    const char *server;  /* sessions.name */
    const char *session; /* sessions.uid */
    const char *command; /* the server's command, a JSON array */
};

#endif
