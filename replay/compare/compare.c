#include "replay/compare/compare.h"

#include "base/grow.h"
#include "replay/source/marks.h"
#include "wire/canon.h"
#include "wire/json/text.h"

#include <stdlib.h>

#define KEYS_MAX 1000 /* maximum number of keys; a larger object is compared as a whole */

struct comparison {
    const struct compare_rules *rules;
    struct buf pointer;   /* owned */
    struct buf a, b, key; /* owned; scratch */
    struct slice entry;   /* name of the list entry that is being compared; {NULL, 0}: none */
    size_t entry_n;       /* length of the JSON pointer to the entry */
    compare_fn fn;
    void *ctx;
    bool ended, failed; /* ended: no more differences are reported; failed: out of memory */
};

/* The position of an object in the answer; special rules apply to the members of some objects. */
enum place { ROOT, TASK, SERVER_INFO, ELSEWHERE };

static void compare_values_at_depth(struct comparison *c, struct json_value a, struct json_value b,
                                    pointer_set set, size_t depth, enum place place);

/* ---- sanitized text ---- */

static struct slice slice_skip_bytes(struct slice s, size_t n)
{
    return (struct slice){s.p + n, s.n - n};
}

/* Whether the live text contains the pieces of the recorded text between the redaction marks, in
 * order. The first piece must be at the beginning. The last piece must be at the end, unless the
 * recorded text is truncated. */
static bool text_fits_sanitized_text(struct slice recorded, struct slice live)
{
    bool first = true;
    for (;;) {
        const char *mark =
            memmem(recorded.p, recorded.n, MARKS_REDACTED, sizeof MARKS_REDACTED - 1);
        const char *close =
            mark != NULL ? memchr(mark, ']', recorded.n - (size_t)(mark - recorded.p)) : NULL;
        const char *cut =
            memmem(recorded.p, recorded.n, MARKS_TRUNCATED, sizeof MARKS_TRUNCATED - 1);
        bool is_truncated = cut != NULL && (close == NULL || cut < mark);
        struct slice piece = {recorded.p, is_truncated    ? (size_t)(cut - recorded.p)
                                          : close != NULL ? (size_t)(mark - recorded.p)
                                                          : recorded.n};
        bool last = !is_truncated && close == NULL;
        if (last && !first)
            return live.n >= piece.n && memcmp(live.p + live.n - piece.n, piece.p, piece.n) == 0;
        const char *at = first ? live.p : memmem(live.p, live.n, piece.p, piece.n);
        if (at == NULL || live.n - (size_t)(at - live.p) < piece.n ||
            memcmp(at, piece.p, piece.n) != 0)
            return false;
        if (last)
            return live.n == piece.n;
        if (is_truncated)
            return true;
        live = slice_skip_bytes(live, (size_t)(at - live.p) + piece.n);
        recorded = slice_skip_bytes(recorded, (size_t)(close + 1 - recorded.p));
        first = false;
    }
}

/* Whether the sanitizer has changed the string `a`, and `b` matches the unchanged pieces of `a`. */
static bool value_matches_sanitized_value(struct comparison *c, struct json_value a,
                                          struct json_value b)
{
    struct slice raw = json_string_raw(a);
    if (a.type != JSON_STRING || b.type == JSON_NONE || marks_find_in_text(raw) == MARKS_NONE)
        return false;
    if (slice_begins(raw, MARKS_REDACTED) && memchr(raw.p, ']', raw.n) == raw.p + raw.n - 1)
        /* a redaction mark that replaces the whole value matches a value of any type */
        return true;
    if (b.type != JSON_STRING)
        return false;
    buf_clear(&c->a);
    buf_clear(&c->b);
    json_unescape(&c->a, raw);
    json_unescape(&c->b, json_string_raw(b));
    return !c->a.failed && !c->b.failed &&
           text_fits_sanitized_text(buf_slice(&c->a), buf_slice(&c->b));
}

