#include "model/values.h"

const struct value_words row_directions = {ROW_DIRECTION_UNKNOWN, {"c2s", "s2c"}};
const struct value_words row_origins = {ROW_ORIGIN_UNKNOWN, {"peer", "interposer"}};
const struct value_words row_actions = {ROW_ACTION_UNKNOWN, {"forwarded", "refused", "swallowed"}};

const struct value_words row_kinds = {
    KIND_UNKNOWN,
    {
        [KIND_REQUEST] = "request",
        [KIND_NOTIFICATION] = "notification",
        [KIND_RESULT] = "result",
        [KIND_ERROR] = "error",
        [KIND_BATCH] = "batch",
        [KIND_NOISE] = "noise",
        [KIND_STDERR] = "stderr",
    },
};

const struct value_words call_statuses = {
    CALL_UNKNOWN,
    {
        [CALL_OK] = "ok",
        [CALL_TOOL_ERROR] = "tool-error",
        [CALL_ERROR] = "error",
        [CALL_REFUSED] = "refused",
        [CALL_CANCELLED] = "cancelled",
        [CALL_SERVER_GONE] = "server-gone",
        [CALL_INTERRUPTED] = "interrupted",
        [CALL_TIMEOUT] = "timeout",
        [CALL_OPEN] = "open",
    },
};

const struct value_words record_levels = {
    RECORD_LEVEL_UNKNOWN,
    {
        [RECORD_FULL] = "full",
        [RECORD_STANDARD] = "standard",
        [RECORD_MINIMAL] = "minimal",
    },
};

const struct value_words escalation_causes = {
    ESCALATION_CAUSE_UNKNOWN,
    {
        [ESCALATION_HANG] = "hang",
        [ESCALATION_CRASH_LOOP] = "crash-loop",
        [ESCALATION_AUTH] = "auth",
        [ESCALATION_RECORD_ERROR] = "record-error",
        [ESCALATION_CRASH] = "crash",
        [ESCALATION_TIMEOUT] = "timeout",
    },
};

unsigned value_of(const struct value_words *w, struct slice word)
{
    unsigned i = 0;
    while (i < w->n && (word.p == NULL || !slice_is(word, w->word[i])))
        i++;
    return i;
}

const char *value_word(const struct value_words *w, unsigned value)
{
    return value < w->n ? w->word[value] : "unknown";
}

enum row_kind row_kind_of(enum rpc_kind kind)
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
