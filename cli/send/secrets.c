#include "cli/send/secrets.h"

#include "wire/json/pointer.h"
#include "wire/json/text.h"

struct walk {
    struct buf pointer, key; /* owned */
    int depth;
    secrets_fn fn;
    void *ctx;
};

static void secrets_walk_value(struct walk *w, struct json_value v);

static void secrets_walk_container(struct walk *w, struct json_value container)
{
    struct slice key;
    struct json_value v;
    size_t at = w->pointer.n, i = 0;
    for (struct json_walk each = json_walk_begin(container); json_walk_next(&each, &key, &v); i++) {
        if (container.type == JSON_ARRAY) {
            pointer_add_index(&w->pointer, i);
        } else {
            buf_clear(&w->key);
            json_unescape(&w->key, key);
            pointer_add(&w->pointer, buf_slice(&w->key));
        }
        if (key.p != NULL && marks_find_in_text(key) != MARKS_NONE)
            w->fn(w->ctx, buf_slice(&w->pointer), marks_find_in_text(key), key);
        else
            secrets_walk_value(w, v);
        w->pointer.n = at;
    }
}

static void secrets_walk_value(struct walk *w, struct json_value v)
{
    struct slice raw = json_string_raw(v);
    bool container = v.type == JSON_OBJECT || v.type == JSON_ARRAY;
    if (container && w->depth == JSON_TREE_DEPTH)
        raw = v.text;
    if (container && w->depth < JSON_TREE_DEPTH) {
        w->depth++;
        secrets_walk_container(w, v);
        w->depth--;
    } else if (marks_find_in_text(raw) != MARKS_NONE)
        w->fn(w->ctx, buf_slice(&w->pointer), marks_find_in_text(raw), raw);
}

int secrets_for_each(struct json_value value, secrets_fn fn, void *ctx)
{
    struct walk w = {.fn = fn, .ctx = ctx};
    if (marks_find_in_text(value.text) != MARKS_NONE)
        secrets_walk_value(&w, value);
    bool failed = w.pointer.failed || w.key.failed;
    buf_close(&w.pointer);
    buf_close(&w.key);
    return failed ? MI_ENOMEM : 0;
}
