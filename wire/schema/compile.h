/* compile.h - compiles a JSON Schema once, and checks values against it.
 *
 * Rules     draft-07 and 2020-12, selected by `$schema`; the default is 2020-12, as in MCP, and the older
 *           spellings are accepted as well. Supported are: type, enum, const, multipleOf, minimum, maximum,
 *           exclusive…, minLength, maxLength, pattern, format, items, prefixItems, additionalItems,
 *           minItems, maxItems, uniqueItems, contains, minContains, maxContains, properties,
 *           patternProperties, additionalProperties, propertyNames, required, minProperties, maxProperties,
 *           dependentRequired, dependentSchemas, dependencies, allOf, anyOf, oneOf, not, if, then, else,
 *           $ref, $defs, definitions, $id, $anchor. Of format: date-time, date, uri, email, uuid.
 *           Not supported: $dynamicRef, unevaluated…, content…; these, and a $ref to another document, allow
 *           any value. Nothing is fetched.
 * Limits    SCHEMA_TEXT_MAX bytes, SCHEMA_STEPS steps per check, SCHEMA_DEPTH nested schemas. A check that
 *           exceeds a limit returns SCHEMA_UNKNOWN.
 * Owns      a copy of its text and everything compiled from it.
 * Blocks    never. Pure. */
#ifndef MI_WIRE_SCHEMA_COMPILE_H
#define MI_WIRE_SCHEMA_COMPILE_H

#include "base/buf.h"
#include "wire/json/scan.h"

#define SCHEMA_TEXT_MAX ((size_t)1 << 20)
#define SCHEMA_STEPS 1000000
#define SCHEMA_DEPTH 200

struct schema;

enum schema_result {
    SCHEMA_FITS,
    SCHEMA_FAILS,
    SCHEMA_UNKNOWN, /* a limit was exceeded (also of a pattern), or out of memory */
};

/* The first failure, appended to both buffers. The reason never contains text of the value. */
struct schema_fault {
    struct buf pointer; /* JSON Pointer into the value, JSON-escaped: "" is the value itself */
    struct buf reason;  /* "must be a string, is a number" */
};
void schema_fault_close(struct schema_fault *f);

/* The text must have passed json_scan(). 0, MI_EINVAL or MI_EFULL with the reason in `why`, or MI_ENOMEM. */
MI_MUST int schema_open(struct schema **ret, struct slice text, struct buf *why);
void schema_close(struct schema *s); /* NULL is fine */

/* The value must have passed json_scan(). fault may be NULL; it is set on SCHEMA_FAILS. */
enum schema_result schema_check(struct schema *s, struct slice value, struct schema_fault *fault);

#endif
