/* silence.h - handles a server that sent nothing between a request and its deadline.
 *
 * Samples of the server's processes are taken while a request is pending, so that the CPU time used
 * since the request is known. The server may be asked whether it lives. The request is copied,
 * because it is answered with an error before it is known whether the server lives.
 *
 * Owns      the copy of the request.
 * Units     microseconds of clock_mono_us().
 * Blocks    never. */
#ifndef MI_PROXY_SILENCE_H
#define MI_PROXY_SILENCE_H

#include "proxy/incidents.h"
#include "proxy/process_tree.h"
#include "proxy/server_state.h"

struct silence {
    /* Sample taken when the request with the next deadline was written, or soon after. */
    struct process_sample base;
    /* Sample taken in the first half of the request's time limit; a copy of `base` until then. */
    struct process_sample recent;
    /* Sample taken when the server was asked whether it lives; at_us is 0 if it was not asked. */
    struct process_sample asked;
    int64_t stderr_at_us; /* when the server last wrote to stderr; 0: never */
    uint64_t messages;    /* number of messages that the server had sent at the missed deadline */
    /* The last request at whose deadline the server was silent. `call` points into the owned
     * buffers. */
    struct incident_call call;
    struct buf method, target, text;
    struct buf name;    /* name of the request in texts for people */
    struct buf what;    /* a text such as "the server x did not answer NAME within 30.0 s" */
    struct buf found;   /* findings about the processes, to be appended to `what` */
    int64_t written_us; /* when the request was written */
    bool modern;        /* the request is of revision 2026-07-28 */
};

struct proxy;

void silence_close(struct silence *s);
/* Call this function when a server process was started. */
void silence_on_new_process(struct proxy *p);
/* Takes the sample `base` or `recent` for the request with the next deadline, if it is due. Call
 * this function when the timer of the next deadline is set: most requests do not set the timer, and
 * then no sample is taken. */
void silence_take_process_samples(struct proxy *p);
/* Call this function when a request timed out and the server has sent nothing since the request.
 * why: the text of the request's error. *ret: the event to report. Returns false if the server
 * counts as slow (LIVENESS_SLOW). */
MI_MUST bool silence_handle_timeout(struct proxy *p, const struct pending *q, int64_t waited_us,
                                    const struct buf *why, enum server_event *ret);
/* Call this function after the silence was reported: appends to `why` what was found about the
 * server, and what the interposer does next. before: the state before the report. */
enum liveness silence_explain_timeout(struct proxy *p, enum server_state before, struct buf *why);
/* Returns true if the server is in doubt and has sent a message since the missed deadline. */
bool silence_was_ended_by_message(const struct proxy *p);
/* Call this function when the time limit of a state in which the server is in doubt has passed.
 * Returns LIVENESS_HUNG, LIVENESS_AT_WORK, or LIVENESS_SILENT if the server gets more time. */
enum liveness silence_judge_probed_server(const struct proxy *p);
/* Records and escalates that the server was asked whether it lives, and sent a message. */
void silence_report_server_message(struct proxy *p);
/* Records and escalates that the server is silent, but its processes work. */
void silence_report_working_server(struct proxy *p);

/* Actions of the state machine: SERVER_DO_ASK and SERVER_DO_REPORT_HANG. */
void silence_ask_if_server_is_alive(struct proxy *p);
void silence_report_hang(struct proxy *p);

#endif