static bool values_match_if_one_sanitized(struct comparison *c, struct json_value a,
                                          struct json_value b)
{
    return value_matches_sanitized_value(c, a, b) ||
           (c->rules->both_recorded && value_matches_sanitized_value(c, b, a));
}

/* Does the same as values_match_if_one_sanitized() for two values that are nested too deep to be
 * compared member by member. `a` and `b` are their JSON texts. */
static bool texts_match_if_one_sanitized(const struct comparison *c, struct slice a, struct slice b)
{
    if (a.p == NULL || b.p == NULL)
        return false;
    return (marks_find_in_text(a) != MARKS_NONE && text_fits_sanitized_text(a, b)) ||
           (c->rules->both_recorded && marks_find_in_text(b) != MARKS_NONE &&
            text_fits_sanitized_text(b, a));
}

/* ---- reporting ---- */

static bool pointer_has_token(struct slice pointer, const char *token)
{
    size_t n = strlen(token);
    const char *at = memmem(pointer.p, pointer.n, token, n);
    return at != NULL && (at + n == pointer.p + pointer.n || at[n] == '/');
}

static void compare_report_difference(struct comparison *c, struct json_value a,
                                      struct json_value b, bool is_entry)
{
    struct slice p = buf_slice(&c->pointer);
    struct compare_difference d = {
        .pointer = p,
        .recorded = a.text,
        .live = b.text,
        .in_schema = slice_begins(p, "/tools/") && (pointer_has_token(p, "/inputSchema") ||
                                                    pointer_has_token(p, "/outputSchema")),
        .is_entry = is_entry,
        .entry = c->entry,
        .below = c->entry.p != NULL ? (struct slice){p.p + c->entry_n, p.n - c->entry_n} : p,
    };
    c->ended = !c->fn(c->ctx, &d);
}

/* ---- equality ---- */

static bool values_are_equal(struct comparison *c, struct json_value a, struct json_value b)
{
    if (a.type == JSON_NONE || b.type == JSON_NONE)
        return a.type == b.type;
    buf_clear(&c->a);
    buf_clear(&c->b);
    canon_write_value(&c->a, a);
    canon_write_value(&c->b, b);
    c->failed |= c->a.failed || c->b.failed;
    return !c->failed && slice_eq(buf_slice(&c->a), buf_slice(&c->b));
}

/* ---- objects ---- */

/* Whether the value differs for each server process, so that only its presence can be compared. */
static bool value_is_generated(enum place place, struct slice key)
{
    static const char *const root[] = {"nextCursor", "requestState",  "taskId",
                                       "createdAt",  "lastUpdatedAt", NULL};
    static const char *const task[] = {"taskId", "createdAt", "lastUpdatedAt", NULL};
    static const char *const server[] = {"version", NULL};
    const char *const *names = place == ROOT          ? root
                               : place == TASK        ? task
                               : place == SERVER_INFO ? server
                                                      : NULL;
    for (size_t i = 0; names != NULL && names[i] != NULL; i++)
        if (json_key_is(key, names[i]))
            return true;
    return false;
}

static struct json_value find_member_by_raw_key(struct comparison *c, struct json_value object,
                                                struct slice raw_key)
{
    struct json_value v = {0};
    buf_clear(&c->key);
    json_unescape(&c->key, raw_key);
    buf_addc(&c->key, '\0');
    if (!c->key.failed)
        v = json_get(object, c->key.p);
    return v;
}

/* Returns the member that identifies the entries of the list with this key; NULL: the key is not
 * the key of such a list. */
static const char *get_name_member_of_list(struct slice list)
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
    pointer_set there =
        set != 0 ? pointers_select_below_member(c->rules->ignore, set, depth, buf_slice(&c->key))
                 : 0;
    if ((place == ROOT && json_key_is(key, "_meta")) ||
        pointers_any_ends_at_depth(c->rules->ignore, there, depth + 1))
        return;
    if (value_is_generated(place, key) && (a.type == JSON_NONE) == (b.type == JSON_NONE))
        return;
    size_t n = c->pointer.n;
    pointer_add(&c->pointer, buf_slice(&c->key));
    const char *by = place == ROOT ? get_name_member_of_list(key) : NULL;
    if (by != NULL && a.type == JSON_ARRAY && b.type == JSON_ARRAY)
        compare_lists(c, a, b, there, depth + 1, by);
    else
        compare_values_at_depth(c, a, b, there, depth + 1,
                                place != ROOT                    ? ELSEWHERE
                                : json_key_is(key, "task")       ? TASK
                                : json_key_is(key, "serverInfo") ? SERVER_INFO
                                                                 : ELSEWHERE);
    c->pointer.n = n;
}

