/* exchanges.h - a recording as exchanges: each request, what the server sent until its outcome, and
 * the outcome.
 *
 * Every message of the server is a step in exactly one list:
 *   inside an exchange   between a request and its outcome. The answer is the last step.
 *   after an event       unsolicited. The event is the last of these: the start, the outcome of an
 *                        exchange, a notification of the client, or the client's answer to a
 *                        question (a request of the server).
 * The token of progress, the id of a subscription and the task of a message determine its list. The
 * cause of other messages is not recorded (mcp-wire.md 6.1) and is guessed. A notification belongs
 * to the newest pending request whose method may cause messages (plan_may_cause_messages()). A
 * question is the reaction to a stimulus: a request, or the client's answer to the previous
 * question. Stimuli less than PLAN_BURST_US apart form a burst. The question belongs to the first
 * stimulus of the last burst without a reaction; requests that have caused no question are
 * preferred. Without such a stimulus, the question belongs to the request whose outcome came first
 * after the client's answer to the question.
 *
 * Causes    an event that only reads or informs (plan_topic.reads, plan_method_needs_no_reaction())
 *           causes only log messages, because the number of such events depends on the time. No
 *           list follows such an event, unless the server exits there.
 * Gates     a step that was recorded after the client answered a question of the same list waits
 *           for that answer.
 * Behind    messages of a subscription and progress of a task continue while other requests are
 *           processed: each step waits until the client has reached the last event before the step
 *           that can have caused messages. The answer to a request that the client cancelled with
 *           `$/cancelRequest` waits in the same way (mcp-wire.md 7.5).
 * After     an unsolicited step also waits for the events after its cause, but only for a limited
 *           time: the client may never reach them.
 * Growth    messages are added in order, and steps do not move later: so an exchange can be
 *           replayed as soon as its outcome is known.
 * Owns      about 100 bytes per exchange and 40 per step. Bodies stay in the source; a step has the
 *           message's position in the source.
 * Limits    2^31 - 1 exchanges and steps; more give MI_EFULL.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_PLAN_EXCHANGES_H
#define MI_REPLAY_PLAN_EXCHANGES_H

#include "replay/source/recording.h"
#include "wire/canon.h"

#define PLAN_NONE UINT32_MAX
#define PLAN_BURST_US 100000

enum plan_kind {
    PLAN_NOTE,     /* a notification, sent unchanged */
    PLAN_PROGRESS, /* a message that is sent with the live client's progress token */
    PLAN_STREAM,   /* a message that is sent with the live subscription's id */
    PLAN_CANCEL,   /* a message that cancels the question of step `link` */
    PLAN_UNLISTEN, /* a message that cancels the subscription of its exchange */
    PLAN_QUESTION, /* a request of the server */
    PLAN_STDERR,   /* a line of the server's standard error */
    PLAN_ANSWER,   /* the result or error of the exchange */
    PLAN_END,      /* the server exits */
};

struct plan_list {
    uint32_t first, last; /* indexes of the first and last step; PLAN_NONE: the list is empty */
};

/* The event that a list of steps follows. */
enum plan_anchor_kind {
    ANCHOR_START,
    ANCHOR_REQUEST,       /* a request of the client; the list is `inside` of its exchange */
    ANCHOR_OUTCOME,       /* the outcome of an exchange */
    ANCHOR_NOTIFICATION,  /* a notification of the client */
    ANCHOR_CLIENT_ANSWER, /* the client's answer to a question */
};

struct plan_anchor {
    enum plan_anchor_kind kind;
    uint32_t i; /* index of the exchange, notification or question that `kind` names */
};

struct plan_step {
    uint64_t place; /* position of the message in the source */
    int64_t t_us;
    uint32_t next;
    /* this step waits for the answer to the question of step `gate`; PLAN_NONE: it does not */
    uint32_t gate;
    /* for PLAN_QUESTION: index of the question; for PLAN_CANCEL: step of the question that is
     * cancelled */
    uint32_t link;
    /* The step is sent after the client has reached the position `place - behind`. 0: the step does
     * not wait. */
    uint32_t behind;
    /* Like `behind`, for the position `place - after`; but the step waits only for a limited
     * time. */
    uint32_t after;
    uint8_t kind; /* enum plan_kind */
    bool in_batch;
};

struct plan_question {
    uint32_t step;
    /* index of the exchange that caused the question; PLAN_NONE: unsolicited, or not known yet */
    uint32_t owner;
    uint64_t answer; /* position of the client's answer in the source; 0: no answer */
    int64_t answered_us;
    uint64_t id_hash;
    struct plan_list after; /* list of the unsolicited steps that follow the answer */
    bool polls;             /* the client's answer only informs the server: it causes no messages */
};

enum plan_outcome {
    PLAN_PENDING,   /* the exchange has no outcome yet */
    PLAN_ANSWERED,  /* the request was answered by the server, or by the interposer in its place */
    PLAN_CANCELLED, /* the client has cancelled the request before it was answered */
};

