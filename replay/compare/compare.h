/* compare.h - compares a recorded result or error with another one.
 *
 * Rules     the order of keys, white space and the spelling of strings and numbers are ignored.
 *           Lists of tools, prompts, resources and templates have no order: their entries are
 *           paired by name or URI.
 * Ignored   values that a server generates: `_meta`, cursors, request states, task ids and their
 *           times, the version of the server; and the values at the pointers of --ignore, which
 *           begin at the result or the error.
 * Redacted  where the sanitizer has changed the recording, `[redacted:…]` matches any value, and
 *           `… [+N chars]` matches any end of the text.
 * Depth     objects and arrays in more than JSON_TREE_DEPTH levels are compared as text.
 * Owns      nothing.
 * Blocks    never. Pure; recursion as deep as the text, to JSON_TREE_DEPTH. */
#ifndef MI_REPLAY_COMPARE_COMPARE_H
#define MI_REPLAY_COMPARE_COMPARE_H

#include "wire/json/pointer.h"
#include "wire/json/scan.h"

struct compare_rules {
    const struct pointers *ignore;
    bool both_recorded; /* the sanitizer may also have changed the second value */
};

struct compare_difference {
    struct slice pointer; /* JSON pointer to the values; "" for the whole value */
    /* the values as JSON, as written; {NULL, 0}: the value is missing */
    struct slice recorded, live;
    bool in_schema;     /* the difference is inside the schema of a tool */
    bool is_entry;      /* a whole entry of a list differs: a tool, a prompt, a resource */
    struct slice entry; /* name or URI of the list entry, as JSON; {NULL, 0}: not in a list */
    struct slice below; /* JSON pointer from the list entry to the difference */
};
typedef bool (*compare_fn)(void *ctx, const struct compare_difference *d);

/* Calls fn for each difference, until fn returns false. Returns 0, or MI_ENOMEM. */
MI_MUST int compare_values(struct json_value recorded, struct json_value live,
                           const struct compare_rules *rules, compare_fn fn, void *ctx);
/* Whether two recorded values are equal, or one equals the sanitized form of the other. */
bool compare_equal_or_sanitized(struct json_value a, struct json_value b);

#endif
