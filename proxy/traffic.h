/* traffic.h - what becomes of each line: checked, correlated, recorded, staged; or refused, or kept back.
 *
 * Both directions run the same way: line -> JSON check -> JSON-RPC view -> pending table -> row -> outbox.
 * Nothing leaves here: bytes are staged in two outboxes and rows appended to the recorder, and the
 * owner of both commits and releases at the end of the loop turn.
 *
 * Rules     mcp-wire.md 1 and 6; which line is repaired, refused or swallowed stands in docs/findings.md.
 * Owns      the two outboxes, the two tables of open requests, the lines for the log directory.
 * Errors    want of memory never ends the session: a line that cannot be staged is refused.
 * Blocks    never. No I/O, no loop: a test feeds lines and looks at the outboxes. */
#ifndef MI_PROXY_TRAFFIC_H
#define MI_PROXY_TRAFFIC_H

#include "base/outbox.h"
#include "proxy/handshake.h"
#include "proxy/timers.h"
#include "vault/actions.h"
#include "vault/recorder.h"
#include "vault/redact.h"
#include "vault/toollist.h"
#include "wire/line.h"
#include "wire/protocol.h"
#include "wire/tools.h"

/* What is refused: nothing, what is no message, what breaks a MUST of MCP as well. */
enum validate { VALIDATE_NONE, VALIDATE_WIRE, VALIDATE_PROTOCOL };

/* What tools are called with, against the schemas of their list: not looked at, noted, or refused too. */
enum check_arguments { ARGUMENTS_OFF, ARGUMENTS_WARN, ARGUMENTS_REJECT };

struct traffic {
    struct recorder *recorder; /* borrowed */
    const char *server;        /* borrowed; its name in records */
    enum validate validate;
    size_t max_message;   /* bytes; for the words of an error */
    struct outbox out[2]; /* [ROW_C2S]: to the server, [ROW_S2C]: to the client */
    size_t own_bytes;     /* of errors of ours staged since the client's outbox was last empty */
    struct pending_table open[2]; /* [ROW_C2S]: the client's requests, [ROW_S2C]: the server's */
    struct timers timers;         /* of the client's requests */
    struct handshake handshake;   /* for a new process of the server */
    struct protocol protocol;     /* the rules of MCP */
    enum check_arguments check_arguments;
    struct tools tools; /* of the newest tools/list */
    /* What the server had in the session before is read while it answers the first tools/list. */
    enum {
        TOOLS_BEFORE_UNASKED,
        TOOLS_BEFORE_WANTED,
        TOOLS_BEFORE_READ,
        TOOLS_BEFORE_DONE
    } before_state;
    struct toollist before;
    struct actions actions;
    struct buf scratch;                            /* owned: replies under construction */
    struct redact_lines noise_lines, stderr_lines; /* of the server, for keys that span lines */
    char version[32];                              /* negotiated by initialize; "" before */
    bool knows_client;                             /* the session has the client's name */
    bool leaving; /* the client has said `shutdown` or `exit`: the end of the server is wanted */
    size_t unfinished[2]; /* bytes of a line that had no end for long; 0: none is under way */
    bool told_unfinished[2];
    void *owner; /* of the two calls, which may be NULL */
    /* A deadline has passed in silence. True: the server is ended for that; `why` gets a sentence more. */
    bool (*on_hung)(void *owner, const struct pending *p, int64_t waited_us, struct buf *why);
    /* An answer says that credentials are missing, wrong or expired. */
    void (*on_auth)(void *owner, const struct pending *p, struct slice answer);
    void (*on_own_answer)(void *owner, const struct rpc *m); /* to a request of ours */
    /* A line of the server's stderr without its secrets, those that span lines among them; borrowed. */
    void (*on_stderr)(void *owner, struct slice clean);
};

void traffic_open(struct traffic *t, struct recorder *r, const char *server, enum validate v,
                  size_t max_message);
void traffic_close(struct traffic *t);
/* Deadlines from here on. The rules are borrowed. */
void traffic_deadlines(struct traffic *t, const struct deadlines *rules, int64_t max_us);
/* What has been written is known: clocks begin. In how many microseconds traffic_expire() has something
 * to do; -1: it has nothing. */
int64_t traffic_clocks(struct traffic *t);
/* Answers every request whose time is over, and tells the server. */
void traffic_expire(struct traffic *t);

/* One line of a peer, as line_next() gave it. The byte behind it may be overwritten. */
void traffic_line(struct traffic *t, enum row_direction dir, struct line *line);
/* A line that was too long to keep; `line` has its head. */
void traffic_too_long(struct traffic *t, enum row_direction dir, const struct line *line);
/* The stream ended inside this line. */
void traffic_last_line(struct traffic *t, enum row_direction dir, struct line *line);
/* A line that has begun has had no end for long: `n` bytes of it wait. When it comes, it carries the finding. */
void traffic_unfinished(struct traffic *t, enum row_direction dir, size_t n);
/* A line that the server wrote to stderr; `found` is what is to be noted of it. */
void traffic_stderr(struct traffic *t, const struct line *line, findings found);
/* The client sends what we answer ourselves, and does not read the answers: it must be read no further
 * for now, for the server's reader cannot hold it up. */
bool traffic_must_wait(struct traffic *t);
/* The server can answer no more: every open request of the client gets an error that says why.
 * `cause` is a stable word, `why` a sentence; whether the call may have run follows, for the server has
 * read so many bytes of its outbox. */
void traffic_server_gone(struct traffic *t, const char *cause, const char *why, uint64_t read);
/* Had the server this request, whole? */
bool traffic_had(const struct pending *p, uint64_t read);
/* The client ends the session: so do its subscriptions, each with the result that is their end. */
void traffic_end_listens(struct traffic *t);
/* Recording has failed for good and was not to be done without: what is staged for the client and not
 * released is dropped, its requests are answered with an error, those too whose answers were dropped, and
 * that is released. */
void traffic_drop_unrecorded(struct traffic *t, const char *cause, const char *why);

#endif
