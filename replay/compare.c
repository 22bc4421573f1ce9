#include "replay/compare.h"

#include "replay/canon.h"
#include "wire/json_text.h"

#include <stdio.h>

#define MARK "[redacted:"
#define CUT "\xe2\x80\xa6 [+" /* … [+ */

struct comparison {
    const struct pointers *ignore;
    struct buf pointer;   /* owned */
    struct buf a, b, key; /* owned; scratch */
    compare_fn fn;
    void *ctx;
    bool ended;
};

/* Where in the answer we are: it says what is special about the members there. */
enum place { ROOT, TASK, SERVER_INFO, ELSEWHERE };

static void compare(struct comparison *c, struct json_value a, struct json_value b, pointer_set set,
                    size_t depth, enum place place);

/* ---- what the sanitizer left ---- */

/* "… [+N chars]", the first character perhaps as an escape. */
static bool has_cut(struct slice text)
{
    static const char *const dots[] = {CUT, "\\u2026 [+"};
    for (size_t i = 0; i < MI_COUNT(dots); i++) {
        const char *cut = memmem(text.p, text.n, dots[i], strlen(dots[i]));
        if (cut != NULL && memmem(cut, text.n - (size_t)(cut - text.p), " chars]", 7) != NULL)
            return true;
    }
    return false;
}

enum compare_cut compare_cut(struct slice text)
{
    if (text.p == NULL)
        return COMPARE_WHOLE;
    if (memmem(text.p, text.n, MARK, sizeof MARK - 1) != NULL)
        return COMPARE_REDACTED;
    return has_cut(text) ? COMPARE_SHORTENED : COMPARE_WHOLE;
}

static struct slice rest(struct slice s, size_t n)
{
    return (struct slice){s.p + n, s.n - n};
}

/* The recorded text between its marks stands in the live one, piece after piece; the first at its beginning
 * and the last at its end, unless that was cut off. */
static bool fits(struct slice recorded, struct slice live)
{
    bool first = true;
    for (;;) {
        const char *mark = memmem(recorded.p, recorded.n, MARK, sizeof MARK - 1);
        const char *close =
            mark != NULL ? memchr(mark, ']', recorded.n - (size_t)(mark - recorded.p)) : NULL;
        const char *cut = memmem(recorded.p, recorded.n, CUT, sizeof CUT - 1);
        bool is_cut = cut != NULL && (close == NULL || cut < mark);
        struct slice piece = {recorded.p, is_cut          ? (size_t)(cut - recorded.p)
                                          : close != NULL ? (size_t)(mark - recorded.p)
                                                          : recorded.n};
        bool last = !is_cut && close == NULL;
        if (last && !first)
            return live.n >= piece.n && memcmp(live.p + live.n - piece.n, piece.p, piece.n) == 0;
        const char *at = first ? live.p : memmem(live.p, live.n, piece.p, piece.n);
        if (at == NULL || live.n - (size_t)(at - live.p) < piece.n ||
            memcmp(at, piece.p, piece.n) != 0)
            return false;
        if (last)
            return live.n == piece.n;
        if (is_cut)
            return true;
        live = rest(live, (size_t)(at - live.p) + piece.n);
        recorded = rest(recorded, (size_t)(close + 1 - recorded.p));
        first = false;
    }
}

/* Is the recorded string one that the sanitizer has changed, and may the live value have been it? */
static bool may_have_been(struct comparison *c, struct json_value a, struct json_value b)
{
    struct slice raw = json_string_raw(a);
    if (a.type != JSON_STRING || b.type == JSON_NONE || compare_cut(raw) == COMPARE_WHOLE)
        return false;
    if (slice_begins(raw, MARK) && memchr(raw.p, ']', raw.n) == raw.p + raw.n - 1)
        return true; /* the whole value, of whatever type */
    if (b.type != JSON_STRING)
        return false;
    buf_clear(&c->a);
    buf_clear(&c->b);
    json_unescape(&c->a, raw);
    json_unescape(&c->b, json_string_raw(b));
    return !c->a.failed && !c->b.failed && fits(buf_slice(&c->a), buf_slice(&c->b));
}

/* ---- telling ---- */

