/* compile.h - compiles a JSON Schema once, and checks values against it.
 *
 * Rules     draft-04, draft-06, draft-07, 2019-09 and 2020-12, selected by `$schema`; the default
 *           is 2020-12, as in MCP. Schemas of 2020-12 may also use older keywords, such as
 *           `definitions`. All keywords of validation are checked, and $ref, $dynamicRef,
 *           $recursiveRef, $anchor and $id. Formats: date-time, date, uri, email, uuid; other
 *           formats, content… and unknown keywords allow any value.
 * Unknown   a check that depends on another document (nothing is fetched), an unknown dialect or an
 *           unsupported pattern returns SCHEMA_UNKNOWN, unless the value fails anyway.
 * Limits    For compiling: SCHEMA_TEXT_MAX bytes of text, SCHEMA_BYTES_MAX bytes of memory for all
 *           schemas that share a quota, SCHEMA_OPEN_STEPS steps. Time and memory are linear in the
 *           length of the text; the memory of its patterns is counted as well. For a check:
 *           SCHEMA_VALUE_MAX bytes of value, SCHEMA_STEPS steps, SCHEMA_DEPTH nested schemas. A
 *           check that exceeds a limit returns SCHEMA_UNKNOWN. Each step of a pattern search counts
 *           as a step of the check. A check allocates a tree of the value; if the schema has an
 *           unevaluated… keyword, also 4 bytes for each node of this tree and at most 8 bytes for
 *           each step.
 * Time      SCHEMA_STEPS steps take about 5 ms, at most 18 ms in `make fuzz-schemas` on a busy
 *           machine. Reading an element of the schema or of the value is a step. `cpu_us` is a
 *           second limit, for live connections; without it, the result is the same on every
 *           machine.
 * Owns      a copy of its text and everything compiled from it.
 * Blocks    never. Pure, but for the CPU time of this thread. */
#ifndef MI_WIRE_SCHEMA_COMPILE_H
#define MI_WIRE_SCHEMA_COMPILE_H

#include "base/buf.h"
#include "base/quota.h"
#include "wire/json/scan.h"

#define SCHEMA_TEXT_MAX ((size_t)1 << 20)
#define SCHEMA_BYTES_MAX ((size_t)8 << 20)
#define SCHEMA_OPEN_STEPS 1000000
#define SCHEMA_VALUE_MAX ((size_t)1 << 20)
#define SCHEMA_STEPS 400000
#define SCHEMA_DEPTH 200

struct schema;

enum schema_result {
    SCHEMA_FITS,
    SCHEMA_FAILS,
    /* a limit of the check or of a pattern was exceeded, a keyword cannot be checked, or memory ran
     * out */
    SCHEMA_UNKNOWN,
};

/* The first failure of a check. The check appends to both buffers. The reason never contains text
 * of the value. After SCHEMA_UNKNOWN, the reason says which limit was exceeded, or what cannot be
 * checked. */
struct schema_fault {
    struct buf pointer; /* JSON Pointer into the value, JSON-escaped: "" is the value itself */
    struct buf reason;  /* why the value does not match, such as "must be a string, is a number" */
};
void schema_fault_close(struct schema_fault *f);

/* Limits for all schemas of one owner together. */
struct schema_limits {
    /* limit of memory; if quota.max is 0, schema_open() sets it to SCHEMA_BYTES_MAX */
    struct quota memory;
    int64_t cpu_us; /* limit of CPU time for compiling a schema, and for one check; 0: no limit */
};

/* Compiles a schema, whose text must have passed json_scan(). Returns 0, MI_ENOMEM, MI_EINVAL (the
 * text is not a schema) or MI_EFULL (a limit was exceeded). After MI_EINVAL and MI_EFULL, `why` has
 * the reason. The limits are borrowed and must outlive the schema; NULL gives the schema limits of
 * its own. */
MI_MUST int schema_open(struct schema **ret, struct slice text, struct schema_limits *limits,
                        struct buf *why);
void schema_close(struct schema *s); /* accepts NULL */

/* Checks a value, which must have passed json_scan(). fault: gets the failure after SCHEMA_FAILS,
 * and only a reason after SCHEMA_UNKNOWN; may be NULL. */
enum schema_result schema_check(struct schema *s, struct slice value, struct schema_fault *fault);

#endif
