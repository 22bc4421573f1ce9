#include "wire/mcp/method.h"

#include "base/nearest.h"
#include "wire/json/text.h"

/* Short names for sets of revisions and sets of types in the table below. */
#define A REVS_2024_11_05
#define B REVS_2025_03_26
#define C REVS_2025_06_18
#define D REVS_2025_11_25
#define E REVS_2026_07_28
#define LEGACY REVS_LEGACY
#define ALL REVS_ALL

#define OBJECT (1u << JSON_OBJECT)
#define ARRAY (1u << JSON_ARRAY)
#define STRING (1u << JSON_STRING)
#define NUMBER (1u << JSON_NUMBER)
#define BOOLEAN (1u << JSON_TRUE | 1u << JSON_FALSE)
#define NIL (1u << JSON_NULL)
#define ANY (OBJECT | ARRAY | STRING | NUMBER | BOOLEAN | NIL)

#define NEED(name, must, types)                                                                    \
    {                                                                                              \
        FIELD_##name, must, types                                                                  \
    }

#define NAME(text) text, sizeof(text) - 1

/* Fields of a task in 2025-11-25: members of a result or of params. */
#define TASK_FIELDS(revs)                                                                          \
    {                                                                                              \
        NEED(TASK_ID, revs, STRING), NEED(STATUS, revs, STRING), NEED(CREATED_AT, revs, STRING),   \
            NEED(LAST_UPDATED_AT, revs, STRING), NEED(TTL, revs, NUMBER | NIL)                     \
    }
#define LIST_PARAMS                                                                                \
    {                                                                                              \
        NEED(CURSOR, 0, STRING)                                                                    \
    }
#define LIST_RESULT(name)                                                                          \
    {                                                                                              \
        NEED(name, ALL, ARRAY), NEED(NEXT_CURSOR, 0, STRING)                                       \
    }