static bool has_few_keys(struct json_value object)
{
    struct json_walk w = json_walk_begin(object);
    struct slice key;
    struct json_value v;
    size_t n = 0;
    while (n <= KEYS_MAX && json_walk_next(&w, &key, &v))
        n++;
    return n <= KEYS_MAX;
}

static void compare_objects(struct comparison *c, struct json_value a, struct json_value b,
                            pointer_set set, size_t depth, enum place place)
{
    struct slice key;
    struct json_value v;
    struct json_walk w = json_walk_begin(a);
    while (!c->ended && json_walk_next(&w, &key, &v))
        compare_member(c, key, v, find_member_by_raw_key(c, b, key), set, depth, place);
    w = json_walk_begin(b);
    while (!c->ended && json_walk_next(&w, &key, &v))
        if (find_member_by_raw_key(c, a, key).type == JSON_NONE)
            compare_member(c, key, (struct json_value){0}, v, set, depth, place);
}

/* ---- arrays ---- */

/* Compares two elements of arrays. name: the name of the list entry; JSON_NONE: the arrays are not
 * lists of entries with names. */
static void compare_element(struct comparison *c, size_t i, struct json_value a,
                            struct json_value b, pointer_set set, size_t depth,
                            struct json_value name)
{
    pointer_set there = pointers_select_below_index(c->rules->ignore, set, depth, i);
    if (pointers_any_ends_at_depth(c->rules->ignore, there, depth + 1))
        return;
    size_t n = c->pointer.n;
    pointer_add_index(&c->pointer, i);
    if (name.type != JSON_NONE) {
        c->entry = name.text;
        c->entry_n = c->pointer.n;
    }
    if (name.type != JSON_NONE && (a.type == JSON_NONE || b.type == JSON_NONE))
        compare_report_difference(c, a, b, true);
    else
        compare_values_at_depth(c, a, b, there, depth + 1, ELSEWHERE);
    if (name.type != JSON_NONE)
        c->entry = (struct slice){0};
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
        compare_element(c, i, va, vb, set, depth, (struct json_value){0});
    }
}

/* An entry of the second list, when two lists are compared. */
struct entry {
    uint64_t hash;
    size_t at; /* index of the entry in the list */
    struct json_value value, name;
    bool paired;
};

struct entries {
    struct entry *list; /* owned; the entries of one list, sorted by hash, then by index */
    size_t n, cap;
};

