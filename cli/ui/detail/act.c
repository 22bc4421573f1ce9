/* act.c - folds, searches and copies in a document. */
#include "cli/ui/detail/detail_parts.h"

#include "base/text.h"

/* ---- folding -------------------------------------------------------------------------------- */

/* Returns how many bytes of strings can still be unfolded. */
static size_t detail_count_unfoldable_bytes(const struct detail *d)
{
    size_t used = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->part[i].has_view)
            used += view_count_unfolded_bytes(&d->part[i].view);
    return used < DETAIL_UNFOLDED_MAX ? DETAIL_UNFOLDED_MAX - used : 0;
}

static int fold_detail_part(struct spot *s, enum detail_fold how, size_t *ret_line)
{
    bool fold = how == DETAIL_TOGGLE ? !s->part->folded : how == DETAIL_FOLD;
    if (fold == s->part->folded)
        return MI_ENOENT;
    s->part->folded = fold;
    *ret_line = s->base;
    return 0;
}

int detail_fold_line(struct detail *d, size_t line, enum detail_fold how, size_t *ret_line)
{
    struct spot s;
    struct view_target t;
    if (!detail_find_part_of_line(d, line, &s))
        return MI_ENOENT;
    if (s.title)
        return fold_detail_part(&s, how, ret_line);
    struct view *v = &s.part->view;
    bool found = s.part->has_view && view_find_innermost_fold_target(v, &s.place, &t);
    if (found && how == DETAIL_FOLD && t.folded)
        found = view_find_enclosing_value(v, &t, &t);
    /* the part does not show its opening bracket, so there is no line to fold */
    if (found && t.view == v && t.depth == 0 && detail_count_hidden_brackets(s.part) > 0)
        found = false;
    if (how == DETAIL_UNFOLD && (!found || !t.folded))
        return MI_ENOENT;
    if (!found)
        return fold_detail_part(&s, DETAIL_FOLD, ret_line);
    int st = view_toggle_fold(v, &t, detail_count_unfoldable_bytes(d));
    if (st == 0)
        *ret_line = s.base + 1 + detail_get_line_below_title(s.part, t.line);
    return st;
}

void detail_fold_from_depth(struct detail *d, size_t depth)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->part[i].has_view && d->part[i].view.kind == VIEW_JSON)
            view_fold_from_depth(&d->part[i].view, depth);
    for (size_t i = 0; i < d->n && depth == SIZE_MAX; i++)
        d->part[i].folded = false;
}

/* ---- searching ------------------------------------------------------------------------------ */

/* Returns the first match at or after `at` or, backwards, the last match before `at`. In JSON,
 * searches all spellings of the needle. */
static size_t find_match_in_view(const struct detail *d, const struct view *v, size_t at,
                                 bool forward)
{
    const struct buf *needle[] = {&d->needle, &d->escaped_needle, &d->ascii_needle};
    size_t found = FIND_NONE, n = v->kind == VIEW_TEXT ? 1 : MI_COUNT(needle);
    for (size_t i = 0; i < n; i++) {
        struct slice s = buf_slice(needle[i]);
        if (i > 0 && slice_eq(s, buf_slice(needle[i - 1])))
            continue;
        size_t match = forward ? find_next_match(v->text, at, s) : find_last_match(v->text, at, s);
        if (found == FIND_NONE || (match != FIND_NONE && (match < found) == forward))
            /* this match is nearer to `at` than the matches of the spellings tried before */
            found = match;
    }
    return found;
}

/* Returns the first match at or after `at` or, backwards, the last match before `at`. */
static size_t find_needle_in_detail_part(const struct detail *d, const struct part *p, size_t at,
                                         bool forward)
{
    if (!p->has_view) {
        size_t n = p->rows.n, i = forward ? at : size_min(at, n) - 1;
        for (; i < n; forward ? i++ : i--) /* after 0, `i` becomes SIZE_MAX, which ends the loop */
            if (find_next_match(head_get_row_text(&p->rows, i), 0, buf_slice(&d->needle)) !=
                FIND_NONE)
                return i;
        return FIND_NONE;
    }
    size_t found = find_match_in_view(d, &p->view, at, forward);
    /* Skips values that have a part of their own, because that part is searched as well. */
    while (p->kind == PART_MESSAGE && p->folded && found != FIND_NONE) {
        at = values_find_end_of_value(d, p->message, found, forward);
        if (at == SIZE_MAX)
            break;
        found = find_match_in_view(d, &p->view, at, forward);
    }
    return found;
}

