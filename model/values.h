/* values.h - enums for the columns and log members whose value is one of a few words, and tables of
 * these words.
 *
 * Rules     the words are an interface (docs/vault.md). A word that is not in its table, for
 *           example in a vault of a newer version, is read as UNKNOWN. UNKNOWN is never written to
 *           the vault.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_VALUES_H
#define MI_MODEL_VALUES_H

#include "wire/rpc.h"

/* messages.direction: client to server, server to client */
enum row_direction { ROW_C2S, ROW_S2C, ROW_DIRECTION_UNKNOWN };
/* messages.origin */
enum row_origin { ROW_PEER, ROW_INTERPOSER, ROW_ORIGIN_UNKNOWN };
/* messages.action */
enum row_action { ROW_FORWARDED, ROW_REFUSED, ROW_SWALLOWED, ROW_ACTION_UNKNOWN };
/* messages.kind */
enum row_kind {
    KIND_REQUEST,
    KIND_NOTIFICATION,
    KIND_RESULT,
    KIND_ERROR,
    KIND_BATCH,
    KIND_NOISE,
    KIND_STDERR,
    KIND_UNKNOWN
};
/* How a client's request ended: invocations.status, and `status` in the log directory. */
enum call_status {
    CALL_OK,
    CALL_TOOL_ERROR,
    CALL_ERROR,
    CALL_REFUSED,
    CALL_CANCELLED,
    CALL_SERVER_GONE,
    CALL_INTERRUPTED, /* the session ended before the answer, but not because of the server */
    CALL_TIMEOUT,
    CALL_OPEN,
    CALL_UNKNOWN /* unknown, or no status because the message is not an answer */
};

/* The states of an operation, in operations.state. */
enum operation_state {
    OPERATION_RUNS,  /* waits for the server's answer to a request of the operation */
    OPERATION_ASKED, /* waits until the client sends the request again, with the input */
    /* waits until the client sends the request again, with a person's input */
    OPERATION_ASKED_PERSON,
    OPERATION_TASK,        /* waits for the end of the operation's task */
    OPERATION_TASK_ASKED,  /* the operation's task waits for input of the client */
    OPERATION_TASK_PERSON, /* the operation's task waits for a person's input */
    OPERATION_ENDED,
    OPERATION_STATE_UNKNOWN
};

/* sessions.record_level: how much is stored */
enum record_level {
    RECORD_FULL,     /* everything is recorded, except secrets */
    RECORD_STANDARD, /* as RECORD_FULL, but long content in the arguments of a call is truncated */
    RECORD_MINIMAL,  /* no bodies are recorded */
    RECORD_LEVEL_UNKNOWN
};
/* The reason why a person is needed: `cause` of an escalation. */
enum escalation_cause {
    ESCALATION_HANG,
    ESCALATION_CRASH_LOOP,
    ESCALATION_AUTH,
    ESCALATION_RECORD_ERROR,
    ESCALATION_CRASH,
    ESCALATION_TIMEOUT,
    ESCALATION_EVIDENCE,
    ESCALATION_TOOLS_RULE,
    ESCALATION_REPEAT,
    ESCALATION_NO_PROGRESS,
    ESCALATION_CAUSE_UNKNOWN
};

/* The kind of an event: a finding was added to a message that had been stored. */
#define EVENT_FINDING_ADDED "finding-added"

/* The words of one enum, by value. The value after the last word is UNKNOWN. */
struct value_words {
    size_t n;
    struct slice word[10]; /* static texts; each is followed by a NUL */
};
extern const struct value_words row_directions, row_origins, row_actions, row_kinds, call_statuses;
extern const struct value_words operation_states, record_levels, escalation_causes;

/* Returns the value of a word; UNKNOWN (w->n) if the word is {NULL, 0} or not in the table. */
unsigned value_find_by_word(const struct value_words *w, struct slice word);
/* returns the word; "unknown" for UNKNOWN */
const char *value_get_word(const struct value_words *w, unsigned value);
/* returns the word as a slice */
struct slice value_get_word_as_slice(const struct value_words *w, unsigned value);

/* Returns the kind that is recorded for a message. RPC_INVALID is recorded as KIND_NOISE. */
enum row_kind row_kind_of_rpc(enum rpc_kind kind);

static inline const char *row_direction_name(enum row_direction d)
{
    return value_get_word(&row_directions, d);
}

static inline const char *row_origin_name(enum row_origin o)
{
    return value_get_word(&row_origins, o);
}

static inline const char *row_action_name(enum row_action a)
{
    return value_get_word(&row_actions, a);
}

static inline const char *row_kind_name(enum row_kind k)
{
    return value_get_word(&row_kinds, k);
}

static inline const char *call_status_name(enum call_status s)
{
    return value_get_word(&call_statuses, s);
}

static inline const char *record_level_name(enum record_level l)
{
    return value_get_word(&record_levels, l);
}

static inline const char *escalation_cause_name(enum escalation_cause c)
{
    return value_get_word(&escalation_causes, c);
}

#endif
