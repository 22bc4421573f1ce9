#include "wire/canon.h"

#include "base/grow.h"
#include "base/os/sort.h"
#include "wire/json/text.h"
#include "wire/rpc_id.h"

#include <stdio.h>
#include <stdlib.h>

#define DIFF_KEYS_MAX 1000 /* an object with more keys than this is compared as a whole */

/* Special rules for the members of an object (mcp-wire.md 6.4). */
enum special {
    PLAIN,
    PARAMS,    /* the object params: its member `_meta` is omitted */
    TASK,      /* the object params.task of tools/call: its member `ttl` is omitted */
    RESPONSES, /* the object inputResponses, unless canon.answers is set: its values are omitted */
    /* the object params: `_meta` is omitted; its member inputResponses has the rule RESPONSES */
    INPUT_CALL,
    TOOL_CALL, /* the object params: like INPUT_CALL; its member `task` has the rule TASK */
    GENERATED, /* a value that a server has generated; it is omitted */
};

/* A member ("key":value) of an object that is being written. `at`: offset at which the member
 * begins. */
struct member {
    size_t at, key_n, n;
};

struct canon {
    struct buf *b;
    const struct pointers *ignore;
    bool answers, across;
    /* owned; members of all unfinished objects, those of the innermost object last */
    struct member *members;
    size_t members_n, members_cap;
    struct buf scratch; /* owned */
};

static void canon_append_next_value(struct canon *c, struct json_walk *w, const char *value,
                                    pointer_set set, size_t depth, enum special what);

/* ---- strings ---- */

static unsigned canon_parse_hex4(const char *p)
{
    char text[5] = {p[0], p[1], p[2], p[3], '\0'};
    return (unsigned)strtoul(text, NULL, 16);
}

/* Appends the escape at `p` in canonical form. Returns the length of the escape in the source. A
 * surrogate pair counts as one escape. */
static size_t canon_append_escape(struct buf *b, const char *p, size_t left)
{
    char plain[4];
    size_t n;
    size_t len = p[1] == 'u' ? 6 : 2;
    unsigned code = len == 6 ? canon_parse_hex4(p + 2) : 0;
    bool lone = code >= 0xD800 && code < 0xE000;
    if (lone && code < 0xDC00 && left >= 12 && p[6] == '\\' && p[7] == 'u') {
        unsigned low = canon_parse_hex4(p + 8);
        if (low >= 0xDC00 && low < 0xE000) {
            lone = false;
            len = 12;
        }
    }
    if (lone) { /* a lone surrogate keeps its escape, so that it does not equal U+FFFD */
        buf_printf(b, "\\u%04x", code);
        return len;
    }
    if (json_unescape_to((struct slice){p, len}, plain, sizeof plain, &n) < 0)
        b->failed = true; /* unreachable: a character has at most four bytes */
    else if (n == 1 && (unsigned char)plain[0] < 0x20)
        buf_add(b,
                (char[]){'\\', 'u', '0', '0', plain[0] < 16 ? '0' : '1',
                         "0123456789abcdef"[plain[0] & 15]},
                6);
    else if (n == 1 && (plain[0] == '"' || plain[0] == '\\'))
        buf_printf(b, "\\%c", plain[0]);
    else
        buf_add(b, plain, n);
    return len;
}

static void canon_append_string(struct buf *b, struct slice raw)
{
    buf_addc(b, '"');
    while (raw.n > 0) {
        const char *esc = memchr(raw.p, '\\', raw.n);
        size_t n = esc != NULL ? (size_t)(esc - raw.p) : raw.n;
        buf_add(b, raw.p, n);
        if (esc != NULL)
            n += canon_append_escape(b, esc, raw.n - n);
        raw.p += n;
        raw.n -= n;
    }
    buf_addc(b, '"');
}

/* ---- containers ---- */

static bool canon_omits_member(enum special what, struct slice key)
{
    switch (what) {
    case PARAMS:
    case INPUT_CALL:
    case TOOL_CALL:
        return json_key_is(key, "_meta");
    case TASK:
        return json_key_is(key, "ttl");
    default:
        return false;
    }
}

static enum special canon_classify_key(const struct canon *c, enum special what, struct slice key)
{
    bool params = what == PARAMS || what == INPUT_CALL || what == TOOL_CALL;
    if (params && c->across &&
        (json_key_is(key, "cursor") || json_key_is(key, "requestState") ||
         json_key_is(key, "taskId")))
        return GENERATED;
    if (what == TOOL_CALL && json_key_is(key, "task"))
        return TASK;
    if ((what == TOOL_CALL || what == INPUT_CALL) && !c->answers &&
        json_key_is(key, "inputResponses"))
        return RESPONSES;
    return PLAIN;
}

