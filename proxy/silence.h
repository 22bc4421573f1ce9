/* silence.h - handles a server that sent nothing between a request and its deadline.
 *
 * Samples of its processes are taken while a request is pending, so that the CPU time since then is
 * known. The request is copied, because it has already got its error when the server answers the
 * question, or fails to.
 *
 * Owns      the copies.
 * Units     microseconds of clock_mono_us().
 * Blocks    never. */
#ifndef MI_PROXY_SILENCE_H
#define MI_PROXY_SILENCE_H

#include "proxy/incidents.h"
#include "proxy/process_tree.h"
#include "proxy/server_state.h"

struct silence {
    /* Taken when the request with the next deadline was written, or soon after. */
    struct process_sample base;
    struct process_sample
        recent; /* equal to `base`, or a sample from the first half of the time since `base` */
    struct process_sample
        asked; /* sample from when the server was asked; at_us is 0 if it was not asked */
    int64_t stderr_at_us; /* when the server last wrote to stderr; 0: never */
    uint64_t messages;    /* number of the server's messages when it was silent at a
                                   * deadline */
    /* The request during which the server was last silent. `call` points into the buffers, which
     * are owned. */
    struct incident_call call;
    struct buf method, target, text;
    struct buf name;  /* the request's name for people */
    struct buf what;  /* "the server x did not answer NAME within 30.0 s" */
    struct buf found; /* findings, to be appended to `what` */
    int64_t written_us;
    bool modern; /* a request of 2026-07-28 */
};

struct proxy;

void silence_close(struct silence *s);
/* A process was started. */
void silence_new_process(struct proxy *p);
/* Takes the samples that are due. Called when the timer of the next deadline is set, so that most requests do not pay for
 * it. */
void silence_sample(struct proxy *p);
/* Call it when a request timed out and the server has sent nothing since, which `why` says. *ret:
 * the event to report. Returns false if the server is not in doubt. */
MI_MUST bool silence_judge_timeout(struct proxy *p, const struct pending *q, int64_t waited_us,
                                   const struct buf *why, enum server_event *ret);
/* Call it after the silence was reported: appends what happens next to `why`. before: the state
 * before the report. */
enum liveness silence_explain_timeout(struct proxy *p, enum server_state before, struct buf *why);
/* Whether the server has sent a message since it became doubted. */
bool silence_has_ended(const struct proxy *p);
/* Call it when the time of a doubted state has passed. Returns LIVENESS_HUNG, LIVENESS_AT_WORK, or
 * LIVENESS_SILENT if the server gets more time. */
enum liveness silence_judge_question(const struct proxy *p);
/* Records, with an escalation, that the server was asked and sent a message while its processes
 * work. */
void silence_report_answer(struct proxy *p);
void silence_report_work(struct proxy *p);

/* Actions of the state machine. */
void silence_ask_server(struct proxy *p);
void silence_report_hang(struct proxy *p);

#endif
