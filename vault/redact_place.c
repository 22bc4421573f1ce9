#include "vault/redact_place.h"

#include "vault/redact_read.h"

#define SCHEMA_LOOK                                                                                \
    ((size_t)4 << 10) /* bytes of an object in which it must show that it is a schema */

bool place_is_one_of(struct slice s, const char *const *words)
{
    for (; *words != NULL; words++)
        if (slice_is(s, *words))
            return true;
    return false;
}

/* The same, but for case. */
static bool is_word(struct slice s, const char *word)
{
    size_t n = strlen(word);
    if (s.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((s.p[i] | 0x20) != word[i])
            return false;
    return true;
}

enum role place_role(struct slice key)
{
    static const char *const names[] = {"name",     "key",     "header",    "field",      "param",
                                        "variable", "varname", "parameter", "headername", NULL};
    if (key.n < 3 || key.n > 10)
        return ROLE_NONE;
    if (is_word(key, "value") || is_word(key, "val"))
        return ROLE_VALUE;
    if (slice_is(key, "blob") || slice_is(key, "data"))
        return ROLE_BLOB;
    if (is_word(key, "mimetype") || slice_is(key, "mime_type"))
        return ROLE_MIME;
    for (size_t i = 0; names[i] != NULL; i++)
        if (is_word(key, names[i]))
            return ROLE_NAME;
    return ROLE_NONE;
}

static bool ends_with_headers(struct slice key)
{
    return key.n >= 7 && is_word((struct slice){key.p + key.n - 7, 7}, "headers");
}

static enum zone zone_anywhere(struct slice key)
{
    static const char *const schemas[] = {"properties",  "patternProperties", "$defs",
                                          "definitions", "dependentSchemas",  NULL};
    if (key.n < 5)
        return ZONE_ANY;
    if (ends_with_headers(key))
        return ZONE_HEADERS;
    return place_is_one_of(key, schemas) ? ZONE_PROPERTIES : ZONE_ANY;
}

/* docs/mcp-wire.md 2, 5.4, 6.4 */
bool place_stays(enum zone zone, struct slice key)
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
        return place_is_one_of(key, params);
    case ZONE_RESULT:
        return place_is_one_of(key, result);
    case ZONE_META:
        return place_is_one_of(key, meta);
    case ZONE_TASK:
        return slice_is(key, "taskId");
    default:
        return false;
    }
}

enum zone place_zone(enum zone zone, struct slice key)
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
    if (zone == ZONE_META && slice_is(key, "io.modelcontextprotocol/related-task"))
        return ZONE_TASK;
    return zone_anywhere(key);
}

/* ---- schemas ------------------------------------------------------------------------------ */

static bool names_types(struct slice v)
{
    static const char *const types[] = {"string", "number", "integer", "boolean",
                                        "array",  "object", "null",    NULL};
    if (v.n > 0 && v.p[0] == '[')
        return true;
    if (v.n < 2 || v.p[0] != '"')
        return false;
    return place_is_one_of((struct slice){v.p + 1, v.n - 2}, types);
}

static bool is_keyword(struct slice key)
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
    return place_is_one_of(key, words) || slice_begins(key, "$") || slice_begins(key, "x-");
}

/* Does this object declare a property rather than hold its value? Among `properties` one keyword tells;
 * elsewhere nothing but keywords may stand there, and a type. */
bool place_is_schema(const char *at, const char *end, bool among_properties)
{
    static const char *const telling[] = {"$ref", "anyOf", "oneOf", "allOf", "enum", NULL};
    struct read_members m = {at + 1, at + size_min((size_t)(end - at), SCHEMA_LOOK)};
    struct slice key, value;
    bool type = false, words = false, others = false;
    while (read_member(&m, &key, &value)) {
        type |= (slice_is(key, "type") && names_types(value)) || place_is_one_of(key, telling);
        if (slice_is(key, "value"))
            return false;
        if (is_keyword(key))
            words = true;
        else
            others = true;
    }
    return among_properties ? words : type && !others;
}

/* What in a schema is a value. */
bool place_is_schema_value(struct slice key)
{
    static const char *const words[] = {"default", "const", "example", "examples", NULL};
    return place_is_one_of(key, words);
}

bool place_is_text_type(struct slice mime)
{
    static const char *const parts[] = {"json",       "xml",  "yaml",  "toml",
                                        "javascript", "x-sh", "x-pem", "urlencoded",
                                        "graphql",    "sql",  "x-env", NULL};
    if (slice_begins(mime, "text\\/") || slice_begins(mime, "text/"))
        return true;
    if (mime.n > 200 || !slice_begins(mime, "application"))
        return false;
    for (size_t i = 0; parts[i] != NULL; i++)
        if (memmem(mime.p, mime.n, parts[i], strlen(parts[i])) != NULL)
            return true;
    return false;
}