/* Returns those pointers of the set that lead into the member with this key. The set has pointers
 * to ignored members. */
static pointer_set canon_get_pointers_below_key(struct canon *c, pointer_set set, size_t depth,
                                                struct slice raw_key)
{
    if (set == 0)
        return 0;
    buf_clear(&c->scratch);
    json_unescape(&c->scratch, raw_key);
    return pointers_select_below_member(c->ignore, set, depth, buf_slice(&c->scratch));
}

static pointer_set canon_get_pointers_below_index(const struct canon *c, pointer_set set,
                                                  size_t depth, size_t i)
{
    return pointers_select_below_index(c->ignore, set, depth, i);
}

static bool canon_add_member(struct canon *c, struct member m)
{
    if (!GROW(c->members, c->members_n, c->members_cap)) {
        c->b->failed = true;
        return false;
    }
    c->members[c->members_n++] = m;
    return true;
}

static int compare_canon_members(const void *x, const void *y, void *ctx)
{
    const struct member *a = x, *b = y;
    const char *text = ctx;
    int order =
        slice_cmp((struct slice){text + a->at, a->key_n}, (struct slice){text + b->at, b->key_n});
    if (order != 0)
        return order;
    return a->at < b->at ? -1 : 1; /* for equal keys, keep the order of the source */
}

/* Sorts the members from index `first` on by key. Their texts start at offset `at`, in the order of
 * the source. */
static void canon_sort_members(struct canon *c, size_t first, size_t at)
{
    size_t n = c->members_n - first;
    if (n < 2)
        return;
    struct member *m = c->members + first;
    size_t sorted = 1;
    while (sorted < n && compare_canon_members(&m[sorted - 1], &m[sorted], c->b->p) < 0)
        sorted++;
    if (c->b->failed || sorted >= n)
        return;
    buf_clear(&c->scratch);
    sort_array(m, n, sizeof *m, compare_canon_members, c->b->p);
    for (size_t i = 0; i < n; i++)
        buf_add(&c->scratch, c->b->p + m[i].at, m[i].n);
    if (c->scratch.failed)
        c->b->failed = true;
    else
        memcpy(c->b->p + at, c->scratch.p, c->scratch.n);
}

/* Writes the members of an object. Each member ends with a comma, even the last one, so that the
 * members can be reordered. */
static void canon_append_members(struct canon *c, struct json_walk *w, pointer_set set,
                                 size_t depth, enum special what)
{
    size_t first = c->members_n, at = c->b->n;
    struct slice key;
    struct json_value skipped;
    const char *value;
    while (!c->b->failed && json_walk_peek(w, &key, &value)) {
        pointer_set there = canon_get_pointers_below_key(c, set, depth, key);
        if (canon_omits_member(what, key) ||
            pointers_any_ends_at_depth(c->ignore, there, depth + 1)) {
            (void)json_walk_next(w, &key, &skipped);
            continue;
        }
        struct member m = {.at = c->b->n};
        canon_append_string(c->b, key);
        m.key_n = c->b->n - m.at;
        buf_addc(c->b, ':');
        enum special inside = canon_classify_key(c, what, key);
        if (what != RESPONSES && inside != GENERATED)
            canon_append_next_value(c, w, value, there, depth + 1, inside);
        else
            (void)json_walk_next(w, &key, &skipped);
        buf_addc(c->b, ',');
        m.n = c->b->n - m.at;
        if (!canon_add_member(c, m))
            break;
    }
    canon_sort_members(c, first, at);
    c->members_n = first;
}

static void canon_append_array_elements(struct canon *c, struct json_walk *w, pointer_set set,
                                        size_t depth)
{
    struct slice key;
    struct json_value skipped;
    const char *value;
    for (size_t i = 0; !c->b->failed && json_walk_peek(w, &key, &value); i++) {
        pointer_set there = canon_get_pointers_below_index(c, set, depth, i);
        if (pointers_any_ends_at_depth(c->ignore, there, depth + 1)) {
            /* write `*` in place of an ignored element, so that the other elements keep their
             * positions */
            buf_addc(c->b, '*');
            (void)json_walk_next(w, &key, &skipped);
        } else {
            canon_append_next_value(c, w, value, there, depth + 1, PLAIN);
        }
        buf_addc(c->b, ',');
    }
}

