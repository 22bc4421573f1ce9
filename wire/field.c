#include "wire/field.h"

/* The names of the fields, sorted by length, so that a key is compared only with the names of its
 * length. */
static const char *const names[FIELD_COUNT] = {
    [FIELD_REF] = "ref",
    [FIELD_URI] = "uri",
    [FIELD_TTL] = "ttl",
    [FIELD_URL] = "url",
    [FIELD_NAME] = "name",
    [FIELD_DATA] = "data",
    [FIELD_MODE] = "mode",
    [FIELD_ROLE] = "role",
    [FIELD_TASK] = "task",
    [FIELD_META] = "_meta",
    [FIELD_LEVEL] = "level",
    [FIELD_MODEL] = "model",
    [FIELD_ROOTS] = "roots",
    [FIELD_TASKS] = "tasks",
    [FIELD_TOOLS] = "tools",
    [FIELD_TTL_MS] = "ttlMs",
    [FIELD_ACTION] = "action",
    [FIELD_CURSOR] = "cursor",
    [FIELD_STATUS] = "status",
    [FIELD_TASK_ID] = "taskId",
    [FIELD_CONTENT] = "content",
    [FIELD_MESSAGE] = "message",
    [FIELD_PROMPTS] = "prompts",
    [FIELD_IS_ERROR] = "isError",
    [FIELD_ARGUMENT] = "argument",
    [FIELD_CONTENTS] = "contents",
    [FIELD_MESSAGES] = "messages",
    [FIELD_PROGRESS] = "progress",
    [FIELD_ARGUMENTS] = "arguments",
    [FIELD_CREATED_AT] = "createdAt",
    [FIELD_MAX_TOKENS] = "maxTokens",
    [FIELD_REQUEST_ID] = "requestId",
    [FIELD_RESOURCES] = "resources",
    [FIELD_CACHE_SCOPE] = "cacheScope",
    [FIELD_CLIENT_INFO] = "clientInfo",
    [FIELD_COMPLETION] = "completion",
    [FIELD_NEXT_CURSOR] = "nextCursor",
    [FIELD_RESULT_TYPE] = "resultType",
    [FIELD_SERVER_INFO] = "serverInfo",
    [FIELD_CAPABILITIES] = "capabilities",
    [FIELD_REQUEST_STATE] = "requestState",
    [FIELD_ELICITATION_ID] = "elicitationId",
    [FIELD_INPUT_REQUESTS] = "inputRequests",
    [FIELD_LAST_UPDATED_AT] = "lastUpdatedAt",
    [FIELD_NOTIFICATIONS] = "notifications",
    [FIELD_PROGRESS_TOKEN] = "progressToken",
    [FIELD_INPUT_RESPONSES] = "inputResponses",
    [FIELD_PROTOCOL_VERSION] = "protocolVersion",
    [FIELD_REQUESTED_SCHEMA] = "requestedSchema",
    [FIELD_RESOURCE_TEMPLATES] = "resourceTemplates",
    [FIELD_STRUCTURED_CONTENT] = "structuredContent",
    [FIELD_SUPPORTED_VERSIONS] = "supportedVersions",
};

/* first[n]: the first field whose name has at least n bytes */
static const uint8_t first[FIELD_NAME_MAX + 2] = {
    [0] = 0,
    [1] = 0,
    [2] = 0,
    [3] = FIELD_REF,
    [4] = FIELD_NAME,
    [5] = FIELD_META,
    [6] = FIELD_ACTION,
    [7] = FIELD_CONTENT,
    [8] = FIELD_ARGUMENT,
    [9] = FIELD_ARGUMENTS,
    [10] = FIELD_CACHE_SCOPE,
    [11] = FIELD_CAPABILITIES,
    [12] = FIELD_CAPABILITIES,
    [13] = FIELD_ELICITATION_ID,
    [14] = FIELD_INPUT_RESPONSES,
    [15] = FIELD_PROTOCOL_VERSION,
    [16] = FIELD_RESOURCE_TEMPLATES,
    [17] = FIELD_RESOURCE_TEMPLATES,
    [18] = FIELD_COUNT,
};

enum field field_find_name(struct slice name)
{
    if (name.n > FIELD_NAME_MAX)
        return FIELD_COUNT;
    for (unsigned f = first[name.n]; f < first[name.n + 1]; f++)
        if (memcmp(names[f], name.p, name.n) == 0)
            return (enum field)f;
    return FIELD_COUNT;
}

const char *field_name(enum field f)
{
    return names[f];
}
