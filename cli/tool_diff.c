#include "cli/tool_diff.h"

#include "wire/json_text.h"

#define DEPTH_MAX 32 /* below that a value differs as a whole */

struct walk {
    struct buf pointer;
    tool_diff_fn fn;
    void *ctx;
    int depth;
};

static void values(struct walk *w, struct json_value a, struct json_value b);

static bool same_key(struct slice a, struct slice b)
{
    struct buf x = {0}, y = {0};
    json_unescape(&x, a);
    json_unescape(&y, b);
    bool same = slice_eq(buf_slice(&x), buf_slice(&y));
    buf_close(&x);
    buf_close(&y);
    return same;
}

static struct json_value member(struct json_value object, struct slice name)
{
    struct slice key;
    struct json_value v, found = {0};
    for (struct json_walk w = json_walk_begin(object); json_walk_next(&w, &key, &v);)
        if (slice_eq(key, name) || same_key(key, name))
            found = v;
    return found;
}

static void step(struct walk *w, struct slice key, struct json_value a, struct json_value b)
{
    size_t at = w->pointer.n;
    buf_addc(&w->pointer, '/');
    for (size_t i = 0; i < key.n; i++) {
        if (key.p[i] == '~' || key.p[i] == '/')
            buf_adds(&w->pointer, key.p[i] == '~' ? "~0" : "~1");
        else
            buf_addc(&w->pointer, key.p[i]);
    }
    values(w, a, b);
    w->pointer.n = at;
}

static void objects(struct walk *w, struct json_value a, struct json_value b)
{
    struct slice key;
    struct json_value v;
    for (struct json_walk x = json_walk_begin(a); json_walk_next(&x, &key, &v);)
        step(w, key, v, member(b, key));
    for (struct json_walk x = json_walk_begin(b); json_walk_next(&x, &key, &v);)
        if (member(a, key).type == JSON_NONE)
            step(w, key, (struct json_value){0}, v);
}

static void values(struct walk *w, struct json_value a, struct json_value b)
{
    if (json_equal(a, b))
        return;
    if (a.type == JSON_OBJECT && b.type == JSON_OBJECT && w->depth < DEPTH_MAX) {
        w->depth++;
        objects(w, a, b);
        w->depth--;
        return;
    }
    w->fn(w->ctx, buf_slice(&w->pointer), a.text, b.text);
}

void tool_diff(struct slice before, struct slice now, tool_diff_fn fn, void *ctx)
{
    struct walk w = {.fn = fn, .ctx = ctx};
    values(&w, (struct json_value){JSON_OBJECT, before}, (struct json_value){JSON_OBJECT, now});
    buf_close(&w.pointer);
}
