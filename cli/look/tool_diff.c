#include "cli/look/tool_diff.h"

#include "wire/json/pointer.h"
#include "wire/json/text.h"

#define DEPTH_MAX 32 /* maximum depth; deeper values are compared as a whole */

struct walk {
    struct buf pointer; /* owned; JSON Pointer of the compared values */
    tool_diff_fn fn;
    void *ctx;
    int depth;
};

static void compare_tool_values(struct walk *w, struct json_value a, struct json_value b);

static void compare_tool_members(struct walk *w, struct slice key, struct json_value a,
                                 struct json_value b)
{
    size_t at = w->pointer.n;
    pointer_add(&w->pointer, key);
    compare_tool_values(w, a, b);
    w->pointer.n = at;
}

static void compare_tool_values(struct walk *w, struct json_value a, struct json_value b)
{
    struct slice key;
    struct json_value v;
    if (json_equal(a, b))
        return;
    if (a.type != JSON_OBJECT || b.type != JSON_OBJECT || w->depth >= DEPTH_MAX) {
        w->fn(w->ctx, buf_slice(&w->pointer), a.text, b.text);
        return;
    }
    w->depth++;
    for (struct json_walk x = json_walk_begin(a); json_walk_next(&x, &key, &v);)
        compare_tool_members(w, key, v, json_get_by_raw_name(b, key));
    for (struct json_walk x = json_walk_begin(b); json_walk_next(&x, &key, &v);)
        if (json_get_by_raw_name(a, key).type == JSON_NONE)
            compare_tool_members(w, key, (struct json_value){0}, v);
    w->depth--;
}

void tool_diff_compare(struct slice before, struct slice now, tool_diff_fn fn, void *ctx)
{
    struct walk w = {.fn = fn, .ctx = ctx};
    compare_tool_values(&w, (struct json_value){JSON_OBJECT, before},
                        (struct json_value){JSON_OBJECT, now});
    buf_close(&w.pointer);
}