/* A result that is a task or input_required is not checked against this table: see protocol.c. */
static const struct method methods[] = {
    /* If initialize was not answered, it has had no visible effect, so it may be sent again. */
    {NAME("initialize"),
     true,
     LEGACY,
     0,
     METHOD_UNCANCELLED | METHOD_READS,
     CAP_NONE,
     0,
     {NEED(PROTOCOL_VERSION, LEGACY, STRING), NEED(CAPABILITIES, LEGACY, OBJECT),
      NEED(CLIENT_INFO, LEGACY, OBJECT)},
     {NEED(PROTOCOL_VERSION, LEGACY, STRING), NEED(CAPABILITIES, LEGACY, OBJECT),
      NEED(SERVER_INFO, LEGACY, OBJECT)}},
    {NAME("ping"), true, LEGACY, LEGACY, METHOD_READS, CAP_NONE, 0, {{0}}, {{0}}},
    {NAME("server/discover"),
     true,
     E,
     0,
     METHOD_PATIENT | METHOD_READS | METHOD_CACHED,
     CAP_NONE,
     0,
     {{0}},
     {NEED(SUPPORTED_VERSIONS, E, ARRAY), NEED(CAPABILITIES, E, OBJECT)}},
    {NAME("tools/list"), true, ALL, 0, METHOD_READS | METHOD_CACHED, CAP_TOOLS, REV_2024_11_05,
     LIST_PARAMS, LIST_RESULT(TOOLS)},
    {NAME("tools/call"),
     true,
     ALL,
     0,
     METHOD_ASKS_BACK,
     CAP_TOOLS,
     REV_2024_11_05,
     {NEED(NAME, ALL, STRING), NEED(ARGUMENTS, 0, OBJECT), NEED(REQUEST_STATE, 0, STRING),
      NEED(INPUT_RESPONSES, 0, OBJECT)},
     {NEED(CONTENT, ALL, ARRAY), NEED(IS_ERROR, 0, BOOLEAN)}},
    {NAME("resources/list"), true, ALL, 0, METHOD_READS | METHOD_CACHED, CAP_RESOURCES,
     REV_2024_11_05, LIST_PARAMS, LIST_RESULT(RESOURCES)},
    {NAME("resources/templates/list"), true, ALL, 0, METHOD_READS | METHOD_CACHED, CAP_RESOURCES,
     REV_2024_11_05, LIST_PARAMS, LIST_RESULT(RESOURCE_TEMPLATES)},
    {NAME("resources/read"),
     true,
     ALL,
     0,
     METHOD_READS | METHOD_CACHED | METHOD_ASKS_BACK,
     CAP_RESOURCES,
     REV_2024_11_05,
     {NEED(URI, ALL, STRING), NEED(REQUEST_STATE, 0, STRING), NEED(INPUT_RESPONSES, 0, OBJECT)},
     {NEED(CONTENTS, ALL, ARRAY)}},
    /* METHOD_READS: a repeated subscribe, unsubscribe or logging/setLevel has no further effect */
    {NAME("resources/subscribe"),
     true,
     LEGACY,
     0,
     METHOD_READS,
     CAP_SUBSCRIBE,
     REV_2024_11_05,
     {NEED(URI, LEGACY, STRING)},
     {{0}}},
    {NAME("resources/unsubscribe"),
     true,
     LEGACY,
     0,
     METHOD_READS,
     CAP_SUBSCRIBE,
     REV_2024_11_05,
     {NEED(URI, LEGACY, STRING)},
     {{0}}},
    {NAME("prompts/list"), true, ALL, 0, METHOD_READS | METHOD_CACHED, CAP_PROMPTS, REV_2024_11_05,
     LIST_PARAMS, LIST_RESULT(PROMPTS)},
    {NAME("prompts/get"),
     true,
     ALL,
     0,
     METHOD_READS | METHOD_ASKS_BACK,
     CAP_PROMPTS,
     REV_2024_11_05,
     {NEED(NAME, ALL, STRING), NEED(ARGUMENTS, 0, OBJECT), NEED(REQUEST_STATE, 0, STRING),
      NEED(INPUT_RESPONSES, 0, OBJECT)},
     {NEED(MESSAGES, ALL, ARRAY)}},
    {NAME("completion/complete"),
     true,
     ALL,
     0,
     METHOD_READS,
     CAP_COMPLETIONS,
     REV_2025_03_26,
     {NEED(REF, ALL, OBJECT), NEED(ARGUMENT, ALL, OBJECT)},
     {NEED(COMPLETION, ALL, OBJECT)}},
    {NAME("logging/setLevel"),
     true,
     LEGACY,
     0,
     METHOD_READS,
     CAP_LOGGING,
     REV_2024_11_05,
     {NEED(LEVEL, LEGACY, STRING)},
     {{0}}},
    {NAME("subscriptions/listen"),
     true,
     E,
     0,
     METHOD_PATIENT | METHOD_READS | METHOD_LISTENS,
     CAP_NONE,
     0,
     {NEED(NOTIFICATIONS, E, OBJECT)},
     {NEED(META, E, OBJECT)}},

    {NAME("tasks/get"),
     true,
     D | E,
     D,
     0,
     CAP_TASKS,
     REV_2025_11_25,
     {NEED(TASK_ID, D | E, STRING)},
     TASK_FIELDS(D)},
    {NAME("tasks/result"),
     true,
     D,
     D,
     METHOD_PATIENT | METHOD_PASSES_ON,
     CAP_TASKS,
     REV_2025_11_25,
     {NEED(TASK_ID, D, STRING)},
     {{0}}},
    {NAME("tasks/list"),
     true,
     D,
     D,
     0,
     CAP_TASKS_LIST,
     REV_2025_11_25,
     LIST_PARAMS,
     {NEED(TASKS, D, ARRAY), NEED(NEXT_CURSOR, 0, STRING)}},
    {NAME("tasks/cancel"),
     true,
     D | E,
     D,
     0,
     CAP_TASKS_CANCEL,
     REV_2025_11_25,
     {NEED(TASK_ID, D | E, STRING)},
     TASK_FIELDS(D)},
    {NAME("tasks/update"),
     true,
     E,
     0,
     0,
     CAP_NONE,
     0,
     {NEED(TASK_ID, E, STRING), NEED(INPUT_RESPONSES, E, OBJECT)},
     {{0}}},

    {NAME("roots/list"),
     true,
     0,
     LEGACY,
     0,
     CAP_ROOTS,
     REV_2024_11_05,
     {{0}},
     {NEED(ROOTS, LEGACY, ARRAY)}},
    {NAME("sampling/createMessage"),
     true,
     0,
     LEGACY,
     0,
     CAP_SAMPLING,
     REV_2024_11_05,
     {NEED(MESSAGES, LEGACY, ARRAY), NEED(MAX_TOKENS, LEGACY, NUMBER)},
     {NEED(ROLE, LEGACY, STRING), NEED(CONTENT, LEGACY, OBJECT | ARRAY),
      NEED(MODEL, LEGACY, STRING)}},
    /* an elicitation has two modes, which require different members: protocol.c checks them */
    {NAME("elicitation/create"),
     true,
     0,
     C | D,
     0,
     CAP_ELICITATION,
     REV_2025_06_18,
     {NEED(MESSAGE, C | D, STRING), NEED(REQUESTED_SCHEMA, C, OBJECT), NEED(MODE, 0, STRING),
      NEED(URL, 0, STRING), NEED(ELICITATION_ID, 0, STRING)},
     {NEED(ACTION, C | D, STRING), NEED(CONTENT, 0, OBJECT)}},

    {NAME("notifications/initialized"), false, LEGACY, 0, 0, CAP_NONE, 0, {{0}}, {{0}}},
    {NAME("notifications/cancelled"),
     false,
     ALL,
     ALL,
     0,
     CAP_NONE,
     0,
     {NEED(REQUEST_ID, A | B | C | E, STRING | NUMBER)},
     {{0}}},
    {NAME("notifications/progress"),
     false,
     LEGACY,
     ALL,
     0,
     CAP_NONE,
     0,
     {NEED(PROGRESS_TOKEN, ALL, STRING | NUMBER), NEED(PROGRESS, ALL, NUMBER),
      NEED(MESSAGE, 0, STRING)},
     {{0}}},
    {NAME("notifications/message"),
     false,
     0,
     ALL,
     0,
     CAP_LOGGING,
     REV_2024_11_05,
     {NEED(LEVEL, ALL, STRING), NEED(DATA, ALL, ANY)},
     {{0}}},
    {NAME("notifications/tools/list_changed"),
     false,
     0,
     ALL,
     METHOD_STREAMED,
     CAP_TOOLS_CHANGED,
     REV_2024_11_05,
     {{0}},
     {{0}}},
    {NAME("notifications/prompts/list_changed"),
     false,
     0,
     ALL,
     METHOD_STREAMED,
     CAP_PROMPTS_CHANGED,
     REV_2024_11_05,
     {{0}},
     {{0}}},
    {NAME("notifications/resources/list_changed"),
     false,
     0,
     ALL,
     METHOD_STREAMED,
     CAP_RESOURCES_CHANGED,
     REV_2024_11_05,
     {{0}},
     {{0}}},
    {NAME("notifications/resources/updated"),
     false,
     0,
     ALL,
     METHOD_STREAMED,
     CAP_SUBSCRIBE,
     REV_2024_11_05,
     {NEED(URI, ALL, STRING)},
     {{0}}},
    {NAME("notifications/roots/list_changed"),
     false,
     LEGACY,
     0,
     0,
     CAP_ROOTS_CHANGED,
     REV_2024_11_05,
     {{0}},
     {{0}}},
    {NAME("notifications/elicitation/complete"),
     false,
     0,
     D,
     0,
     CAP_NONE,
     0,
     {NEED(ELICITATION_ID, D, STRING)},
     {{0}}},
    {NAME("notifications/tasks/status"), false, D, D, 0, CAP_NONE, 0, TASK_FIELDS(D), {{0}}},
    {NAME("notifications/subscriptions/acknowledged"),
     false,
     0,
     E,
     METHOD_STREAMED,
     CAP_NONE,
     0,
     {NEED(NOTIFICATIONS, E, OBJECT)},
     {{0}}},
    {NAME("notifications/tasks"),
     false,
     0,
     E,
     METHOD_STREAMED,
     CAP_NONE,
     0,
     {NEED(TASK_ID, E, STRING)},
     {{0}}},
};

