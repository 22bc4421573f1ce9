/* field.h - numbers the members of params and results that the rules of MCP check.
 *
 * rpc_read() stores the type of each of these members while it reads the line, so that the rules do
 * not need a second pass over the message.
 * Blocks    never. Pure; the table is static. */
#ifndef MI_WIRE_FIELD_H
#define MI_WIRE_FIELD_H

#include "base/base.h"

enum field {
    FIELD_REF,
    FIELD_URI,
    FIELD_TTL,
    FIELD_URL,
    FIELD_NAME,
    FIELD_DATA,
    FIELD_MODE,
    FIELD_ROLE,
    FIELD_TASK,
    FIELD_META,
    FIELD_LEVEL,
    FIELD_MODEL,
    FIELD_ROOTS,
    FIELD_TASKS,
    FIELD_TOOLS,
    FIELD_TTL_MS,
    FIELD_ACTION,
    FIELD_CURSOR,
    FIELD_STATUS,
    FIELD_TASK_ID,
    FIELD_CONTENT,
    FIELD_MESSAGE,
    FIELD_PROMPTS,
    FIELD_IS_ERROR,
    FIELD_ARGUMENT,
    FIELD_CONTENTS,
    FIELD_MESSAGES,
    FIELD_PROGRESS,
    FIELD_ARGUMENTS,
    FIELD_CREATED_AT,
    FIELD_MAX_TOKENS,
    FIELD_REQUEST_ID,
    FIELD_RESOURCES,
    FIELD_CACHE_SCOPE,
    FIELD_CLIENT_INFO,
    FIELD_COMPLETION,
    FIELD_NEXT_CURSOR,
    FIELD_RESULT_TYPE,
    FIELD_SERVER_INFO,
    FIELD_CAPABILITIES,
    FIELD_REQUEST_STATE,
    FIELD_ELICITATION_ID,
    FIELD_INPUT_REQUESTS,
    FIELD_LAST_UPDATED_AT,
    FIELD_NOTIFICATIONS,
    FIELD_PROGRESS_TOKEN,
    FIELD_INPUT_RESPONSES,
    FIELD_PROTOCOL_VERSION,
    FIELD_REQUESTED_SCHEMA,
    FIELD_RESOURCE_TEMPLATES,
    FIELD_STRUCTURED_CONTENT,
    FIELD_SUPPORTED_VERSIONS,
    FIELD_COUNT
};

#define FIELD_NAME_MAX 17 /* number of bytes of the longest field name */

/* Returns the field with this unescaped name; FIELD_COUNT if there is none. */
enum field field_find_name(struct slice name);
const char *field_name(enum field f);

#endif
