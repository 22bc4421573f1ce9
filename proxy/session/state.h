/* state.h - the state of one connection between a client and a server.
 *
 * The modules of this folder share it; each gets the whole struct and changes only the fields that its header
 * names. A module calls only modules above it in this list:
 *
 *   message       a message's row, and its place in the outbox
 *   request       pending requests with their timers
 *   invocation    finished requests for the log directory
 *   uncertain     calls of which nobody knows whether they have run
 *   answer        errors and results of our own
 *   answer_repair the id of an answer, and members that are null
 *   stray         output of the server that is not a message
 *   odd           lines that are not valid messages
 *   session_info, credentials, tool_changes, arguments, rules
 *   tool_report   a rule for tools that is wrong
 *   tool_ask      the list of tools that we ask the server for
 *   tool_gate     the tools that the client may see and call
 *   repeat        calls that are equal to an uncertain one
 *   correlate     a request, a notification, an answer
 *   batch, expire, final_answers
 *   traffic       lines
 *
 * Owns      the outboxes, the tables of pending requests and the copies named below.
 * Blocks    never. No I/O, no loop: a test feeds lines and reads outboxes and rows. */
#ifndef MI_PROXY_SESSION_STATE_H
#define MI_PROXY_SESSION_STATE_H

#define CLIENTS_MAX 16 /* number of clients of one pipe that can be distinguished */
#define REFUSED_MAX 64 /* refused requests that are remembered, to recognize their cancellations */

#include "base/io/outbox.h"
#include "journal/journal.h"
#include "proxy/session/handshake.h"
#include "proxy/session/liveness.h"
#include "proxy/session/repeats.h"
#include "proxy/session/timers.h"
#include "redact/form.h"
#include "redact/sanitizer.h"
#include "wire/held.h"
#include "wire/mcp/protocol.h"
#include "wire/mcp/tool_hints.h"
#include "wire/mcp/tool_rule.h"
#include "wire/schema/tools.h"
#include "wire/server_lines.h"

/* Which messages are rejected: none, invalid messages, or also those that violate a MUST of MCP. */
enum validate { VALIDATE_NONE, VALIDATE_WIRE, VALIDATE_PROTOCOL };

/* Whether the arguments of tools/call are checked against the tool's schema: not at all, with a warning, or by
 * rejecting the call. */
enum check_arguments { ARGUMENTS_OFF, ARGUMENTS_WARN, ARGUMENTS_REJECT };

/* The tools of the server's previous session, compared with the first complete list of this one. */
struct previous_tools {
    enum {
        PREVIOUS_TOOLS_UNKNOWN,
        PREVIOUS_TOOLS_WANTED, /* the tools were requested from the journal */
        PREVIOUS_TOOLS_KNOWN,
        PREVIOUS_TOOLS_COMPARED
    } state;
    struct tools tools; /* owned */
    char uid[JOURNAL_UID_SIZE];
    bool completes;    /* the message being handled completes a list */
    uint64_t list_seq; /* seq of the last message of that list; 0: none */
};

/* State for lines that are not valid messages (odd.h). */
struct odd {
    struct server_lines lines; /* of the server */
    struct message *message;   /* the message in the line being read */
    bool has_message;          /* the message is the line, or a part of it */
    bool client_http;          /* the client has sent a line of HTTP */
    bool http;                 /* the server's last lines begin a response of HTTP */
    struct held held;          /* requests whose answers cannot be parsed */
    struct buf quote;       /* owned: sanitized start of the last line that answered no request */
    uint64_t quoted_at;     /* timers.server_messages after that line */
    size_t own_pending;     /* requests of our own without an answer */
    uint64_t notified_seq;  /* seq of the last notification; 0: the server has read all
                             * notifications */
    struct repairs repairs; /* repairs of the message being handled; n is 0 if there are none, or if
                             * they are recorded */
};

/* A message of the client that waits for the list of tools (tool_ask.h). */
struct tool_ask_line {
    struct tool_ask_line *next;
    struct chunk *chunk; /* owned; its line, with room for a newline */
    size_t n;
    findings found; /* findings about the line */
    uint64_t id;    /* hash of the call's id; 0: it is a batch, or has no id */
    int64_t t_us;   /* time of receipt, since the session's start; not 0 */
};

/* The tools that the client may see and call (tool_gate.h). */
struct tool_gate {
    struct tool_rule *rule;  /* borrowed; NULL: the client may see and call all tools */
    struct tool_hints hints; /* hints in the newest list that was seen */
    struct tool_cut cut;     /* what was cut from this list so far */
    bool judged;             /* a complete list was compared with the rule */