/* ---- revisions ------------------------------------------------------------------------------ */

static const char *const revisions[REV_COUNT + 1] = {
    [REV_2024_11_05] = "2024-11-05", [REV_2025_03_26] = "2025-03-26",
    [REV_2025_06_18] = "2025-06-18", [REV_2025_11_25] = "2025-11-25",
    [REV_2026_07_28] = "2026-07-28", [REV_COUNT] = "none",
};

enum revision revision_find_by_date(struct slice date)
{
    int r = 0;
    while (r < REV_COUNT && (date.p == NULL || !slice_is(date, revisions[r])))
        r++;
    return (enum revision)r;
}

const char *revision_name(enum revision r)
{
    return revisions[r];
}

/* ---- capabilities --------------------------------------------------------------------------- */

static const struct {
    /* `inner`: member of the object `part`; NULL: `part` itself declares the capability */
    const char *part, *inner;
    bool is_flag; /* true: `inner` must be the value true; false: `inner` must be an object */
} capabilities[CAP_COUNT] = {
    [CAP_TOOLS] = {"tools", NULL, false},
    [CAP_TOOLS_CHANGED] = {"tools", "listChanged", true},
    [CAP_RESOURCES] = {"resources", NULL, false},
    [CAP_RESOURCES_CHANGED] = {"resources", "listChanged", true},
    [CAP_SUBSCRIBE] = {"resources", "subscribe", true},
    [CAP_PROMPTS] = {"prompts", NULL, false},
    [CAP_PROMPTS_CHANGED] = {"prompts", "listChanged", true},
    [CAP_LOGGING] = {"logging", NULL, false},
    [CAP_COMPLETIONS] = {"completions", NULL, false},
    [CAP_TASKS] = {"tasks", NULL, false},
    [CAP_TASKS_LIST] = {"tasks", "list", false},
    [CAP_TASKS_CANCEL] = {"tasks", "cancel", false},
    [CAP_ROOTS] = {"roots", NULL, false},
    [CAP_ROOTS_CHANGED] = {"roots", "listChanged", true},
    [CAP_SAMPLING] = {"sampling", NULL, false},
    [CAP_SAMPLING_TOOLS] = {"sampling", "tools", false},
    [CAP_ELICITATION] = {"elicitation", NULL, false},
    [CAP_ELICITATION_FORM] = {"elicitation", "form", false},
    [CAP_ELICITATION_URL] = {"elicitation", "url", false},
    [CAP_TASKS_EXTENSION] = {"extensions", "io.modelcontextprotocol/tasks", false},
};

