/* compare.h - is what a live server answers what was recorded?
 *
 * Rules     the order of keys, white space and the spelling of strings and numbers do not count. Lists of tools,
 *           prompts, resources and templates have no order: their entries are paired by name or URI.
 *           What a server makes up anew each time does not count: `_meta`, cursors, request states, task
 *           ids and their times, nor the version of the server; nor does what --ignore names (the root is the result
 *           or the error).
 *           Of what the sanitizer took out of the recording only the place counts: `[redacted:…]` is
 *           anything, `… [+N chars]` any end.
 * Owns      nothing.
 * Blocks    never. Pure; recursion as deep as the text. */
#ifndef MI_REPLAY_COMPARE_H
#define MI_REPLAY_COMPARE_H

#include "replay/pointer.h"
#include "wire/json.h"

struct compare_difference {
    struct slice pointer;        /* "" is all of it */
    struct slice recorded, live; /* JSON as written; {NULL, 0}: not there */
    bool in_schema;              /* inside the schema of a tool */
    bool is_entry;               /* a whole entry of a list: a tool, a prompt, a resource */
};
typedef bool (*compare_fn)(void *ctx, const struct compare_difference *d);

/* Tells of each difference until the callback says false. 0, or MI_ENOMEM. */
MI_MUST int compare_values(struct json_value recorded, struct json_value live,
                           const struct pointers *ignore, compare_fn fn, void *ctx);

/* Did the sanitizer take something out of this text? "" is no; else what, for people. */
enum compare_cut { COMPARE_WHOLE, COMPARE_REDACTED, COMPARE_SHORTENED };
enum compare_cut compare_cut(struct slice text);

#endif