static bool has_token(struct slice pointer, const char *token)
{
    size_t n = strlen(token);
    const char *at = memmem(pointer.p, pointer.n, token, n);
    return at != NULL && (at + n == pointer.p + pointer.n || at[n] == '/');
}

static void tell(struct comparison *c, struct json_value a, struct json_value b, bool is_entry)
{
    struct slice p = buf_slice(&c->pointer);
    struct compare_difference d = {
        .pointer = p,
        .recorded = a.text,
        .live = b.text,
        .in_schema = slice_begins(p, "/tools/") &&
                     (has_token(p, "/inputSchema") || has_token(p, "/outputSchema")),
        .is_entry = is_entry,
    };
    c->ended = !c->fn(c->ctx, &d);
}

/* ---- objects ---- */

static bool one_of(struct slice key, const char *const *names)
{
    for (size_t i = 0; names[i] != NULL; i++)
        if (json_key_is(key, names[i]))
            return true;
    return false;
}

/* Made up anew by each server: there or not there is all that can be compared. */
static bool made_up(enum place place, struct slice key)
{
    static const char *const root[] = {"nextCursor", "requestState",  "taskId",
                                       "createdAt",  "lastUpdatedAt", NULL};
    static const char *const task[] = {"taskId", "createdAt", "lastUpdatedAt", NULL};
    static const char *const server[] = {"version", NULL};
    const char *const *names = place == ROOT          ? root
                               : place == TASK        ? task
                               : place == SERVER_INFO ? server
                                                      : NULL;
    return names != NULL && one_of(key, names);
}

static struct json_value get(struct comparison *c, struct json_value object, struct slice raw_key)
{
    struct json_value v = {0};
    buf_clear(&c->key);
    json_unescape(&c->key, raw_key);
    buf_addc(&c->key, '\0');
    if (!c->key.failed)
        v = json_get(object, c->key.p);
    return v;
}

static const char *entry_key(struct slice list)
{
    return json_key_is(list, "tools") || json_key_is(list, "prompts") ? "name"
           : json_key_is(list, "resources")                           ? "uri"
           : json_key_is(list, "resourceTemplates")                   ? "uriTemplate"
                                                                      : NULL;
}

static void compare_lists(struct comparison *c, struct json_value a, struct json_value b,
                          pointer_set set, size_t depth, const char *key);

static void compare_member(struct comparison *c, struct slice key, struct json_value a,
                           struct json_value b, pointer_set set, size_t depth, enum place place)
{
    buf_clear(&c->key);
    json_unescape(&c->key, key);
    pointer_set there = set != 0 ? pointers_down(c->ignore, set, depth, buf_slice(&c->key)) : 0;
    if ((place == ROOT && json_key_is(key, "_meta")) || pointers_end(c->ignore, there, depth + 1))
        return;
    if (made_up(place, key) && (a.type == JSON_NONE) == (b.type == JSON_NONE))
        return;
    size_t n = c->pointer.n;
    pointer_print(&c->pointer, buf_slice(&c->key));
    const char *by = place == ROOT ? entry_key(key) : NULL;
    if (by != NULL && a.type == JSON_ARRAY && b.type == JSON_ARRAY)
        compare_lists(c, a, b, there, depth + 1, by);
    else
        compare(c, a, b, there, depth + 1,
                place != ROOT                    ? ELSEWHERE
                : json_key_is(key, "task")       ? TASK
                : json_key_is(key, "serverInfo") ? SERVER_INFO
                                                 : ELSEWHERE);
    c->pointer.n = n;
}

static void compare_objects(struct comparison *c, struct json_value a, struct json_value b,
                            pointer_set set, size_t depth, enum place place)
{
    struct slice key;
    struct json_value v;
    struct json_walk w = json_walk_begin(a);
    while (!c->ended && json_walk_next(&w, &key, &v))
        compare_member(c, key, v, get(c, b, key), set, depth, place);
    w = json_walk_begin(b);
    while (!c->ended && json_walk_next(&w, &key, &v))
        if (get(c, a, key).type == JSON_NONE)
            compare_member(c, key, (struct json_value){0}, v, set, depth, place);
}

/* ---- arrays ---- */

