/* tables.h - struct plan: its tables, and its state while messages are added. */
#ifndef MI_REPLAY_PLAN_TABLES_H
#define MI_REPLAY_PLAN_TABLES_H

#include "base/grow.h"
#include "replay/plan/exchanges.h"
#include "replay/plan/map.h"

struct listen {
    uint64_t id_hash;
    uint32_t exchange;
};

/* A task of the server (revision 2025-11-25, and the tasks extension). */
struct plan_task {
    struct plan_anchor cause; /* cause of the task's next message (task.h) */
    uint64_t place;           /* position of `cause` in the recording */
};

/* A message of a task that was sent before the answer that names the task. */
struct early_note {
    uint32_t step;
    uint64_t task_hash;
};

struct plan {
    const struct canon_rules *rules; /* borrowed */
    struct plan_exchange *exchanges; /* owned, like all pointers up to `early` */
    struct plan_step *steps;
    struct plan_question *questions;
    struct plan_notification *notifications;
    struct plan_topic *topics;
    struct plan_group *groups;
    struct listen *listens;
    uint32_t *undecided; /* questions of the server whose causing request is not known yet */
    struct plan_task *tasks;
    struct early_note *early;
    uint32_t exchanges_n, steps_n, questions_n, notifications_n, topics_n, groups_n, listens_n,
        undecided_n, tasks_n, early_n;
    size_t exchanges_cap, steps_cap, questions_cap, notifications_cap, topics_cap, groups_cap,
        listens_cap, undecided_cap, tasks_cap, early_cap;
    struct map topic_map, group_map;
    struct map token_map; /* key: progress token; value: the newest exchange with this token */
    /* key: hash of the task that the client has created as its answer to a question; value: the
     * question */
    struct map task_map;
    struct map server_task_map; /* key: task of the server; value: its index in `tasks` */
    struct plan_list start;
    struct plan_anchor last;       /* the last event that was added */
    struct plan_anchor last_quiet; /* the last event that is not a request */
    struct plan_anchor cause;      /* the last event that can have caused messages */
    /* the last event that can have caused messages and is not a request */
    struct plan_anchor cause_quiet;
    uint64_t reached;                   /* position of the event `last` in the recording */
    uint64_t cause_place;               /* position of the event `cause` in the recording */
    uint32_t active_first, active_last; /* active exchanges, oldest first */
    uint32_t active_n;
    /* `burst`: number of the last burst of stimuli (exchanges.h); `stimuli`: number of the last
     * stimulus */
    uint32_t burst, stimuli;
    int64_t stimulus_us; /* time of the last stimulus */
    struct buf key;      /* owned; scratch */
    /* protocol revisions: [0] by initialize, [1] modern; see plan_get_protocol_version() */
    char version[2][32];
    bool finished, server_ended;
    bool ends_listen; /* the message being added ends a subscription */
    int64_t last_t_us;
    uint64_t busy; /* position of the last message that does not end a subscription */
    int64_t busy_us;
    uint32_t unplaced; /* see plan_count_unlisted_messages() */
};

/* Makes room for one more element. 0, MI_EFULL or MI_ENOMEM. */
#define PLAN_ROOM(p, what)                                                                         \
    ((p)->what##_n >= PLAN_NONE / 2                    ? MI_EFULL                                  \
     : GROW((p)->what, (p)->what##_n, (p)->what##_cap) ? 0                                         \
                                                       : MI_ENOMEM)

#endif
