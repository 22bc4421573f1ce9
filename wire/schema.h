/* schema.h - JSON Schema: compiled once, then held against values.
 *
 * Rules     draft-07 and 2020-12, as `$schema` says; without it 2020-12, which is what MCP means, with the
 *           older spellings understood as well. All of: type, enum, const, multipleOf, minimum, maximum,
 *           exclusive…, minLength, maxLength, pattern, format, items, prefixItems, additionalItems,
 *           minItems, maxItems, uniqueItems, contains, minContains, maxContains, properties,
 *           patternProperties, additionalProperties, propertyNames, required, minProperties, maxProperties,
 *           dependentRequired, dependentSchemas, dependencies, allOf, anyOf, oneOf, not, if, then, else,
 *           $ref, $defs, definitions, $id, $anchor. Of format: date-time, date, uri, email, uuid.
 *           Not: $dynamicRef, unevaluated…, content…; these, and a $ref out of the document, allow anything.
 *           Nothing is ever fetched.
 * Limits    SCHEMA_TEXT_MAX, SCHEMA_STEPS of one check, SCHEMA_DEPTH schemas inside each other. A check that
 *           passes a limit knows nothing: SCHEMA_UNKNOWN.
 * Owns      a copy of its text and all that is made of it.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_SCHEMA_H
#define MI_WIRE_SCHEMA_H

#include "base/buf.h"
#include "wire/json.h"

#define SCHEMA_TEXT_MAX ((size_t)1 << 20)
#define SCHEMA_STEPS 1000000
#define SCHEMA_DEPTH 200

struct schema;

enum schema_result {
    SCHEMA_FITS,
    SCHEMA_FAILS,
    SCHEMA_UNKNOWN, /* too much work, a pattern that runs away, or no memory */
};

/* What is wrong first. Both are appended to; nothing of the value stands in the reason. */
struct schema_fault {
    struct buf
        pointer; /* JSON Pointer into the value, as JSON strings have it: "" is the value itself */
    struct buf reason; /* "must be a string, is a number" */
};
void schema_fault_close(struct schema_fault *f);

/* The text is JSON that passed json_scan(). 0, MI_EINVAL (no schema: why says it), MI_EFULL, MI_ENOMEM. */
MI_MUST int schema_open(struct schema **ret, struct slice text, struct buf *why);
void schema_close(struct schema *s); /* NULL is fine */

/* The value is JSON that passed json_scan(). fault may be NULL. */
enum schema_result schema_check(struct schema *s, struct slice value, struct schema_fault *fault);

#endif
