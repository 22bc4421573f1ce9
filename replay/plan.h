/* plan.h - a recording as exchanges: what was asked, what the server said meanwhile, what came of it.
 *
 * Everything the server said has one place in a list of steps:
 *   inside an exchange   between a request and its outcome. The answer is the last of them.
 *   after something      unasked: behind the outcome of an exchange, a notification of the client, its
 *                        answer to a question of the server, or the start, whichever came last.
 * Progress goes by its token, messages of a subscription by its id, those of a task by the task. Of the rest
 * nothing says what caused it (mcp-wire.md 6.1). A notification goes to the request that is open and at
 * work, the newest if there are several. A question (a request of the server) answers a stimulus, which is
 * a request or the client's answer to the question before: of the last of them, with less than PLAN_BURST_US
 * from one to the next, the first that nothing has come of yet; requests that have led to no question
 * first. When there is none, it goes to the request whose outcome comes next after the client's answer.
 *
 * Gates     a step that was recorded after the client's answer to a question of its list waits for that answer.
 * Behind    what a subscription says, and the progress of a task, has a list of its own and goes on while other
 *           things happen: it waits until the client has come as far in the recording as it had then. So does
 *           the answer to what the client had called off by `$/cancelRequest` (mcp-wire.md 7.5).
 * Growth    messages are added in order, from the head; what is known stays as it is, so an exchange can be
 *           played as soon as its outcome is known.
 * Owns      some 100 bytes an exchange and 40 a step; no bodies: a step names its place in the source.
 * Limits    2^31 - 1 of each. MI_EFULL beyond.
 * Blocks    never. Pure. */
#ifndef MI_REPLAY_PLAN_H
#define MI_REPLAY_PLAN_H

#include "replay/canon.h"
#include "replay/source.h"

#define PLAN_NONE UINT32_MAX
#define PLAN_BURST_US 100000

enum plan_kind {
    PLAN_NOTE,     /* a notification, sent as it is */
    PLAN_PROGRESS, /* its token becomes the live one */
    PLAN_STREAM,   /* its subscription id becomes the live one */
    PLAN_CANCEL,   /* cancels a question of the server (`link`) */
    PLAN_UNLISTEN, /* ends the subscription that its exchange is */
    PLAN_QUESTION, /* a request of the server */
    PLAN_STDERR,   /* a line of the server's standard error */
    PLAN_ANSWER,   /* the outcome of its exchange */
    PLAN_END,      /* the server ended */
};

struct plan_list {
    uint32_t first, last; /* steps; PLAN_NONE: empty */
};

/* What steps stand behind. */
enum plan_anchor_kind {
    ANCHOR_START,
    ANCHOR_REQUEST, /* of the client: the steps inside its exchange */
    ANCHOR_OUTCOME, /* of an exchange */
    ANCHOR_CUE,     /* a notification of the client */
    ANCHOR_REPLY,   /* the client's answer to a question */
};

struct plan_anchor {
    enum plan_anchor_kind kind;
    uint32_t i; /* exchange, cue or question */
};

struct plan_step {
    uint64_t place; /* of the message in the source */
    int64_t t_us;
    uint32_t next;
    uint32_t gate;   /* the question of this list whose answer came before it; PLAN_NONE */
    uint32_t link;   /* QUESTION: which; CANCEL: the question's step */
    uint32_t behind; /* so many places before it lies what must have happened; 0: nothing */
    uint8_t kind;    /* enum plan_kind */
    bool in_batch;
};

struct plan_question {
    uint32_t step;
    uint32_t owner;  /* exchange it stands in; PLAN_NONE: unasked, or not known yet */
    uint64_t answer; /* place of the client's answer; 0: none */
    int64_t answered_us;
    uint64_t id_hash;
    struct plan_list after; /* what followed the answer, unasked */
};

enum plan_outcome {
    PLAN_OPEN,      /* no answer is known (yet) */
    PLAN_ANSWERED,  /* by the server, or by the interposer in its place */
    PLAN_CANCELLED, /* by the client, before an answer came */
};

