/* view_path.c - JSON Pointers, and the values of lines. */
#include "cli/ui/detail/token.h"
#include "cli/ui/detail/view.h"

#include "wire/json/pointer.h"
#include "wire/json/text.h"

/* ---- strings -------------------------------------------------------------------------------- */

bool view_unescape_string(const struct view *v, size_t at, size_t end, struct buf *b)
{
    struct slice token = {v->text.p + at, end - at};
    struct json_scan scan;
    if (json_scan(token, NULL, NULL, &scan) < 0 || scan.type != JSON_STRING)
        return false;
    json_unescape(b, (struct slice){token.p + 1, token.n - 2});
    return !b->failed;
}

size_t view_get_unescaped_offset(const struct view *v, size_t at, size_t to)
{
    const char *p = v->text.p + at + 1, *end = v->text.p + to;
    char c[JSON_CHAR_MAX];
    size_t n = 0;
    while (p < end)
        n += json_decode_char(&p, v->text.p + v->text.n, c);
    return n;
}

/* ---- paths ---------------------------------------------------------------------------------- */

static struct view_level *get_innermost_level(struct view_path *p)
{
    return p->n > 0 && p->n <= VIEW_LEVELS_MAX ? &p->level[p->n - 1] : NULL;
}

/* Enters the member or element that begins at offset i: sets its index and key in the path. Returns
 * the offset of its value. */
static size_t path_enter_member_or_element(const struct view *v, struct view_path *p, size_t i)
{
    struct slice s = v->text;
    size_t value = token_value_of_member(s, i);
    struct view_level *l = get_innermost_level(p);
    if (value >= s.n || token_closes_container(s.p[value]))
        value = i;
    if (l != NULL) {
        l->index++;
        l->key = (struct slice){0};
        if (value != i)
            l->key = (struct slice){s.p + i, token_find_end(s, i) - i};
    }
    return value;
}

void view_find_path_at_offset(const struct view *v, size_t at, struct view_path *ret)
{
    struct slice s = v->text;
    ret->n = 0;
    for (size_t i = token_skip_separators(s, 0);
         i < s.n && (i < at || !token_closes_container(s.p[i]));) {
        if (token_closes_container(s.p[i])) {
            ret->n -= ret->n > 0;
            i = token_skip_separators(s, i + 1);
            continue;
        }
        if (i > at)
            break;
        i = path_enter_member_or_element(v, ret, i);
        if (i >= at)
            break;
        size_t end = token_opens_container(s.p[i]) ? i + 1 : token_find_end(s, i);
        if (token_opens_container(s.p[i])) {
            ret->n++;
            struct view_level *l = get_innermost_level(ret);
            if (l != NULL)
                /* index SIZE_MAX: the path has entered no element or member of this level yet */
                *l = (struct view_level){.at = i, .index = SIZE_MAX};
        } else if (at < end) {
            break;
        }
        i = token_skip_separators(s, end);
    }
}

/* Appends the text of a quoted key, unescaped if it is a valid string. */
static void add_unescaped_key(struct buf *b, const struct view *v, struct slice key)
{
    size_t at = (size_t)(key.p - v->text.p);
    if (!view_unescape_string(v, at, at + key.n, b))
        buf_add(b, key.p + 1, key.n - (key.n > 1 ? 2 : 1));
}

void view_write_path(const struct view *v, const struct view_path *path, struct buf *b)
{
    struct buf key = {0};
    for (size_t i = 0; i < size_min(path->n, VIEW_LEVELS_MAX); i++) {
        const struct view_level *l = &path->level[i];
        if (l->key.p == NULL) {
            if (l->index != SIZE_MAX)
                pointer_add_index(b, l->index);
            continue;
        }
        buf_clear(&key);
        add_unescaped_key(&key, v, l->key);
        pointer_add(b, buf_slice(&key));
        b->failed |= key.failed;
    }
    buf_close(&key);
}

/* Returns whether a token of a JSON Pointer names this member or element. The token may have
 * escapes of JSON Pointer; the key may have escapes of JSON. */
static bool pointer_token_names_member(const struct view *v, struct slice key, size_t index,
                                       struct slice token)
{
    struct buf text = {0}, plain = {0};
    if (key.p == NULL) {
        buf_add_uint(&text, index);
    } else {
        (void)pointer_unescape(&plain, token);
        token = buf_slice(&plain);
        buf_add(&text, key.p + 1, key.n - (key.n > 1 ? 2 : 1));
        if (!slice_eq(buf_slice(&text), token)) {
            buf_clear(&text);
            add_unescaped_key(&text, v, key);
        }
    }
    bool same = !text.failed && !plain.failed && slice_eq(buf_slice(&text), token);
    buf_close(&text);
    buf_close(&plain);
    return same;
}

/* Finds the child of the object or array at `at` that the token names. If several members have this
 * key, finds the last one, as most parsers do. */
static bool view_find_child(const struct view *v, size_t at, struct slice token, size_t *ret)
{
    struct slice s = v->text;
    size_t index = 0, children;
    bool found = false;
    for (size_t i = token_skip_separators(s, at + 1); i < s.n && !token_closes_container(s.p[i]);
         index++) {
        size_t value = token_value_of_member(s, i);
        if (value >= s.n || token_closes_container(s.p[value]))
            break;
        struct slice key = {0};
        if (value != i)
            key = (struct slice){s.p + i, token_find_end(s, i) - i};
        if (pointer_token_names_member(v, key, index, token)) {
            *ret = value;
            found = true;
        }
        i = token_skip_separators(s, token_skip_value(s, value, &children));
    }
    return found;
}

bool view_find_pointer(const struct view *v, struct slice pointer, size_t *ret_at)
{
    struct slice token;
    size_t at = token_skip_separators(v->text, 0);
    if (v->kind != VIEW_JSON || at >= v->text.n || token_closes_container(v->text.p[at]))
        return false;
    while (pointer_read_next_token(&pointer, &token))
        if (!token_opens_container(v->text.p[at]) || !view_find_child(v, at, token, &at))
            return false;
    *ret_at = at;
    return true;
}
