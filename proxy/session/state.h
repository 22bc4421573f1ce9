/* state.h - the state of one connection between a client and a server.
 *
 * The modules of this folder share struct traffic; each gets the whole struct and changes only the
 * fields that its header names. A module calls only modules above it in this list:
 *
 *   message       records a message and stages it in the outbox
 *   request       opens and closes pending requests, with their timers
 *   invocation    describes finished requests for the log directory
 *   uncertain_calls  notes calls that may have run without an answer
 *   answer        sends errors and results of the interposer itself
 *   answer_repair  repairs the id of an answer, and members that are null
 *   stray         records output of the server that is not a message
 *   invalid_line  handles lines that are not valid messages
 *   session_info, credentials, tool_changes, arguments, rules
 *   tool_report   reports a tool rule that cannot be right
 *   tool_ask      requests the list of tools from the server
 *   tool_gate     decides which tools the client may see and call
 *   repeat        recognizes a call that equals an uncertain one
 *   correlate     handles a request, a notification or an answer
 *   batch, expire, final_answers
 *   traffic       handles lines
 *
 * Owns      the outboxes, the tables of pending requests and the copies named below.
 * Blocks    never. No I/O, no loop: a test feeds lines and reads outboxes and rows. */
#ifndef MI_PROXY_SESSION_STATE_H
#define MI_PROXY_SESSION_STATE_H

#define CLIENTS_MAX 16 /* number of clients of one pipe that can be distinguished */
/* number of refused requests that are remembered, so that their cancellation is recognized */
#define REFUSED_MAX 64

#include "base/io/outbox.h"
#include "journal/journal.h"
#include "proxy/session/handshake.h"
#include "proxy/session/liveness.h"
#include "proxy/session/repeats.h"
#include "proxy/session/timers.h"
#include "redact/form.h"
#include "redact/sanitizer.h"
#include "wire/mcp/protocol.h"
#include "wire/mcp/tool_hints.h"
#include "wire/mcp/tool_rule.h"
#include "wire/postponed.h"
#include "wire/schema/tools.h"
#include "wire/server_lines.h"

/* Which messages are rejected: none; invalid messages; or also messages that violate a MUST of
 * MCP. */
enum validate { VALIDATE_NONE, VALIDATE_WIRE, VALIDATE_PROTOCOL };

/* What happens if the arguments of a tools/call violate the tool's schema: they are not checked, a
 * warning is logged, or the call is rejected. */
enum check_arguments { ARGUMENTS_OFF, ARGUMENTS_WARN, ARGUMENTS_REJECT };

/* The tools of the server's previous session, which are compared with the first complete list of
 * tools in this session. */
struct previous_tools {
    enum {
        PREVIOUS_TOOLS_UNKNOWN,
        PREVIOUS_TOOLS_WANTED, /* requested from the recorder, not received yet */
        PREVIOUS_TOOLS_KNOWN,
        PREVIOUS_TOOLS_COMPARED
    } state;
    struct tools tools;         /* owned */
    char uid[JOURNAL_UID_SIZE]; /* UID of the previous session */
    /* the message being handled completes a list of tools, but the tools of the previous session
     * have not arrived yet */
    bool completes;
    /* seq of the last message that completed a list of tools before the tools of the previous
     * session arrived; 0: none */
    uint64_t list_seq;
};

/* State for lines that are not valid messages (invalid_line.h). */
struct invalid_lines {
    struct server_lines lines; /* reads the server's lines */
    struct message *message;   /* the message in the line being read */
    /* true: `message` was filled in; its text is the line or a part of it, perhaps repaired */
    bool has_message;
    bool client_http; /* the client has sent a line of HTTP */
    bool http;        /* the server's last lines begin an HTTP response */
    /* errors, to be sent later, for requests whose answers cannot be parsed or are HTTP */
    struct postponed_errors postponed;
    struct buf quote;   /* owned: sanitized start of the last line that answered no request */
    uint64_t quoted_at; /* value of timers.server_messages when `quote` was set */
    size_t own_pending; /* number of the interposer's requests without an answer */
    /* seq of the last notification that the server may not have read; 0: none */
    uint64_t notified_seq;
    /* repairs of the message that is being handled, until these repairs are recorded */
    struct repairs repairs;
};

/* A message of the client that waits for the list of tools (tool_ask.h). */
struct tool_ask_line {
    struct tool_ask_line *next;
    struct chunk *chunk; /* owned; the line, with room for a newline */
    size_t n;            /* length of the line */
    findings found;      /* findings about the line */
    uint64_t id;         /* hash of the call's id; 0: the line is a batch, or the call has no id */
    int64_t t_us;        /* when the line was received, since the session's start; not 0 */
};

/* The tools that the client may see and call (tool_gate.h). */
struct tool_gate {
    struct tool_rule *rule;  /* borrowed; NULL: the client may see and call all tools */
    struct tool_hints hints; /* tool hints from the newest list of tools */
    struct tool_cut cut; /* numbers of tools listed and hidden so far in the newest list of tools */
    bool judged;         /* a complete list of tools was compared with the rule */