/* Writes an object or array. Returns one past its closing bracket. */
static const char *canon_append_container(struct canon *c, const char *bracket, pointer_set set,
                                          size_t depth, enum special what)
{
    struct json_walk w = json_walk_begin_at_bracket(bracket);
    buf_addc(c->b, *bracket);
    if (w.object)
        canon_append_members(c, &w, set, depth, what);
    else
        canon_append_array_elements(c, &w, set, depth);
    buf_addc(c->b, w.object ? '}' : ']');
    return json_walk_get_container_end(&w);
}

/* Writes a scalar, or an object or array that is too deep. */
static void canon_append_leaf(struct canon *c, struct json_value v)
{
    switch (v.type) {
    case JSON_STRING:
        canon_append_string(c->b, json_string_raw(v));
        break;
    case JSON_NUMBER:
        rpc_id_append_key(c->b, v); /* appends `n` and the canonical spelling of the number */
        break;
    default:
        buf_slice_add(c->b, v.text);
        break;
    }
}

static bool canon_may_enter_container(const char *value, size_t depth)
{
    return (*value == '{' || *value == '[') && depth < JSON_TREE_DEPTH;
}

/* Writes the value that json_walk_peek() has found, and moves the walk past it. */
static void canon_append_next_value(struct canon *c, struct json_walk *w, const char *value,
                                    pointer_set set, size_t depth, enum special what)
{
    struct slice key;
    struct json_value v;
    if (canon_may_enter_container(value, depth))
        w->p = canon_append_container(c, value, set, depth, what);
    else if (json_walk_next(w, &key, &v))
        canon_append_leaf(c, v);
}

static void canon_append_value(struct canon *c, struct json_value v, pointer_set set, size_t depth,
                               enum special what)
{
    if (canon_may_enter_container(v.text.p, depth))
        (void)canon_append_container(c, v.text.p, set, depth, what);
    else
        canon_append_leaf(c, v);
}

static void canon_close(struct canon *c)
{
    if (c->scratch.failed)
        c->b->failed = true;
    buf_close(&c->scratch);
    free(c->members);
}

/* ---- requests ---- */

static enum special canon_classify_method(const struct rpc *m)
{
    if (rpc_method_is(m, "tools/call"))
        return TOOL_CALL;
    if (rpc_method_is(m, "prompts/get") || rpc_method_is(m, "resources/read") ||
        rpc_method_is(m, "tasks/update"))
        return INPUT_CALL;
    return PARAMS;
}

void canon_write_request(struct buf *b, const struct rpc *m, const struct canon_rules *rules)
{
    struct canon c = {
        .b = b, .ignore = &rules->ignore, .answers = rules->answers, .across = rules->across};
    json_unescape(b, m->method);
    buf_addc(b, '\n');
    if (rpc_is_modern(m) && !rules->across)
        buf_slice_add(b, json_get(m->meta, "io.modelcontextprotocol/protocolVersion").text);
    buf_addc(b, '\n');
    if (rpc_method_is(m, "initialize"))
        return;
    pointer_set all = pointers_select_at_root(c.ignore);
    struct json_walk w = json_walk_begin(m->params);
    /* params are written without braces, because empty params equal missing params */
    if (m->params.type == JSON_OBJECT)
        canon_append_members(&c, &w, all, 0, canon_classify_method(m));
    else if (m->params.type == JSON_ARRAY)
        canon_append_value(&c, m->params, all, 0, PLAIN);
    canon_close(&c);
}

void canon_write_value(struct buf *b, struct json_value v)
{
    static const struct pointers none;
    struct canon c = {.b = b, .ignore = &none, .answers = true};
    canon_append_value(&c, v, 0, 0, PLAIN);
    canon_close(&c);
}

/* ---- differences ---- */

struct diff {
    struct canon c;
    struct buf a, b;    /* owned: canonical forms of two values */
    struct buf pointer; /* owned */
    canon_difference_fn fn;
    void *ctx;
    size_t reported;
    bool ended;
};

static bool canon_values_equal(struct diff *d, struct json_value a, struct json_value b,
                               pointer_set set, size_t depth, enum special what)
{
    if (a.type == JSON_NONE || b.type == JSON_NONE)
        return a.type == b.type;
    buf_clear(&d->a);
    buf_clear(&d->b);
    d->c.b = &d->a;
    canon_append_value(&d->c, a, set, depth, what);
    d->c.b = &d->b;
    canon_append_value(&d->c, b, set, depth, what);
    return !d->a.failed && !d->b.failed && slice_eq(buf_slice(&d->a), buf_slice(&d->b));
}

static size_t canon_count_members(struct json_value v)
{
    struct json_walk w = json_walk_begin(v);
    struct slice key;
    struct json_value value;
    size_t n = 0;
    while (json_walk_next(&w, &key, &value))
        n++;
    return n;
}