/* Sets *ret_part and *ret_at to the part in which the search begins, and to the offset in this
 * part. */
static void find_search_start(struct detail *d, size_t from, bool forward, size_t *ret_part,
                              size_t *ret_at)
{
    struct spot s;
    size_t line = 0, column;
    /* Search from the last match on, if the cursor is still on the line of that match. */
    if (d->has_hit) {
        struct part *p = &d->part[d->hit_part];
        if (p->has_view)
            view_find_line_and_column(&p->view, d->hit_at, &line, &column);
        else
            line = d->hit_at;
        if (!p->folded && detail_find_part_title_line(d, d->hit_part) + 1 +
                                  detail_get_line_below_title(p, line) ==
                              from) {
            *ret_part = d->hit_part;
            *ret_at = d->hit_at + forward;
            return;
        }
    }
    *ret_part = 0;
    *ret_at = 0;
    if (!detail_find_part_of_line(d, from, &s))
        return;
    *ret_part = (size_t)(s.part - d->part);
    if (!s.title)
        *ret_at = s.part->has_view ? s.place.at : s.row;
}

/* Unfolds the string that contains byte `at` of the view, because the match is beyond the right
 * edge. Returns 0 or, if the string stays folded, an error such as MI_EFULL. */
static int unfold_string_of_hit(struct detail *d, struct view *v, size_t at, size_t line)
{
    struct view_place place;
    struct view_target t;
    bool found = view_find_line_by_number(v, line, &place) &&
                 view_find_innermost_fold_target(v, &place, &t) && t.folded;
    int st = found ? view_toggle_fold(v, &t, detail_count_unfoldable_bytes(d)) : MI_ENOENT;
    return st == 0 ? view_unfold_to_show_byte(v, at) : st;
}

/* Unfolds the part and the values that hide the match, and stores the position of the match in d.
 * Sets *ret to the line and column of the match. */
static int detail_unfold_to_match(struct detail *d, size_t part, size_t at, struct detail_hit *ret)
{
    struct part *p = &d->part[part];
    p->folded = false;
    if (!p->has_view) {
        struct slice text = head_get_row_text(&p->rows, at);
        text.n = find_next_match(text, 0, buf_slice(&d->needle));
        ret->line = at;
        ret->column =
            head_get_value_column(&p->rows, at) + cells_count_columns_with_tabs(text, d->ascii);
    } else {
        int st = view_unfold_to_show_byte(&p->view, at);
        if (st < 0)
            return st;
        view_find_line_and_column(&p->view, at, &ret->line, &ret->column);
        bool far = d->columns > 0 && ret->column + ROW_INDENT >= d->columns;
        if (far && unfold_string_of_hit(d, &p->view, at, ret->line) == 0)
            view_find_line_and_column(&p->view, at, &ret->line, &ret->column);
        ret->column += ROW_INDENT;
        ret->line = detail_get_line_below_title(p, ret->line);
    }
    ret->line += detail_find_part_title_line(d, part) + 1;
    d->has_hit = true;
    d->hit_part = part;
    d->hit_at = at;
    return 0;
}

/* Adds JSON text in ASCII: characters that are not ASCII become \u escapes, as some programs write
 * them. */
static void add_json_as_ascii(struct buf *b, struct slice s)
{
    for (size_t i = 0, len; i < s.n; i += len) {
        len = text_utf8_len(s.p + i, s.n - i);
        uint32_t code = len > 1 ? text_utf8_code(s.p + i, len) : 0;
        if (code > 0xFFFF)
            buf_printf(b, "\\u%04x\\u%04x", (unsigned)(0xD800 + ((code - 0x10000) >> 10)),
                       (unsigned)(0xDC00 + (code & 0x3FF)));
        else if (code > 0)
            buf_printf(b, "\\u%04x", (unsigned)code);
        else
            buf_add(b, s.p + i, len = 1);
    }
}

static int detail_set_search_text(struct detail *d, struct slice needle)
{
    struct buf json = {0};
    if (slice_eq(buf_slice(&d->needle), needle))
        return 0;
    d->has_hit = false;
    buf_clear(&d->needle);
    buf_clear(&d->escaped_needle);
    buf_clear(&d->ascii_needle);
    buf_slice_add(&d->needle, needle);
    text_append_json(&json, needle);
    if (!json.failed)
        buf_add(&d->escaped_needle, json.p + 1, json.n - 2);
    add_json_as_ascii(&d->ascii_needle, buf_slice(&d->escaped_needle));
    bool failed =
        json.failed || d->needle.failed || d->escaped_needle.failed || d->ascii_needle.failed;
    buf_close(&json);
    return failed ? MI_ENOMEM : 0;
}

