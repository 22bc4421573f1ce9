/* conversation.h - the mock server's side of a session: takes lines of the client, sends lines of
 * the recorded server.
 *
 * Rules     a request gets the recorded outcome of an equal request, or an error; never the outcome
 *           of another method or target. Messages recorded inside an exchange are sent with every
 *           repetition of the exchange; unsolicited messages are sent once, after the event that
 *           they followed.
 * Pure      uses neither clock nor event loop: the caller passes the time, and calls again at
 *           conversation_next_event_us(). The recording is read as far as needed.
 * Owns      the plan and a playback per pending request. Rules, faults, source and report are
 *           borrowed.
 * Limits    CONVERSATION_OPEN_MAX pending requests; more get an error.
 * Errors    MI_ENOMEM; MI_ESTORE or MI_EIO (the recording cannot be read any more): the caller ends
 *           the session.
 * Blocks    on the source only. */
#ifndef MI_REPLAY_MOCK_CONVERSATION_H
#define MI_REPLAY_MOCK_CONVERSATION_H

#include "replay/mock/fault.h"
#include "replay/mock/misses.h"
#include "replay/mock/pace.h"
#include "replay/plan/exchanges.h"

#define CONVERSATION_OPEN_MAX 65536
#define CONVERSATION_NEVER INT64_MAX

struct conversation_rules {
    struct canon_rules canon;
    struct pace pace;
    bool repeat_fail;  /* --repeat fail */
    bool strict_order; /* --ordering strict */
};

enum conversation_end {
    CONVERSATION_RUNNING,
    /* the server exits as in the recording, with conversation_exit_status() */
    CONVERSATION_SERVER_ENDED,
    CONVERSATION_CLOSE,       /* a fault: the server closes stdout, but runs until stdin ends */
    CONVERSATION_CRASH,       /* a fault: the server is killed by SIGKILL */
    CONVERSATION_CLIENT_EXIT, /* the client sent `exit` */
};

struct conversation;

/* Sends a line, newline included, to the client (a fault may truncate the line). The line is valid
 * only during the call. Returns 0; an error; or 1 if the line was sent and the output is now full:
 * then call conversation_send_due_messages() when there is room again. */
typedef int (*conversation_send_fn)(void *ctx, struct slice line);
/* Called with a line of the recorded server's standard error, without its newline. */
typedef void (*conversation_stderr_fn)(void *ctx, struct slice line);

MI_MUST int conversation_open(struct conversation **ret, const struct conversation_rules *rules,
                              struct faults *faults, struct source *source, struct misses *misses,
                              conversation_send_fn send, conversation_stderr_fn send_stderr,
                              void *ctx);
void conversation_close(struct conversation *s);
/* Sends unrecorded requests to a live server (forwarder.h). Must be called before
 * conversation_begin(). `forwarder` is borrowed. */
struct forwarder;
void conversation_set_live_server(struct conversation *s, struct forwarder *forwarder);
/* Reads the first messages, and sends those that the server sent before any message of the
 * client. */
MI_MUST int conversation_begin(struct conversation *s, int64_t now_us);
/* Handles one line of the client, without its newline. */
MI_MUST int conversation_handle_line(struct conversation *s, struct slice line, int64_t now_us);
/* Handles a line that was too long to store. head: the beginning of the line. */
MI_MUST int conversation_handle_long_line(struct conversation *s, struct slice head,
                                          int64_t now_us);
/* Call this function when the client has closed its side: sends delayed messages at once, and drops
 * messages that wait for the client. */
MI_MUST int conversation_handle_client_hangup(struct conversation *s, int64_t now_us);
/* Handles a line of the live server, without its newline; {NULL, 0}: the server has ended. */
MI_MUST int conversation_handle_live_line(struct conversation *s, struct slice line,
                                          int64_t now_us);
/* Sends the messages that are due. */
MI_MUST int conversation_send_due_messages(struct conversation *s, int64_t now_us);
/* Returns the time at which conversation_send_due_messages() must be called; CONVERSATION_NEVER: no
 * call is needed. */
int64_t conversation_next_event_us(const struct conversation *s);
enum conversation_end conversation_get_end_reason(const struct conversation *s);
int64_t conversation_exit_status(const struct conversation *s);
/* Reads some more messages of the recording. Sets *ret_done if all messages were read. */
MI_MUST int conversation_load_messages(struct conversation *s, bool *ret_done);
struct plan *conversation_get_plan(struct conversation *s);
/* Returns the number of pending requests (including those at the live server) plus the number of
 * unfinished lists of unsolicited messages. */
size_t conversation_count_playbacks(const struct conversation *s);

#endif
