/* entry.h - the entries of a session's record: messages, events, session metadata, finished invocations.
 *
 * Owns      nothing.
 * Units     bytes; microseconds since the session's start, except where a field says wall clock.
 * Lifetime  slices are borrowed.
 * Blocks    never; types only. */
#ifndef MI_JOURNAL_ENTRY_H
#define MI_JOURNAL_ENTRY_H

#include "model/fields.h"
#include "wire/mcp/rule.h"

/* One message or event. */
struct row {
    const char *event; /* static: events.kind; NULL: a message. An event uses only t_us and body */
    enum row_kind kind;
    uint64_t seq; /* set by the journal */
    int64_t t_us; /* set by the journal */
    enum row_direction direction;
    enum row_origin origin;
    enum row_action action;
    struct slice rpc_id;  /* JSON text; {NULL, 0}: none */
    struct slice method;  /* between the quotes, escapes as written */
    struct slice target;  /* likewise */
    struct slice body;    /* the line */
    bool not_json;        /* body may have any bytes: it is made valid UTF-8 before it is stored */
    size_t size;          /* bytes as received */
    uint64_t redactions;  /* secrets already replaced in body */
    uint64_t request_seq; /* of an answer: seq of its request; 0: none */
    bool has_error_code;
    int64_t error_code; /* of an error */
    uint64_t batch_seq; /* of a member of a batch: seq of the batch; 0: none */
    findings findings;
    breaches rules;
    struct slice
        revision; /* of an imported message, where it is not the session's; not in a journal */
    bool ends_invocation; /* of an answer: set by the journal */
};

/* An update of session metadata: a field that is NULL does not change the record. */
struct session_update {
    SESSION_FIELDS(FIELD_UPDATE_MEMBER)
};

/* Most bytes of a result's text. Fewer are logged, but a secret must be recognized before the text is truncated. */
#define INVOCATION_RESULT_MAX 1024

/* A finished request of the client, for the log directory. */
struct invocation {
    int64_t wall_us; /* when it finished, wall clock */
    uint64_t seq;    /* of the request */
    enum call_status status;
    struct slice method,
        target;             /* between the quotes, escapes as written; target: {NULL, 0}: none */
    struct slice arguments; /* JSON; {NULL, 0}: none */
    size_t arguments_n;     /* their full length in bytes; `arguments` may be truncated */
    struct slice error_code, error_message; /* JSON; {NULL, 0}: none */
    int64_t duration_us;
    size_t request_bytes, response_bytes;
    struct slice result; /* its text, at most INVOCATION_RESULT_MAX bytes; {NULL, 0}: none */
    bool
        result_escaped; /* the text is from between the quotes of a JSON string, escapes as written */
    /* Set by the recorder: */
    bool result_clean;       /* the sanitizer found nothing in the answer */
    struct slice commitment; /* of the answer, in hex; {NULL, 0}: it has none */
};

static inline bool invocation_is_valid(const struct invocation *x)
{
    return x->arguments_n >= x->arguments.n && x->result.n <= INVOCATION_RESULT_MAX;
}

#define ESCALATION_LINES_MAX 20 /* lines of stderr, the last ones */

/* A condition that needs a person. {NULL, 0}, NULL and 0: not known; the line or section is omitted. All borrowed for the call. */
struct escalation {
    enum escalation_cause cause;
    int64_t at_us;       /* wall clock */
    const char *server;  /* sessions.name */
    const char *session; /* sessions.uid */
    const char *command; /* the server's, a JSON array */
    uint64_t seq;        /* of the request */
    struct slice method, tool;
    struct slice request;             /* the request as received, JSON */
    struct slice answer;              /* the answer that reports the problem (auth), JSON */
    const char *action;               /* a few words for the front matter: "killed, restarted" */
    struct slice happened;            /* one or several sentences */
    struct slice done;                /* what the proxy did, in sentences */
    struct slice look;                /* hints in addition to those for the cause */
    struct slice post_mortem;         /* postmortem_sentence() */
    struct slice post_mortem_json;    /* postmortem_json() */
    const struct slice *stderr_lines; /* oldest first; the last ESCALATION_LINES_MAX are used */
    size_t stderr_n;
    struct slice last_to_server, last_to_client; /* lines */
};

#endif