    /* State of the interposer's own request for the list of tools (tool_ask.h). */
    bool asking;             /* the list of tools is being requested */
    bool changed;            /* the server's list of tools has changed while its pages were read */
    bool modern;             /* the request has the form required by revision 2026-07-28 */
    uint64_t id;             /* number in the id of the interposer's pending request; 0: none */
    uint64_t cursor;         /* hash of the requested page's cursor; 0: the first page */
    unsigned pages, rounds;  /* number of pages read; number of attempts to read the whole list */
    int64_t until_us;        /* time when the request for the list times out */
    struct tool_hints asked; /* tool hints from the pages of the list that were read so far */
    /* numbers of tools listed and hidden in the pages of the list that were read so far */
    struct tool_cut asked_cut;
    struct buf failure; /* owned; why the last request for the list of tools failed */
    int64_t retry_us;   /* time before which the list of tools is not requested again */

    /* The client's messages that wait for the list of tools. */
    struct tool_ask_line *first, *last; /* owned */
    size_t lines_n, lines_bytes;
    int64_t arrived_us; /* when the line being handled was received; 0: no line is being handled */
};

/* A request of the client that was answered by the interposer instead of being forwarded. */
struct refused_request {
    uint64_t id;  /* hash of the request's id */
    uint64_t seq; /* seq of the request; 0: the slot is free */
};

struct traffic {
    const struct journal *journal; /* borrowed */
    const char *server;            /* borrowed; name of the server in the recording */
    /* borrowed; URL to which the server's command connects; NULL: none */
    const char *url;
    enum validate validate;
    size_t max_message;   /* value of --max-message in bytes, for the text of an error */
    struct outbox out[2]; /* outboxes: [ROW_C2S] to the server, [ROW_S2C] to the client */
    /* bytes of the interposer's answers staged since out[ROW_S2C] was empty */
    size_t own_bytes;
    /* pending requests: [ROW_C2S] those of the client, [ROW_S2C] those of the server */
    struct pending_table open[2];
    struct refused_request refused[REFUSED_MAX]; /* a ring buffer of refused requests */
    size_t refused_next; /* counts refused requests; the next index is refused_next % REFUSED_MAX */
    uint64_t server_answers;    /* number of the current process's answers to requests with an id */
    struct timers timers;       /* deadlines of the client's requests */
    struct handshake handshake; /* the messages that are repeated to a new server process */
    struct repeats repeats;     /* the uncertain calls, which may have run */
    struct protocol protocol;   /* checks the rules of MCP */
    /* the forms with which the server has asked the user for input; rules.c writes this member,
     * message.c and incidents.c read it */
    struct forms forms;
    struct buf hidden; /* owned: the client's last message, with form secrets redacted */
    struct invalid_lines invalid_lines;
    struct tool_gate gate; /* if gate.rule is NULL, the client sees every tool */
    enum check_arguments check_arguments;
    struct tools tools; /* tools of the newest tools/list */
    struct previous_tools previous_tools;
    struct buf scratch;  /* owned: answers under construction */
    struct chunk *spare; /* memory set aside for answers when allocation fails; NULL: none */
    size_t spare_n;      /* number of bytes of `spare` in use */
    /* states of the search for secrets that span several lines of the server's output */
    struct redact_lines noise_lines, stderr_lines;
    char version[32];                /* protocol version; "": not negotiated yet */
    bool knows_client, knows_server; /* the name of the client or server is recorded */
    uint64_t client[CLIENTS_MAX]; /* hashes of the names and versions of the clients seen so far */
    unsigned clients;
    bool client_closed; /* the client has closed its output, so it can answer no request */
    /* the client has sent `shutdown` or `exit` of LSP: the server should exit */
    bool client_said_shutdown;
    size_t unfinished[2]; /* by direction: bytes of a line that has long been incomplete; 0: none */
    bool unfinished_logged[2]; /* by direction: an incomplete line was logged */

    void *owner; /* first argument of the callbacks below; each callback may be NULL */
    /* Called when a deadline has passed and the server has sent nothing since the request. Returns
     * the judgement about the server, and appends it to `why`. After LIVENESS_HUNG the server is
     * being killed. */
    enum liveness (*on_silent)(void *owner, const struct pending *p, int64_t waited_us,
                               struct buf *why);
    /* Called when an answer reports missing, wrong or expired credentials. */
    void (*on_auth)(void *owner, const struct pending *p, struct slice answer);
    /* Called when the first complete list of tools shows that the tool rule hides every tool. */
    void (*on_rule)(void *owner, const char *happened);
    /* Returns the number of bytes that the client has read. If this callback is NULL, all bytes
     * that the client's pipe has accepted count as read. */
    uint64_t (*client_has_read)(void *owner);
    /* Called when the call p is forwarded although it equals a call that may have run, unless the
     * client had cancelled that call. happened: a sentence that describes this. */
    void (*on_repeat)(void *owner, const struct pending *p, const char *happened);
    /* Called when the server has answered a request of the interposer, other than the pending
     * request for the list of tools. */
    void (*on_own_answer)(void *owner, const struct rpc *m);
    /* Called with a sanitized line of the server's stderr, which is borrowed. */
    void (*on_stderr)(void *owner, struct slice clean);
};

#endif
