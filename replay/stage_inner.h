/* stage_inner.h - what the files of the stage share. Only replay/stage*.c include this. */
#ifndef MI_REPLAY_STAGE_INNER_H
#define MI_REPLAY_STAGE_INNER_H

#include "replay/due.h"
#include "replay/match.h"
#include "replay/rewrite.h"
#include "replay/stage.h"

/* The answers to one array line (2025-03-26): they go back as one. */
struct stage_batch {
    size_t waiting;  /* requests whose answer is not there yet, and one while the line is read */
    struct buf text; /* owned; "[a,b" */
};

/* An open request, or a list of what the server said unasked. */
struct play {
    struct due due;           /* first: a due is its play */
    struct play *prev, *next; /* of those on the stage, or of the idle ones */
    uint32_t exchange;        /* PLAN_NONE: unasked */
    struct plan_anchor list;  /* where its steps are */
    uint32_t at;              /* the step said last; PLAN_NONE: none yet */
    struct pace_mark mark;
    int64_t last_us; /* when it said something last; 0: not yet */
    int64_t not_before_us;
    uint64_t hurry; /* steps recorded before this place are due at once */
    int64_t began_us;
    int64_t parting_us; /* when its subscription ends at the latest; 0: not known yet */
    bool after_note, again, patient;
    bool no_log;      /* the client wants no log messages with its answer (mcp-wire.md 6.4) */
    bool idle;        /* a list of which nothing more is known */
    bool stream;      /* of a subscription */
    bool held;        /* waits for the client to come further (plan_step.behind) */
    size_t questions; /* that the client has not answered */
    const struct fault *fault;   /* NULL: none */
    struct stage_batch *batch;   /* NULL: not of a batch */
    struct slice id, token, key; /* in this block; the token {NULL, 0}: the request had none */
    char data[];
};

/* A question of the server that the client has not answered. */
struct question {
    struct question *next;
    struct play *play; /* NULL: it is no longer on the stage */
    uint32_t step;
    uint64_t number;
    bool text; /* its id is a string */
};

struct task_name {
    char *recorded, *live; /* owned; JSON text */
};

struct stage {
    const struct stage_rules *rules; /* borrowed, like the next three */
    struct source *source;
    struct report *report;
    stage_send_fn send;
    stage_stderr_fn say_stderr;
    void *send_ctx;
    struct pace pace; /* its own: at the end everything is said at once */
    struct faults *faults;
    struct plan *plan; /* owned */
    struct match match;
    struct play *plays; /* newest first */
    struct play *idle;  /* may go on when more of the recording is known */
    size_t plays_n;     /* without the idle ones */
    struct due_heap heap;
    uint32_t steps_seen; /* of the plan, when the plays were last looked through */
    bool finish_seen;
    struct question *questions;
    uint64_t question_number;
    struct task_name *tasks; /* names that the client gave to tasks of its own */
    size_t tasks_n;
    struct buf out, body, text, key; /* owned; scratch */
    uint64_t reached; /* the furthest place of the recording that the client has come to */
    size_t held_n;    /* plays that wait for it to come further */
    int64_t now_us;
    int64_t exit_status;
    enum stage_end ended;
    bool hung_up;
    bool full;              /* the client has to read before notifications go on */
    bool capabilities_seen; /* those of the client were compared */
    bool hurrying; /* in the midst of what has to be said first: answers wait for the next turn */
};

/* stage_reply.c: what we say by ourselves */
MI_MUST int stage_say(struct stage *s, struct slice line);
/* To a request of a batch, or not (NULL). The batch is sent when nothing waits for it any more. */
MI_MUST int stage_reply(struct stage *s, struct stage_batch *batch, struct slice text);
MI_MUST int stage_error(struct stage *s, struct stage_batch *batch, struct slice id, int code,
                        const char *why, const char *cause, const struct report_finding *f);
MI_MUST int stage_batch_done(struct stage *s, struct stage_batch *batch); /* one less to wait for */
/* A request that was not recorded: an answer of our own if it has a sensible one, or a miss. */
MI_MUST int stage_unrecorded(struct stage *s, struct stage_batch *batch, const struct rpc *live,
                             const struct rpc *clean, enum report_kind why);
MI_MUST int stage_no_answer(struct stage *s, struct play *p);
/* Whether the client can do what the recorded one could is told once: it may change answers. */
MI_MUST int stage_compare_capabilities(struct stage *s, const struct rpc *clean, uint32_t exchange);
MI_MUST int stage_compare_answer(struct stage *s, const struct plan_question *q,
                                 const struct rpc *live);

/* stage_step.c */
MI_MUST int stage_step(struct stage *s, struct play *p, uint32_t i);
/* The outcome of an exchange, or the fault in its place. Ends the play. */
MI_MUST int stage_answer(struct stage *s, struct play *p, const struct plan_step *step);

/* stage_play.c */
MI_MUST int stage_start(struct stage *s, const struct rpc *live, uint32_t exchange, bool again,
                        const struct fault *fault, struct stage_batch *batch);
MI_MUST int stage_start_list(struct stage *s, struct plan_anchor list, struct pace_mark mark,
                             struct slice token);
MI_MUST int stage_end_play(struct stage *s, struct play *p);
/* Works out when the play goes on, and says what is due now. */
MI_MUST int stage_run(struct stage *s, struct play *p);
MI_MUST int stage_wake_all(struct stage *s);
/* The client has come to this place: plays that waited for it are due now. */
MI_MUST int stage_reach(struct stage *s, uint64_t place);
MI_MUST int
stage_wake_grown(struct stage *s); /* those that wait for more of the plan, if it has grown */
struct play *stage_find_play(struct stage *s, struct json_value id); /* NULL: none */
struct question *stage_take_question(struct stage *s, struct json_value id);

#endif
