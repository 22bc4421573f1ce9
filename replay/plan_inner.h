/* plan_inner.h - what the files of the plan share. Only replay/plan*.c include this. */
#ifndef MI_REPLAY_PLAN_INNER_H
#define MI_REPLAY_PLAN_INNER_H

#include "base/room.h"
#include "replay/map.h"
#include "replay/plan.h"

struct listen {
    uint64_t id_hash;
    uint32_t exchange;
};

struct plan {
    const struct canon_rules *rules; /* borrowed */
    struct plan_exchange *exchanges; /* all owned */
    struct plan_step *steps;
    struct plan_question *questions;
    struct plan_cue *cues;
    struct plan_topic *topics;
    struct plan_group *groups;
    struct listen *listens;
    uint32_t *undecided; /* questions that several requests may have led to */
    uint32_t exchanges_n, steps_n, questions_n, cues_n, topics_n, groups_n, listens_n, undecided_n;
    size_t exchanges_cap, steps_cap, questions_cap, cues_cap, topics_cap, groups_cap, listens_cap,
        undecided_cap;
    struct map topic_map, group_map;
    struct map token_map; /* the newest exchange with a progress token */
    struct map task_map;  /* the question whose answer named a task of the client */
    struct plan_list start;
    struct plan_anchor anchor; /* what happened last */
    struct plan_anchor quiet;  /* the same without requests that nothing is to be expected of */
    uint64_t reached;          /* the place of that or of a request, whichever came last */
    uint32_t open_first, open_last; /* exchanges that are open and at work, oldest first */
    uint32_t open_n;
    uint32_t burst, stimuli; /* counts */
    int64_t stimulus_us;     /* when the last one was */
    struct buf key;          /* owned; scratch */
    char version[2][32];     /* of initialize, of requests */
    bool finished, server_ended;
    bool ends_listen; /* the message that is being added does */
    int64_t last_t_us;
    uint64_t busy; /* the place of the last message that does something else */
    int64_t busy_us;
    uint32_t unplaced; /* messages */
};

/* Makes room for one more entry. 0, MI_EFULL or MI_ENOMEM. */
#define PLAN_ROOM(p, what)                                                                         \
    ((p)->what##_n >= PLAN_NONE / 2                    ? MI_EFULL                                  \
     : ROOM((p)->what, (p)->what##_n, (p)->what##_cap) ? 0                                         \
                                                       : MI_ENOMEM)

/* plan.c */
uint64_t plan_id_hash(struct plan *p, struct json_value id); /* of an id or token; 0: it is none */
uint64_t plan_task_hash(struct plan *p, struct json_value id);
void plan_happened(struct plan *p, uint64_t place, enum plan_anchor_kind kind, uint32_t i);
bool plan_is_listen(const struct plan *p, uint32_t exchange);
/* Keeps the first version that is learnt. */
void plan_learn_version(char *version, size_t max, struct json_value v);

/* plan_server.c: messages of the server. 0, MI_EFULL or MI_ENOMEM. */
MI_MUST int plan_server_note(struct plan *p, const struct source_message *m, const struct rpc *rpc);
MI_MUST int plan_server_stderr(struct plan *p, const struct source_message *m);
MI_MUST int plan_server_request(struct plan *p, const struct source_message *m,
                                const struct rpc *rpc);
MI_MUST int plan_server_answer(struct plan *p, const struct source_message *m, struct slice body);

/* plan_index.c */
MI_MUST int plan_topic_of(struct plan *p, struct slice method, struct slice target, uint32_t *ret);
MI_MUST int plan_group_add(struct plan *p, uint64_t hash, uint32_t exchange);
uint32_t plan_exchange_at(const struct plan *p, uint64_t place); /* PLAN_NONE: none */
uint32_t plan_question_at(const struct plan *p, uint64_t place);
/* Is something to be expected of a request of this method beside its answer? */
bool plan_works(struct slice method);

/* plan_place.c: where a step goes */
MI_MUST int plan_new_step(struct plan *p, const struct plan_step *step, uint32_t *ret);
void plan_append(struct plan *p, struct plan_list *list, uint32_t step);
void plan_append_inside(struct plan *p, uint32_t exchange, uint32_t step);
struct plan_list *plan_list_of(struct plan *p, struct plan_anchor a);
void plan_place_note(struct plan *p, uint32_t step);
MI_MUST int plan_place_question(struct plan *p, uint32_t question, bool after_cue);
/* with_task: what the server asks next names the task. */
void plan_question_answered(struct plan *p, uint32_t question, bool with_task);
/* The client has said something that this exchange is to react to. */
void plan_stimulus(struct plan *p, uint32_t exchange);
void plan_opened(struct plan *p, uint32_t exchange);
/* The exchange has come to an end; `answered`: by an answer. Before its answer is appended. */
void plan_closing(struct plan *p, uint32_t exchange, bool answered);

#endif
