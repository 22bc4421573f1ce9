#include "model/values.h"

#define W(text)                                                                                    \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

const struct value_words row_directions = {ROW_DIRECTION_UNKNOWN, {W("c2s"), W("s2c")}};
const struct value_words row_origins = {ROW_ORIGIN_UNKNOWN, {W("peer"), W("interposer")}};
const struct value_words row_actions = {ROW_ACTION_UNKNOWN,
                                        {W("forwarded"), W("refused"), W("swallowed")}};

const struct value_words row_kinds = {
    KIND_UNKNOWN,
    {
        [KIND_REQUEST] = W("request"),
        [KIND_NOTIFICATION] = W("notification"),
        [KIND_RESULT] = W("result"),
        [KIND_ERROR] = W("error"),
        [KIND_BATCH] = W("batch"),
        [KIND_NOISE] = W("noise"),
        [KIND_STDERR] = W("stderr"),
    },
};

const struct value_words call_statuses = {
    CALL_UNKNOWN,
    {
        [CALL_OK] = W("ok"),
        [CALL_TOOL_ERROR] = W("tool-error"),
        [CALL_ERROR] = W("error"),
        [CALL_REFUSED] = W("refused"),
        [CALL_CANCELLED] = W("cancelled"),
        [CALL_SERVER_GONE] = W("server-gone"),
        [CALL_INTERRUPTED] = W("interrupted"),
        [CALL_TIMEOUT] = W("timeout"),
        [CALL_OPEN] = W("open"),
    },
};

const struct value_words operation_states = {
    OPERATION_STATE_UNKNOWN,
    {
        [OPERATION_RUNS] = W("runs"),
        [OPERATION_ASKED] = W("asked"),
        [OPERATION_ASKED_PERSON] = W("asked-person"),
        [OPERATION_TASK] = W("task"),
        [OPERATION_TASK_ASKED] = W("task-asked"),
        [OPERATION_TASK_PERSON] = W("task-person"),
        [OPERATION_ENDED] = W("ended"),
    },
};

const struct value_words record_levels = {
    RECORD_LEVEL_UNKNOWN,
    {
        [RECORD_FULL] = W("full"),
        [RECORD_STANDARD] = W("standard"),
        [RECORD_MINIMAL] = W("minimal"),
    },
};

const struct value_words escalation_causes = {
    ESCALATION_CAUSE_UNKNOWN,
    {
        [ESCALATION_HANG] = W("hang"),
        [ESCALATION_CRASH_LOOP] = W("crash-loop"),
        [ESCALATION_AUTH] = W("auth"),
        [ESCALATION_RECORD_ERROR] = W("record-error"),
        [ESCALATION_CRASH] = W("crash"),
        [ESCALATION_TIMEOUT] = W("timeout"),
        [ESCALATION_EVIDENCE] = W("evidence"),
        [ESCALATION_TOOLS_RULE] = W("tools-rule"),
        [ESCALATION_REPEAT] = W("repeat"),
        [ESCALATION_NO_PROGRESS] = W("no-progress"),
    },
};

unsigned value_find_by_word(const struct value_words *w, struct slice word)
{
    unsigned i = 0;
    while (i < w->n && (word.p == NULL || !slice_eq(word, w->word[i])))
        i++;
    return i;
}

const char *value_get_word(const struct value_words *w, unsigned value)
{
    return value < w->n ? w->word[value].p : "unknown";
}

struct slice value_get_word_as_slice(const struct value_words *w, unsigned value)
{
    return value < w->n ? w->word[value] : (struct slice)W("unknown");
}

enum row_kind row_kind_of_rpc(enum rpc_kind kind)
{
    static const enum row_kind kinds[] = {
        [RPC_INVALID] = KIND_NOISE,
        [RPC_REQUEST] = KIND_REQUEST,
        [RPC_NOTIFICATION] = KIND_NOTIFICATION,
        [RPC_RESULT] = KIND_RESULT,
        [RPC_ERROR] = KIND_ERROR,
        [RPC_BATCH] = KIND_BATCH,
    };
    return kinds[kind];
}