struct plan_exchange {
    uint64_t place;
    uint64_t token_hash; /* of its progress token; 0: none */
    uint64_t id_hash;
    uint64_t called_off;  /* place of the client's `$/cancelRequest` for it; 0: none */
    int64_t t_us, end_us; /* of the request and of the outcome */
    uint32_t topic;
    uint32_t next_same;  /* the next one equal to it; PLAN_NONE */
    uint32_t next_topic; /* the next one of its topic */
    uint32_t open_prev, open_next;
    uint32_t gate;   /* last question in it that was answered */
    uint32_t burst;  /* of its last stimulus */
    uint32_t order;  /* the same, among all stimuli; 0: something has come of it */
    uint32_t answer; /* step; PLAN_NONE */
    struct plan_list inside, after;
    uint8_t outcome; /* enum plan_outcome */
    bool listed;     /* among those at work */
    bool questioned; /* it has led to a question */
    uint32_t asked;  /* by the live client: the stage counts here */
};

/* Requests of one method and target, or notifications of the client of one method. */
struct plan_topic {
    struct slice method, target;            /* owned; escapes resolved */
    unsigned flags;                         /* of wire/method.h */
    uint32_t first, last;                   /* exchanges */
    uint32_t first_cue, last_cue, live_cue; /* cues; live_cue: the next that the client may give */
    uint32_t requests;
};

/* A notification of the client. */
struct plan_cue {
    uint64_t place;
    int64_t t_us;
    struct plan_list after;
    uint32_t next; /* of the same topic */
};

/* Equal requests. */
struct plan_group {
    uint64_t hash;
    uint32_t first, last; /* exchanges, by next_same */
    uint32_t next;        /* the first that was not asked yet; PLAN_NONE */
};

struct plan;

/* The rules are borrowed. 0 or MI_ENOMEM. */
MI_MUST int plan_open(struct plan **ret, const struct canon_rules *rules);
void plan_close(struct plan *p); /* NULL is fine */
/* One message; `body` is the whole of it ({NULL, 0} for an answer will do). 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int plan_add(struct plan *p, const struct source_message *m, struct slice body);
/* There are no more. server_ended: the server left by itself. 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int plan_finish(struct plan *p, bool server_ended);
bool plan_finished(const struct plan *p);

uint32_t plan_exchanges(const struct plan *p);
uint32_t plan_steps(const struct plan *p);
struct plan_exchange *plan_exchange(struct plan *p, uint32_t i);
const struct plan_step *plan_step(const struct plan *p, uint32_t i);
const struct plan_question *plan_question(const struct plan *p, uint32_t i);
const struct plan_topic *plan_topic(const struct plan *p, uint32_t i);
uint32_t plan_topics(const struct plan *p);
uint32_t plan_find_topic(const struct plan *p, struct slice method, struct slice target);
/* The group whose requests have this canonical form's hash; NULL: none so far. */
struct plan_group *plan_find_group(struct plan *p, uint64_t hash);
/* Nothing more can come into its list before the outcome. */
bool plan_settled(const struct plan *p, uint32_t exchange);
const struct plan_list *plan_list(struct plan *p, struct plan_anchor a);
/* More may come into this list, which is none of an exchange. */
bool plan_list_grows(const struct plan *p, struct plan_anchor a);
/* Behind this place of the recording are only the ends of subscriptions, and then the client's own end: the one
 * may have come of the other. Final when the plan is finished. *ret_busy_us: when the last other thing was said. */
bool plan_is_parting(const struct plan *p, uint64_t place, int64_t *ret_busy_us);
/* The next notification of this method that the client gave; PLAN_NONE: none so far. */
uint32_t plan_take_cue(struct plan *p, struct slice method);
const struct plan_cue *plan_cue(const struct plan *p, uint32_t i);
/* The revision that initialize came to, and that of requests which name one themselves (mcp-wire.md 3.3);
 * "": nothing of the kind so far. */
const char *plan_version(const struct plan *p, bool modern);
/* Messages that could not be given a place: progress for a token that nobody gave, and the like. They are not
 * played. */
uint32_t plan_unplaced(const struct plan *p);

#endif