static int compare_entries_by_hash(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    if (a->hash != b->hash)
        return a->hash < b->hash ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static int compare_entries_by_index(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;
    return a->at < b->at ? -1 : a->at > b->at;
}

/* Returns the name of an entry, or the entry itself if it has no name. */
static struct json_value get_entry_name(struct json_value entry, const char *by)
{
    struct json_value name = json_get(entry, by);
    return name.type != JSON_NONE ? name : entry;
}

static uint64_t hash_of_entry_name(struct comparison *c, struct json_value name)
{
    buf_clear(&c->a);
    canon_write_value(&c->a, name);
    c->failed |= c->a.failed;
    return canon_hash_text(buf_slice(&c->a));
}

static bool read_entries_by_name(struct comparison *c, struct entries *e, struct json_value list,
                                 const char *by)
{
    struct slice key;
    struct json_value v;
    struct json_walk w = json_walk_begin(list);
    while (json_walk_next(&w, &key, &v)) {
        struct json_value name = get_entry_name(v, by);
        if (!GROW(e->list, e->n, e->cap))
            return false;
        e->list[e->n] = (struct entry){hash_of_entry_name(c, name), e->n, v, name, false};
        e->n++;
    }
    if (e->n > 0)
        qsort(e->list, e->n, sizeof *e->list, compare_entries_by_hash);
    return true;
}

/* Takes the first entry of this name that has no partner yet. If two tools have one name, the
 * second tool must get its own partner. */
static struct json_value take_first_unpaired_entry(struct comparison *c, struct entries *e,
                                                   struct json_value name)
{
    uint64_t hash = hash_of_entry_name(c, name);
    size_t from = 0, to = e->n;
    while (from < to) {
        size_t mid = from + (to - from) / 2;
        if (e->list[mid].hash < hash)
            from = mid + 1;
        else
            to = mid;
    }
    for (; from < e->n && e->list[from].hash == hash; from++)
        if (!e->list[from].paired && values_are_equal(c, e->list[from].name, name)) {
            e->list[from].paired = true;
            return e->list[from].value;
        }
    return (struct json_value){0};
}

static void compare_lists(struct comparison *c, struct json_value a, struct json_value b,
                          pointer_set set, size_t depth, const char *by)
{
    struct slice key;
    struct json_value v;
    struct entries e = {0};
    if (!read_entries_by_name(c, &e, b, by))
        c->failed = c->ended = true;
    struct json_walk w = json_walk_begin(a);
    for (size_t i = 0; !c->ended && json_walk_next(&w, &key, &v); i++) {
        struct json_value name = get_entry_name(v, by);
        compare_element(c, i, v, take_first_unpaired_entry(c, &e, name), set, depth, name);
    }
    if (e.n > 0)
        qsort(e.list, e.n, sizeof *e.list, compare_entries_by_index);
    for (size_t i = 0; !c->ended && i < e.n; i++)
        if (!e.list[i].paired)
            compare_element(c, i, (struct json_value){0}, e.list[i].value, set, depth,
                            e.list[i].name);
    free(e.list);
}

/* ---- values ---- */

static void compare_values_at_depth(struct comparison *c, struct json_value a, struct json_value b,
                                    pointer_set set, size_t depth, enum place place)
{
    if (values_are_equal(c, a, b) || values_match_if_one_sanitized(c, a, b))
        return;
    if (depth >= JSON_TREE_DEPTH) {
        if (!texts_match_if_one_sanitized(c, a.text, b.text))
            compare_report_difference(c, a, b, false);
        return;
    }
    if (a.type == JSON_OBJECT && b.type == JSON_OBJECT && has_few_keys(a) && has_few_keys(b))
        compare_objects(c, a, b, set, depth, place);
    else if (a.type == JSON_ARRAY && b.type == JSON_ARRAY)
        compare_arrays(c, a, b, set, depth);
    else
        compare_report_difference(c, a, b, false);
}

int compare_values(struct json_value recorded, struct json_value live,
                   const struct compare_rules *rules, compare_fn fn, void *ctx)
{
    struct comparison c = {.rules = rules, .fn = fn, .ctx = ctx};
    pointer_set all = pointers_select_at_root(rules->ignore);
    if (!pointers_any_ends_at_depth(rules->ignore, all, 0))
        compare_values_at_depth(&c, recorded, live, all, 0, ROOT);
    bool failed = c.failed || c.pointer.failed || c.a.failed || c.b.failed || c.key.failed;
    buf_close(&c.pointer);
    buf_close(&c.a);
    buf_close(&c.b);
    buf_close(&c.key);
    return failed ? MI_ENOMEM : 0;
}

bool compare_equal_or_sanitized(struct json_value a, struct json_value b)
{
    static const struct pointers none;
    struct compare_rules rules = {.ignore = &none, .both_recorded = true};
    struct comparison c = {.rules = &rules};
    bool equal = values_are_equal(&c, a, b) || values_match_if_one_sanitized(&c, a, b);
    buf_close(&c.a);
    buf_close(&c.b);
    return equal;
}
