/* view_lists.c - sorted lists of a view: exceptions (objects and arrays that are folded or unfolded
 * against the rule of `folded_from`, see view.h), unfolded strings, and notes. Also a cache of the
 * ends of values. */
#include "cli/ui/detail/token.h"
#include "cli/ui/detail/view.h"

#include "wire/json/scan.h"

#define FAR 4096 /* minimum length in bytes of a value whose end is cached */

size_t view_count_indent_columns(size_t depth)
{
    return 2 * size_min(depth, VIEW_INDENT_MAX);
}

size_t view_value_offset(const struct view *v, const struct view_place *p)
{
    size_t at = token_skip_separators(v->text, p->at);
    size_t value = token_value_of_member(v->text, at);
    /* in invalid JSON, a key may have no value: the key is then used as the value */
    return value >= v->text.n || token_closes_container(v->text.p[value]) ? at : value;
}

/* ---- sorted lists --------------------------------------------------------------------------- */

/* Returns the index of the first of n elements with an offset of `at` or more. The first bytes of
 * an element are its offset, a size_t. */
static size_t find_first_index_at_offset(const void *list, size_t n, size_t size, size_t at)
{
    size_t from = 0, to = n;
    while (from < to) {
        size_t middle = from + (to - from) / 2, place;
        memcpy(&place, (const char *)list + middle * size, sizeof place);
        if (place < at)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

size_t view_find_first_exception(const struct view *v, size_t at)
{
    return find_first_index_at_offset(v->exception, v->exceptions_n, sizeof *v->exception, at);
}

size_t view_find_first_unfolded_string(const struct view *v, size_t at)
{
    return find_first_index_at_offset(v->inner, v->inner_n, sizeof *v->inner, at);
}

size_t view_find_first_value_note(const struct view *v, size_t at)
{
    return find_first_index_at_offset(v->note, v->notes_n, sizeof *v->note, at);
}

bool view_is_folded(const struct view *v, size_t at, size_t depth)
{
    size_t i = view_find_first_exception(v, at);
    bool is_exception = i < v->exceptions_n && v->exception[i] == at;
    return (depth >= v->folded_from) != is_exception;
}

struct inner *view_find_unfolded_string(const struct view *v, size_t at)
{
    size_t i = view_find_first_unfolded_string(v, at);
    return i < v->inner_n && v->inner[i].at == at ? &v->inner[i] : NULL;
}

size_t view_count_notes(const struct view *v, size_t at)
{
    size_t first = view_find_first_value_note(v, at), i = first;
    while (i < v->notes_n && v->note[i].at == at)
        i++;
    return i - first;
}

/* ---- the ends of values --------------------------------------------------------------------- */

size_t view_find_value_end(struct view *v, size_t at, size_t *ret_children)
{
    struct view_end *e = &v->end[at % VIEW_CACHE];
    if (e->end == 0 || e->at != at) {
        size_t children, end = token_skip_value(v->text, at, &children);
        if (end - at < FAR) {
            *ret_children = children;
            return end;
        }
        *e = (struct view_end){at, end, children};
    }
    *ret_children = e->children;
    return e->end;
}

/* ---- strings that can be unfolded ------------------------------------------------------------ */

bool view_is_json(struct slice s)
{
    struct json_scan scan;
    size_t at = token_skip_blank(s, 0);
    return at < s.n && token_opens_container(s.p[at]) && json_scan(s, NULL, NULL, &scan) == 0;
}

bool view_should_unfold_string(const struct view *v, size_t at)
{
    struct slice s = v->text;
    if (at >= s.n || s.p[at] != '"' || v->nested == VIEW_INNER_DEPTH)
        return false;
    size_t near = size_min(s.n, at + VIEW_LONG_STRING);
    size_t end = token_find_end((struct slice){s.p, near}, at);
    if (end == near && near < s.n)
        return true;
    size_t first = token_skip_blank(s, at + 1);
    if (first + 1 < end && token_opens_container(s.p[first]))
        return view_is_json((struct slice){s.p + at + 1, end - at - 2}) ||
               memchr(s.p + at, '\\', end - at) != NULL;
    return memmem(s.p + at, end - at, "\\n", 2) != NULL;
}