    /* The list that we request ourselves (tool_ask.h). */
    bool asking;
    bool changed;    /* the list has changed while it was read */
    bool modern;     /* the request is sent as a client of 2026-07-28 would */
    uint64_t id;     /* number of our pending request; 0: none */
    uint64_t cursor; /* hash of the requested page's cursor; 0: the first page */
    unsigned pages, rounds;
    int64_t until_us;
    struct tool_hints asked;
    struct tool_cut asked_cut;
    struct buf failure; /* owned; why the last list was not received */
    int64_t retry_us;   /* the list is not requested again before this time */

    /* the client's messages that wait for it */
    struct tool_ask_line *first, *last; /* owned */
    size_t lines_n, lines_bytes;
    int64_t arrived_us; /* when the line being handled was received; 0: no line is being handled */
};

/* A request of the client that got an error, or an answer, in place of being forwarded. */
struct refused_request {
    uint64_t id;  /* hash of the request's id */
    uint64_t seq; /* seq of the request; 0: the slot is free */
};

struct traffic {
    const struct journal *journal; /* borrowed */
    const char *server;            /* borrowed; its name in records */
    const char *url;               /* borrowed; URL that the server's command connects to; NULL:
                                    * none */
    enum validate validate;
    size_t max_message;   /* bytes; for the text of an error */
    struct outbox out[2]; /* [ROW_C2S]: to the server, [ROW_S2C]: to the client */
    size_t own_bytes;     /* bytes of our own answers that were staged since the client's outbox was
                           * last empty */
    struct pending_table open[2]; /* [ROW_C2S]: the client's requests, [ROW_S2C]: the server's */
    struct refused_request refused[REFUSED_MAX]; /* a ring */
    size_t refused_next;
    uint64_t server_answers;    /* number of answers of the present process to requests with an
                                   * id */
    struct timers timers;       /* deadlines of the client's requests */
    struct handshake handshake; /* the messages that are repeated to a new server process */
    struct repeats repeats;     /* calls that may have run */
    struct protocol protocol;   /* the rules of MCP */
    struct forms forms;         /* forms of the server: rules.c writes them, message.c reads them */
    struct buf hidden;          /* owned: the last message of the client with secrets of forms */
    struct odd odd;
    struct tool_gate gate; /* gate.rule == NULL: every tool is kept */
    enum check_arguments check_arguments;
    struct tools tools; /* tools of the newest tools/list */
    struct previous_tools previous_tools;
    struct buf scratch; /* owned: answers under construction */
    struct chunk
        *spare; /* reserve memory for a few answers when allocation fails; NULL: it was used up */
    size_t spare_n;                                /* number of bytes used of the reserve */
    struct redact_lines noise_lines, stderr_lines; /* secrets of the server that span lines */
    char version[32];                              /* negotiated by initialize; "" before */
    bool knows_client, knows_server;               /* the name is recorded */
    uint64_t client[CLIENTS_MAX]; /* hashes of the clients so far: names and versions */
    unsigned clients;
    bool client_said_shutdown; /* `shutdown` or `exit` of LSP: the server is expected to end */
    size_t unfinished[2];      /* bytes of a line that has long been incomplete; 0: none */
    bool unfinished_logged[2];

    void *owner; /* first argument of the callbacks below; each callback may be NULL */
    /* A deadline has passed and the server sent nothing meanwhile. Returns the judgement about the
     * server, and appends it to `why`. With LIVENESS_HUNG the server is being killed. */
    enum liveness (*on_silent)(void *owner, const struct pending *p, int64_t waited_us,
                               struct buf *why);
    /* An answer reports missing, wrong or expired credentials. */
    void (*on_auth)(void *owner, const struct pending *p, struct slice answer);
    /* Called when the first complete list shows that the rule of the gate hides every tool. */
    void (*on_rule)(void *owner, const char *happened);
    /* Returns the number of bytes that the client has read. NULL: all bytes that its pipe has
     * accepted count as read. */
    uint64_t (*client_has_read)(void *owner);
    /* Called when a call p is forwarded that is equal to a call which may have run. happened: a
     * sentence. */
    void (*on_repeat)(void *owner, const struct pending *p, const char *happened);
    /* Called for an answer to a request of ours. */
    void (*on_own_answer)(void *owner, const struct rpc *m);
    /* A sanitized line of the server's stderr; borrowed. */
    void (*on_stderr)(void *owner, struct slice clean);
};

#endif
