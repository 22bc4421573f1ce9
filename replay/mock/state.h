/* state.h - struct conversation: the state of a conversation with the client. */
#ifndef MI_REPLAY_MOCK_STATE_H
#define MI_REPLAY_MOCK_STATE_H

#include "replay/mock/conversation.h"
#include "replay/mock/due_heap.h"
#include "replay/mock/match.h"
#include "replay/plan/rewrite.h"
#include "wire/mcp/tool_rule.h"

/* The answers to a batch (revision 2025-03-26), which are sent as one line. */
struct mock_batch {
    /* number of answers missing from the batch, plus 1 while the client's line is processed */
    size_t waiting;
    struct buf text; /* owned; the answers so far, such as "[a,b" */
};

/* The replay of a pending request, or of a list of unsolicited messages. */
struct playback {
    struct due due; /* `due` must be the first member: heap entries are cast to playbacks */
    struct playback *prev, *next; /* neighbours in the list of active or idle playbacks */
    /* the exchange that is replayed; PLAN_NONE: unsolicited messages are replayed */
    uint32_t exchange;
    struct plan_anchor list; /* the list that contains the playback's steps */
    uint32_t at;             /* the step that was sent last; PLAN_NONE: none yet */
    struct pace_mark mark;
    int64_t last_us; /* time of the playback's last message; 0: no message was sent yet */
    int64_t not_before_us;
    uint64_t catch_up; /* steps that were recorded before this position are sent at once */
    int64_t began_us;
    int64_t ending_us; /* time at which the end of the subscription is sent; 0: not known yet */
    /* time until which the playback waits for the client's answer; 0: it does not wait */
    int64_t owed_until_us;
    bool after_note; /* the message sent last was a notification */
    /* the exchange was already replayed for an earlier request: unsolicited messages are not sent
     * again */
    bool again;
    bool patient; /* METHOD_PATIENT: the request may stay pending forever */
    bool no_log;  /* the client wants no log messages with its answer (mcp-wire.md 6.4) */
    bool idle;    /* the playback's list of steps has no next step yet */
    bool stream;  /* the playback replays a subscription */
    /* the playback waits until the client reaches a position in the recording, or answers a
     * question */
    bool held;
    size_t questions;          /* number of questions that the client has not answered yet */
    const struct fault *fault; /* NULL: none */
    struct mock_batch *batch;  /* the batch of the request; NULL: not in a batch */
    /* `id`, `token` and `key` are in `data`; token {NULL, 0}: the request has no progress token */
    struct slice id, token, key;
    char data[];
};

/* A question of the server that the client has not answered. */
struct question {
    struct question *next;
    /* playback whose list has the question; NULL: the playback has ended */
    struct playback *playback;
    uint32_t step;
    uint64_t number;
    bool text; /* the question's id in the sent message is `number` as a JSON string */
};

struct task_name {
    /* owned; the task's id as JSON text: in the recording, and in this conversation */
    char *recorded, *live;
};

struct conversation {
    /* `rules` is borrowed, like `source`, `misses` and `forwarder` */
    const struct conversation_rules *rules;
    struct source *source;
    struct misses *misses;
    /* borrowed; the queue for the live server; NULL: unrecorded requests get an error */
    struct forwarder *forwarder;
    conversation_send_fn send;
    conversation_stderr_fn send_stderr;
    void *send_ctx;
    /* a copy of rules->pace: the speed becomes 0 when the client has closed its side */
    struct pace pace;
    struct faults *faults;
    struct plan *plan; /* owned */
    /* owned; the rule in the recording that hid tools from the recorded client */
    struct tool_rule tools;
    struct match match;
    struct playback *playbacks; /* playbacks, newest first */
    struct playback *idle;      /* lists that continue when more of the recording is read */
    size_t playbacks_n;         /* number of playbacks in `playbacks`, which excludes `idle` */
    struct due_heap heap;
    /* result of plan_count_steps() at the last call of playback_wake_if_plan_grew() */
    uint32_t steps_seen;
    bool finish_seen;
    struct question *questions;
    uint64_t question_number;
    struct task_name *tasks; /* owned; tasks of the client */
    size_t tasks_n;
    struct buf out, body, text, key; /* owned; scratch */
    uint64_t reached; /* the furthest position in the recording that the client has reached */
    struct pace_mark reached_mark;
    size_t held_n; /* number of playbacks that wait for the client (`held`) */
    int64_t now_us;
    int64_t exit_status;
    enum conversation_end ended;
    bool hung_up;
    bool full; /* the output is full: nothing is sent until conversation_send_due_messages() */
    bool capabilities_seen; /* the client's capabilities were compared */
    bool catching_up;       /* catch_up_all_playbacks() is running: answers are not sent now */
};

#endif