struct plan_exchange {
    uint64_t place;
    uint64_t token_hash; /* hash of the request's progress token; 0: none */
    uint64_t id_hash;
    uint64_t hash; /* hash of the request's canonical form */
    /* position of the client's `$/cancelRequest` for the request; 0: none */
    uint64_t lsp_cancelled;
    int64_t t_us, end_us; /* times of the request and of the outcome */
    uint32_t topic;
    uint32_t next_same; /* index of the next equal request; PLAN_NONE: none */
    /* index of the next request of the same topic; PLAN_NONE: none */
    uint32_t next_topic;
    uint32_t active_prev, active_next; /* neighbours in the list of active exchanges */
    /* step of the question that was answered last; the next steps wait for its answer; PLAN_NONE:
     * no question was answered */
    uint32_t gate;
    /* number of the burst (see above) that contains the last stimulus of the exchange */
    uint32_t burst;
    /* number of the last stimulus of the exchange; 0: the server has reacted to it */
    uint32_t order;
    uint32_t answer; /* step of the answer; PLAN_NONE: none */
    /* the server's task that the request created or names (tables.h); PLAN_NONE: no task */
    uint32_t task;
    struct plan_list inside, after;
    uint8_t outcome; /* enum plan_outcome */
    uint8_t status;  /* enum call_status */
    bool active;     /* the exchange is in the list of active exchanges */
    bool questioned; /* the exchange has caused a question */
    /* how often the live client has sent the request; maintained by match.c */
    uint32_t times_requested;
};

/* Requests of one method and target, or the client's notifications of one method. */
struct plan_topic {
    struct slice method, target; /* owned; method and target with escapes resolved */
    unsigned flags;              /* METHOD_ flags (wire/mcp/method.h) */
    bool reads;                  /* the requests change nothing: a client may repeat or omit them */
    uint32_t first, last;        /* exchanges */
    uint32_t first_notification, last_notification;
    uint32_t live_notification; /* the notification that the live client is expected to send next */
    uint32_t requests;          /* number of requests of the topic */
};

/* A recorded notification of the client. */
struct plan_notification {
    uint64_t place;
    int64_t t_us;
    struct plan_list after;
    uint32_t next; /* index of the next notification of the same topic */
};

/* Requests with equal canonical forms. */
struct plan_group {
    uint64_t hash;
    /* indexes of the group's first and last exchange; plan_exchange.next_same leads from one to
     * the next */
    uint32_t first, last;
    /* index of the first exchange that the live client has not requested; PLAN_NONE: none */
    uint32_t next;
};

struct plan;

/* Opens an empty plan. rules: borrowed. Returns 0 or MI_ENOMEM. */
MI_MUST int plan_open(struct plan **ret, const struct canon_rules *rules);
void plan_close(struct plan *p); /* p may be NULL */
/* Adds a message with its body; an answer's body may be {NULL, 0}. Returns 0, MI_EFULL or
 * MI_ENOMEM. */
MI_MUST int plan_add_message(struct plan *p, const struct source_message *m, struct slice body);
/* Call this function after the last message. server_ended: the server exited on its own. Returns 0,
 * MI_EFULL or MI_ENOMEM. */
MI_MUST int plan_finish(struct plan *p, bool server_ended);
bool plan_is_finished(const struct plan *p);

uint32_t plan_count_exchanges(const struct plan *p);
uint32_t plan_count_steps(const struct plan *p);
struct plan_exchange *plan_get_exchange(struct plan *p, uint32_t i);
const struct plan_step *plan_get_step(const struct plan *p, uint32_t i);
const struct plan_question *plan_get_question(const struct plan *p, uint32_t i);
const struct plan_topic *plan_get_method_target(const struct plan *p, uint32_t i);
uint32_t plan_count_method_targets(const struct plan *p);
uint32_t plan_find_method_and_target(const struct plan *p, struct slice method,
                                     struct slice target);
/* Returns the group of requests whose canonical form has this hash; NULL if there is none so
 * far. */
struct plan_group *plan_find_equal_requests(struct plan *p, uint64_t hash);
/* Whether the list inside the exchange is complete: the outcome is known, or there are no more
 * messages. */
bool plan_exchange_is_settled(const struct plan *p, uint32_t exchange);
const struct plan_list *plan_get_step_list(struct plan *p, struct plan_anchor a);
/* Whether more steps may be added to the list that follows the event `a`. The kind of `a` must not
 * be ANCHOR_REQUEST: the list of a request is inside its exchange. */
bool plan_step_list_may_grow(const struct plan *p, struct plan_anchor a);
/* Whether, from the position `place` on, all messages of the recording end subscriptions, and then
 * the client leaves (the server does not exit on its own). If so, it is not known whether the
 * client left before or after these messages. The result is final when the plan is finished.
 * *ret_busy_us: time of the last message that does not end a subscription. */
bool plan_only_stream_ends_follow(const struct plan *p, uint64_t place, int64_t *ret_busy_us);
/* Returns the next recorded notification of this method, and marks it as used; PLAN_NONE if there
 * is none so far. */
uint32_t plan_take_next_notification(struct plan *p, struct slice method);
const struct plan_notification *plan_get_notification(const struct plan *p, uint32_t i);
/* Returns the protocol revision. modern: true: the revision in the `_meta` of requests (mcp-wire.md
 * 3.3); false: the revision that initialize negotiated. Returns "" if no message so far has a
 * revision. */
const char *plan_get_protocol_version(const struct plan *p, bool modern);
/* Returns the number of messages that belong to no list, such as progress with an unknown token.
 * Such messages are not replayed. */
uint32_t plan_count_unlisted_messages(const struct plan *p);

#endif