int detail_search(struct detail *d, struct slice needle, size_t from, bool forward,
                  struct detail_hit *ret)
{
    size_t part, at;
    int st = detail_set_search_text(d, needle);
    if (st < 0 || needle.n == 0)
        return st < 0 ? st : MI_ENOENT;
    find_search_start(d, from, forward, &part, &at);
    ret->wrapped = false;
    /* The loop searches the first part twice: at first only the text on one side of `at`, in its
     * last round the whole part. */
    for (size_t tried = 0; tried <= d->n; tried++) {
        size_t found = find_needle_in_detail_part(d, &d->part[part], at, forward);
        if (found != FIND_NONE)
            return detail_unfold_to_match(d, part, found, ret);
        if (forward ? part + 1 == d->n : part == 0)
            ret->wrapped = true;
        part = forward ? (part + 1) % d->n : (part + d->n - 1) % d->n;
        at = forward ? 0 : SIZE_MAX;
    }
    return MI_ENOENT;
}

/* ---- copying -------------------------------------------------------------------------------- */

static int copy_text_of_detail_part(const struct detail *d, const struct part *p, struct buf *b)
{
    struct slice text = {0};
    if (p->kind == PART_MESSAGE || p->kind == PART_VALUE)
        text = d->s.message[p->message].body;
    else if (p->kind == PART_POST_MORTEM)
        text = d->s.post_mortem;
    if (text.p == NULL)
        return MI_ENOENT;
    buf_slice_add(b, text);
    return b->failed ? MI_ENOMEM : 0;
}

/* Copies all lines of a part without a view. For PART_HEAD and PART_ABOUT, copies the first
 * message, which is the request if a call is shown. */
static int copy_lines_of_detail_part(const struct detail *d, const struct part *p, struct buf *b)
{
    bool head = p->kind == PART_HEAD || p->kind == PART_ABOUT;
    if (head && d->s.messages_n > 0)
        buf_slice_add(b, d->s.message[0].body);
    for (size_t i = 0; i < p->rows.n && !head; i++) {
        buf_slice_add(b, head_get_row_text(&p->rows, i));
        buf_addc(b, '\n');
    }
    return b->failed ? MI_ENOMEM : b->n == 0 ? MI_ENOENT : 0;
}

/* Copies from a part of the kind PART_VALUE. */
static int copy_part_value(const struct detail *d, struct spot *s, enum detail_copy what,
                           struct buf *b)
{
    struct part *p = s->part;
    bool is_text = p->view.kind == VIEW_TEXT || p->text.n > 0;
    struct slice raw = {d->s.message[p->message].body.p + p->from, p->to - p->from};
    if (what == DETAIL_COPY_POINTER)
        buf_adds(b, p->pointer);
    if (what == DETAIL_COPY_POINTER && !s->title && !is_text)
        return view_write_pointer(&p->view, &s->place, b);
    if (what == DETAIL_COPY_VALUE && !s->title)
        return view_copy_value(&p->view, &s->place, b);
    if (what == DETAIL_COPY_VALUE)
        buf_slice_add(b, is_text ? buf_slice(&p->text) : raw);
    return b->failed ? MI_ENOMEM : 0;
}

int detail_copy(struct detail *d, size_t line, enum detail_copy what, struct buf *b)
{
    struct spot s;
    if (!detail_find_part_of_line(d, line, &s))
        return MI_ENOENT;
    if (what != DETAIL_COPY_BODY && s.part->kind == PART_VALUE)
        return copy_part_value(d, &s, what, b);
    if (what == DETAIL_COPY_VALUE && s.title && s.part->kind != PART_MESSAGE &&
        s.part->kind != PART_POST_MORTEM)
        return copy_lines_of_detail_part(d, s.part, b);
    if (what == DETAIL_COPY_BODY || (what == DETAIL_COPY_VALUE && s.title))
        return copy_text_of_detail_part(d, s.part, b);
    if (s.part->has_view && !s.title)
        return what == DETAIL_COPY_POINTER ? view_write_pointer(&s.part->view, &s.place, b)
                                           : view_copy_value(&s.part->view, &s.place, b);
    if (s.title || what == DETAIL_COPY_POINTER)
        return MI_ENOENT;
    buf_slice_add(b, head_get_row_text(&s.part->rows, s.row));
    return b->failed ? MI_ENOMEM : 0;
}
