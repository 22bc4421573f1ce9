#include "redact/member_value.h"

#include "redact/read.h"

/* bytes of an object that are examined to recognize a schema */
#define SCHEMA_LOOK ((size_t)4 << 10)

bool slice_is_in_word_list(struct slice s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (slice_is(s, *words))
            return true;
    return false;
}

/* Compares two texts of equal length, ignoring case. `word` must be in lower case. */
static bool key_equals_word(struct slice s, const char *word)
{
    for (size_t i = 0; i < s.n; i++)
        if ((s.p[i] | 0x20) != word[i])
            return false;
    return true;
}

/* This and the functions below run for each key of a message, so they select by length first: at
 * most two words are compared. */
enum role member_value_get_role(struct slice key)
{
    switch (key.n) {
    case 3:
        return key_equals_word(key, "key")   ? ROLE_NAME
               : key_equals_word(key, "val") ? ROLE_VALUE
                                             : ROLE_NONE;
    case 4:
        return key_equals_word(key, "name")                                     ? ROLE_NAME
               : memcmp(key.p, "blob", 4) == 0 || memcmp(key.p, "data", 4) == 0 ? ROLE_BLOB
                                                                                : ROLE_NONE;
    case 5:
        return key_equals_word(key, "value")                                    ? ROLE_VALUE
               : key_equals_word(key, "field") || key_equals_word(key, "param") ? ROLE_NAME
                                                                                : ROLE_NONE;
    case 6:
        return key_equals_word(key, "header") ? ROLE_NAME : ROLE_NONE;
    case 7:
        return key_equals_word(key, "varname") ? ROLE_NAME : ROLE_NONE;
    case 8:
        return key_equals_word(key, "variable") ? ROLE_NAME : ROLE_NONE;
    case 9:
        return key_equals_word(key, "parameter") ? ROLE_NAME : ROLE_NONE;
    case 10:
        return key_equals_word(key, "headername") ? ROLE_NAME : ROLE_NONE;
    default:
        return ROLE_NONE;
    }
}

static enum zone classify_schema_key(struct slice key)
{
    const char *word = key.n == 5    ? "$defs"
                       : key.n == 10 ? "properties"
                       : key.n == 11 ? "definitions"
                       : key.n == 16 ? "dependentSchemas"
                       : key.n == 17 ? "patternProperties"
                                     : NULL;
    if (word != NULL && memcmp(key.p, word, key.n) == 0)
        return ZONE_PROPERTIES;
    if (key.n >= 7 && key_equals_word((struct slice){key.p + key.n - 7, 7}, "headers"))
        return ZONE_HEADERS;
    return ZONE_ANY;
}

/* The fields are those of docs/mcp-wire.md 2, 5.4 and 6.4. */
bool member_value_is_never_replaced(enum zone zone, struct slice key)
{
    static const char *const params[] = {"cursor", "requestState",  "requestId", "progressToken",
                                         "taskId", "elicitationId", NULL};
    static const char *const result[] = {"nextCursor", "requestState", "taskId", NULL};
    static const char *const meta[] = {"progressToken", "io.modelcontextprotocol/subscriptionId",
                                       NULL};
    switch (zone) {
    case ZONE_MESSAGE:
        return slice_is(key, "id") || slice_is(key, "jsonrpc");
    case ZONE_PARAMS:
        return slice_is_in_word_list(key, params);
    case ZONE_RESULT:
        return slice_is_in_word_list(key, result);
    case ZONE_META:
        return slice_is_in_word_list(key, meta);
    case ZONE_TASK:
        return slice_is(key, "taskId");
    default:
        return false;
    }
}

enum zone member_value_get_zone(enum zone zone, struct slice key)
{
    bool talk = zone == ZONE_PARAMS || zone == ZONE_RESULT;
    if (zone == ZONE_MESSAGE && slice_is(key, "params"))
        return ZONE_PARAMS;
    if (zone == ZONE_MESSAGE && slice_is(key, "result"))
        return ZONE_RESULT;
    if (talk && slice_is(key, "_meta"))
        return ZONE_META;
    if (talk && (slice_is(key, "task") || slice_is(key, "tasks")))
        return ZONE_TASK;
    if (talk && slice_is(key, "inputRequests"))
        return ZONE_INPUTS;
    if (zone == ZONE_META && slice_is(key, "io.modelcontextprotocol/related-task"))
        return ZONE_TASK;
    return classify_schema_key(key);
}

/* ---- requests for input ------------------------------------------------------------------- */

bool member_value_is_input_request(const char *at, const char *end)
{
    static const char *const methods[] = {"elicitation/create", "sampling/createMessage",
                                          "roots/list", NULL};
    struct read_members m = {at + 1, end};
    struct slice key, value;
    bool is = false;
    while (read_member(&m, &key, &value))
        if (slice_is(key, "method"))
            is = value.n > 2 && value.p[0] == '"' &&
                 slice_is_in_word_list((struct slice){value.p + 1, value.n - 2}, methods);
        else if (!slice_is(key, "params"))
            return false;
    return is;
}

/* ---- schemas ------------------------------------------------------------------------------ */

static bool member_value_is_schema_type(struct slice v)
{
    static const char *const types[] = {"string", "number", "integer", "boolean",
                                        "array",  "object", "null",    NULL};
    if (v.n > 0 && v.p[0] == '[')
        return true;
    if (v.n < 2 || v.p[0] != '"')
        return false;
    return slice_is_in_word_list((struct slice){v.p + 1, v.n - 2}, types);
}

static bool key_is_schema_keyword(struct slice key)
{
    static const char *const words[] = {"type",
                                        "title",
                                        "description",
                                        "default",
                                        "examples",
                                        "example",
                                        "enum",
                                        "enumNames",
                                        "const",
                                        "format",
                                        "pattern",
                                        "minLength",
                                        "maxLength",
                                        "minimum",
                                        "maximum",
                                        "items",
                                        "properties",
                                        "required",
                                        "anyOf",
                                        "oneOf",
                                        "allOf",
                                        "not",
                                        "nullable",
                                        "deprecated",
                                        "readOnly",
                                        "writeOnly",
                                        "minItems",
                                        "maxItems",
                                        "uniqueItems",
                                        "optional",
                                        "label",
                                        "placeholder",
                                        "contentEncoding",
                                        "contentMediaType",
                                        "additionalProperties",
                                        "exclusiveMinimum",
                                        "exclusiveMaximum",
                                        "multipleOf",
                                        NULL};
    return slice_is_in_word_list(key, words) || slice_begins(key, "$") || slice_begins(key, "x-");
}

/* An object counts as a JSON Schema: inside `properties`, if one member is a keyword of JSON
 * Schema; elsewhere, if all members are keywords, and one of them declares a type. */
bool member_value_is_json_schema(const char *at, const char *end, bool among_properties)
{
    static const char *const telling[] = {"$ref", "anyOf", "oneOf", "allOf", "enum", NULL};
    struct read_members m = {at + 1, at + size_min((size_t)(end - at), SCHEMA_LOOK)};
    struct slice key, value;
    bool type = false, words = false, others = false;
    while (read_member(&m, &key, &value)) {
        type |= (slice_is(key, "type") && member_value_is_schema_type(value)) ||
                slice_is_in_word_list(key, telling);
        if (slice_is(key, "value"))
            return false;
        if (key_is_schema_keyword(key))
            words = true;
        else
            others = true;
    }
    return among_properties ? words : type && !others;
}

bool member_value_is_schema_literal(struct slice key)
{
    static const char *const words[] = {"default", "const", "example", "examples", NULL};
    return slice_is_in_word_list(key, words);
}