/* Whether the value of a member of capabilities declares capability `c`. part: value of the member
 * capabilities[c].part. */
static bool value_declares_capability(struct json_value part, unsigned c)
{
    if (part.type != JSON_OBJECT || capabilities[c].inner == NULL)
        return part.type == JSON_OBJECT;
    enum json_type type = json_get(part, capabilities[c].inner).type;
    return type == (capabilities[c].is_flag ? JSON_TRUE : JSON_OBJECT);
}

uint32_t capabilities_read_from_object(struct json_value declared)
{
    uint32_t set = 0;
    struct slice key;
    struct json_value part;
    for (struct json_walk w = json_walk_begin(declared); json_walk_next(&w, &key, &part);)
        for (unsigned c = CAP_NONE + 1; c < CAP_COUNT; c++)
            /* if several members have the same name, the last of them is used */
            if (json_key_is(key, capabilities[c].part))
                set = (set & ~(1u << c)) | (value_declares_capability(part, c) ? 1u << c : 0);
    /* an elicitation capability without a mode means form (mcp-wire.md 2.5) */
    if ((set & 1u << CAP_ELICITATION) != 0 && (set & 1u << CAP_ELICITATION_URL) == 0)
        set |= 1u << CAP_ELICITATION_FORM;
    return set;
}

/* ---- methods -------------------------------------------------------------------------------- */

#define NAME_MAX_BYTES 48 /* size of a buffer that holds every method name, in bytes */

/* Returns the method with this name, which must have no escapes; NULL if MCP has no such method. */
static const struct method *method_find_by_plain_name(struct slice name)
{
    for (size_t i = 0; i < MI_COUNT(methods); i++)
        if (methods[i].name_n == name.n && memcmp(methods[i].name, name.p, name.n) == 0)
            return &methods[i];
    return NULL;
}

const struct method *method_find(struct slice raw)
{
    char plain[NAME_MAX_BYTES];
    size_t n;
    if (raw.p == NULL)
        return NULL;
    const struct method *m = method_find_by_plain_name(raw);
    if (m == NULL && memchr(raw.p, '\\', raw.n) != NULL &&
        json_unescape_to(raw, plain, sizeof plain, &n) == 0)
        m = method_find_by_plain_name((struct slice){plain, n});
    return m;
}

const struct method *method_at_index(size_t i)
{
    return i < MI_COUNT(methods) ? &methods[i] : NULL;
}

unsigned method_flags(struct slice raw)
{
    const struct method *m = method_find(raw);
    return m != NULL ? m->flags : 0;
}

bool method_is_lsp(struct slice raw)
{
    return raw.p != NULL && (json_key_is(raw, "shutdown") || json_key_is(raw, "exit") ||
                             slice_begins(raw, "$/") || slice_begins(raw, "textDocument/") ||
                             slice_begins(raw, "workspace/") || slice_begins(raw, "window/"));
}

bool method_is_plausible(const char *name, struct buf *why)
{
    const struct method *known = method_find(slice_of(name));
    struct nearest near = nearest_begin_search(name);
    if (known != NULL ? known->is_request && known->from_client != 0
                      : method_is_lsp(slice_of(name)))
        return true;
    for (size_t i = 0; i < MI_COUNT(methods); i++)
        if (methods[i].is_request && methods[i].from_client != 0)
            nearest_add_candidate(&near, methods[i].name);
    if (known == NULL && near.best == NULL && strchr(name, '/') != NULL)
        return true;
    buf_printf(why, "'%s' is not a method that a client requests", name);
    if (near.best != NULL)
        buf_printf(why, "; did you mean '%s'?", near.best);
    else
        buf_addc(why, '.');
    return false;
}