static void compare_element(struct comparison *c, size_t i, struct json_value a,
                            struct json_value b, pointer_set set, size_t depth, bool is_entry)
{
    char text[24];
    int len = snprintf(text, sizeof text, "%zu", i);
    pointer_set there =
        set != 0 ? pointers_down(c->ignore, set, depth, (struct slice){text, (size_t)len}) : 0;
    if (pointers_end(c->ignore, there, depth + 1))
        return;
    size_t n = c->pointer.n;
    buf_printf(&c->pointer, "/%s", text);
    if (is_entry && (a.type == JSON_NONE || b.type == JSON_NONE))
        tell(c, a, b, true);
    else
        compare(c, a, b, there, depth + 1, ELSEWHERE);
    c->pointer.n = n;
}

static void compare_arrays(struct comparison *c, struct json_value a, struct json_value b,
                           pointer_set set, size_t depth)
{
    struct slice key;
    struct json_walk wa = json_walk_begin(a), wb = json_walk_begin(b);
    for (size_t i = 0; !c->ended; i++) {
        struct json_value va = {0}, vb = {0};
        bool has_a = json_walk_next(&wa, &key, &va);
        bool has_b = json_walk_next(&wb, &key, &vb);
        if (!has_a && !has_b)
            return;
        compare_element(c, i, va, vb, set, depth, false);
    }
}

/* The entry of the list with the same name. */
static struct json_value find_entry(struct comparison *c, struct json_value list, const char *by,
                                    struct json_value name)
{
    struct slice key;
    struct json_value entry;
    struct json_walk w = json_walk_begin(list);
    buf_clear(&c->a);
    canon_value(&c->a, name);
    while (name.type != JSON_NONE && json_walk_next(&w, &key, &entry)) {
        struct json_value other = json_get(entry, by);
        buf_clear(&c->b);
        if (other.type != JSON_NONE)
            canon_value(&c->b, other);
        if (slice_eq(buf_slice(&c->a), buf_slice(&c->b)))
            return entry;
    }
    return (struct json_value){0};
}

static void compare_lists(struct comparison *c, struct json_value a, struct json_value b,
                          pointer_set set, size_t depth, const char *by)
{
    struct slice key;
    struct json_value v;
    struct json_walk w = json_walk_begin(a);
    for (size_t i = 0; !c->ended && json_walk_next(&w, &key, &v); i++)
        compare_element(c, i, v, find_entry(c, b, by, json_get(v, by)), set, depth, true);
    w = json_walk_begin(b);
    for (size_t i = 0; !c->ended && json_walk_next(&w, &key, &v); i++)
        if (find_entry(c, a, by, json_get(v, by)).type == JSON_NONE)
            compare_element(c, i, (struct json_value){0}, v, set, depth, true);
}

/* ---- values ---- */

static bool same(struct comparison *c, struct json_value a, struct json_value b)
{
    if (a.type == JSON_NONE || b.type == JSON_NONE)
        return a.type == b.type;
    buf_clear(&c->a);
    buf_clear(&c->b);
    canon_value(&c->a, a);
    canon_value(&c->b, b);
    return slice_eq(buf_slice(&c->a), buf_slice(&c->b));
}

static void compare(struct comparison *c, struct json_value a, struct json_value b, pointer_set set,
                    size_t depth, enum place place)
{
    if (same(c, a, b) || may_have_been(c, a, b))
        return;
    if (a.type == JSON_OBJECT && b.type == JSON_OBJECT)
        compare_objects(c, a, b, set, depth, place);
    else if (a.type == JSON_ARRAY && b.type == JSON_ARRAY)
        compare_arrays(c, a, b, set, depth);
    else
        tell(c, a, b, false);
}

int compare_values(struct json_value recorded, struct json_value live,
                   const struct pointers *ignore, compare_fn fn, void *ctx)
{
    struct comparison c = {.ignore = ignore, .fn = fn, .ctx = ctx};
    pointer_set all = pointers_root(ignore);
    if (!pointers_end(ignore, all, 0))
        compare(&c, recorded, live, all, 0, ROOT);
    bool failed = c.pointer.failed || c.a.failed || c.b.failed || c.key.failed;
    buf_close(&c.pointer);
    buf_close(&c.a);
    buf_close(&c.b);
    buf_close(&c.key);
    return failed ? MI_ENOMEM : 0;
}