static void canon_compare_values(struct diff *d, struct json_value a, struct json_value b,
                                 pointer_set set, size_t depth, enum special what);

static void compare_member(struct diff *d, struct slice key, struct json_value a,
                           struct json_value b, pointer_set set, size_t depth, enum special what)
{
    pointer_set there = canon_get_pointers_below_key(&d->c, set, depth, key);
    if (canon_omits_member(what, key) || pointers_any_ends_at_depth(d->c.ignore, there, depth + 1))
        return;
    enum special inside = canon_classify_key(&d->c, what, key);
    if ((what == RESPONSES || inside == GENERATED) && a.type != JSON_NONE && b.type != JSON_NONE)
        return;
    size_t n = d->pointer.n;
    buf_clear(&d->c.scratch);
    json_unescape(&d->c.scratch, key);
    pointer_add(&d->pointer, buf_slice(&d->c.scratch));
    canon_compare_values(d, a, b, there, depth + 1, inside);
    d->pointer.n = n;
}

static void compare_objects(struct diff *d, struct json_value a, struct json_value b,
                            pointer_set set, size_t depth, enum special what)
{
    struct slice key;
    struct json_value v;
    struct json_walk w = json_walk_begin(a);
    while (!d->ended && json_walk_next(&w, &key, &v))
        compare_member(d, key, v, json_get_by_raw_name(b, key), set, depth, what);
    w = json_walk_begin(b);
    while (!d->ended && json_walk_next(&w, &key, &v))
        if (json_get_by_raw_name(a, key).type == JSON_NONE)
            compare_member(d, key, (struct json_value){0}, v, set, depth, what);
}

static void compare_arrays(struct diff *d, struct json_value a, struct json_value b,
                           pointer_set set, size_t depth)
{
    struct slice key;
    struct json_walk wa = json_walk_begin(a), wb = json_walk_begin(b);
    for (size_t i = 0; !d->ended; i++) {
        struct json_value va = {0}, vb = {0};
        bool has_a = json_walk_next(&wa, &key, &va);
        bool has_b = json_walk_next(&wb, &key, &vb);
        if (!has_a && !has_b)
            return;
        pointer_set there = canon_get_pointers_below_index(&d->c, set, depth, i);
        if (pointers_any_ends_at_depth(d->c.ignore, there, depth + 1) && has_a && has_b)
            continue;
        size_t n = d->pointer.n;
        buf_printf(&d->pointer, "/%zu", i);
        canon_compare_values(d, va, vb, there, depth + 1, PLAIN);
        d->pointer.n = n;
    }
}

static void canon_compare_values(struct diff *d, struct json_value a, struct json_value b,
                                 pointer_set set, size_t depth, enum special what)
{
    if (canon_values_equal(d, a, b, set, depth, what))
        return;
    bool descends = depth < JSON_TREE_DEPTH;
    if (descends && a.type == JSON_OBJECT && b.type == JSON_OBJECT &&
        canon_count_members(a) <= DIFF_KEYS_MAX && canon_count_members(b) <= DIFF_KEYS_MAX) {
        size_t before = d->reported;
        compare_objects(d, a, b, set, depth, what);
        if (d->reported > before || d->ended)
            return; /* if no difference was reported, the objects differ by a duplicate key */
    } else if (descends && a.type == JSON_ARRAY && b.type == JSON_ARRAY) {
        compare_arrays(d, a, b, set, depth);
        return;
    }
    struct canon_difference one = {buf_slice(&d->pointer), a.text, b.text};
    d->reported++;
    d->ended = !d->fn(d->ctx, &one);
}

/* Returns the params of a request; an empty object if they are absent or null. */
static struct json_value get_params_or_empty_object(const struct rpc *m)
{
    if (m->params.type == JSON_NONE || m->params.type == JSON_NULL)
        return (struct json_value){JSON_OBJECT, slice_of("{}")};
    return m->params;
}

size_t canon_find_differences(const struct rpc *ours, const struct rpc *theirs,
                              const struct canon_rules *rules, canon_difference_fn fn, void *ctx)
{
    struct diff d = {
        .c = {.ignore = &rules->ignore, .answers = rules->answers, .across = rules->across},
        .fn = fn,
        .ctx = ctx};
    canon_compare_values(&d, get_params_or_empty_object(ours), get_params_or_empty_object(theirs),
                         pointers_select_at_root(d.c.ignore), 0, canon_classify_method(ours));
    canon_close(&d.c);
    buf_close(&d.a);
    buf_close(&d.b);
    buf_close(&d.pointer);
    return d.reported;
}
