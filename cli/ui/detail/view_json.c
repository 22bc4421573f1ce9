/* view_json.c - JSON on indented lines. */
#include "cli/ui/detail/token.h"
#include "cli/ui/detail/view.h"

#include "base/text.h"
#include "base/units.h"
#include "base/width.h"
#include "wire/json/escape.h"

static bool view_json_is_empty(const struct view *v, size_t at)
{
    size_t inside = token_skip_blank(v->text, at + 1);
    return inside < v->text.n && token_closes_container(v->text.p[inside]);
}

/* ---- the next line -------------------------------------------------------------------------- */

bool view_json_step_line(struct view *v, struct view_place *p)
{
    struct slice s = v->text;
    size_t at = view_value_offset(v, p), depth = p->depth, children;
    if (at >= s.n)
        return false;
    if (token_closes_container(s.p[at])) {
        depth -= depth > 0;
        at++;
    } else if (!token_opens_container(s.p[at]) || view_is_folded(v, at, depth)) {
        at = view_find_value_end(v, at, &children);
    } else if (view_json_is_empty(v, at)) {
        at = token_skip_blank(s, at + 1) + 1;
    } else {
        depth++;
        at++;
    }
    at = token_skip_separators(s, at);
    if (at >= s.n)
        return false;
    *p = (struct view_place){.at = at, .depth = depth, .line = p->line + 1};
    return true;
}

/* ---- drawing -------------------------------------------------------------------------------- */

#define ESCAPE 6 /* length of the escape \uXXXX in bytes */
/* A long token is added to the line in pieces of this many bytes, so that drawing stops soon after
 * the line is full. */
#define PIECE_MAX 512

static bool is_unicode_escape(struct slice s)
{
    if (s.n < ESCAPE || s.p[0] != '\\' || s.p[1] != 'u')
        return false;
    for (size_t i = 2; i < ESCAPE; i++)
        if (strchr("0123456789abcdefABCDEF", s.p[i]) == NULL || s.p[i] == '\0')
            return false;
    return true;
}

/* If s begins with the escape of a visible character beyond ASCII, returns the length of the escape
 * and writes the character; else returns 0. */
static size_t decode_visible_escape(struct slice s, char ret[JSON_CHAR_MAX], size_t *ret_n)
{
    const char *p = s.p;
    if (!is_unicode_escape(s))
        return 0;
    struct slice second = {s.p + ESCAPE, s.n - ESCAPE};
    bool pair = (s.p[2] == 'd' || s.p[2] == 'D') && s.p[3] > '7';
    if (pair && !is_unicode_escape(second))
        return 0;
    *ret_n = json_decode_char(&p, s.p + (pair ? 2 * ESCAPE : ESCAPE), ret);
    uint32_t code = text_utf8_len(ret, *ret_n) == *ret_n ? text_utf8_code(ret, *ret_n) : 0;
    return code > 0x7F && code != 0xFFFD && width_char_is_printable(code) ? (size_t)(p - s.p) : 0;
}

void view_add_token(struct cells *c, enum cells_style style, struct slice token)
{
    char text[JSON_CHAR_MAX];
    size_t from = 0, at = 0, n, len;
    while (!c->ascii && at < token.n && !cells_are_full(c)) {
        const char *slash = memchr(token.p + at, '\\', token.n - at);
        if (slash == NULL)
            break;
        at = (size_t)(slash - token.p);
        n = decode_visible_escape((struct slice){slash, token.n - at}, text, &len);
        if (n > 0 || at - from > PIECE_MAX) {
            cells_add_text(c, style, (struct slice){token.p + from, at - from});
            from = at;
        }
        if (n > 0) {
            cells_add_text(c, style, (struct slice){text, len});
            from = at + n;
        }
        at += n > 0 ? n : 2;
    }
    if (from < token.n)
        cells_add_text(c, style, (struct slice){token.p + from, token.n - from});
}

static void draw_fold_marker(const struct view *v, bool folded, struct cells *c)
{
    if (v->ascii)
        cells_add_str(c, CELLS_FOLD, folded ? "+ " : "- ");
    else
        cells_add_str(c, CELLS_FOLD, folded ? "▸ " : "▾ ");
}

static void draw_json_container(struct view *v, size_t at, size_t depth, struct cells *c)
{
    bool object = v->text.p[at] == '{';
    size_t children;
    if (view_json_is_empty(v, at)) {
        cells_add_str(c, CELLS_DIM, object ? "{}" : "[]");
    } else if (view_is_folded(v, at, depth)) {
        (void)view_find_value_end(v, at, &children);
        cells_add_str(c, CELLS_DIM, object ? "{" : "[");
        cells_add_str(c, CELLS_FOLD, v->ascii ? "..." : "…");
        cells_add_str(c, CELLS_DIM, object ? "}" : "]");
        cells_add_format(c, CELLS_FOLD, " %zu %s%s", children, object ? "key" : "item",
                         children == 1 ? "" : "s");
    } else {
        cells_add_str(c, CELLS_DIM, object ? "{" : "[");
    }
}

static enum cells_style style_of_token(struct slice token)
{
    if (*token.p == '"')
        return CELLS_STRING;
    if (*token.p == '-' || (*token.p >= '0' && *token.p <= '9'))
        return CELLS_NUMBER;
    if (slice_is(token, "true") || slice_is(token, "false") || slice_is(token, "null"))
        return CELLS_WORD;
    return CELLS_BAD;
}

static void draw_json_scalar(struct view *v, size_t at, struct cells *c)
{
    size_t children;
    struct inner *in = view_find_unfolded_string(v, at);
    if (in != NULL) {
        struct buf size = {0};
        units_show_size(&size, (int64_t)in->view->text.n);
        cells_add_format(c, CELLS_FOLD, "%s, %s", in->view->kind == VIEW_JSON ? "JSON" : "text",
                         buf_str(&size));
        buf_close(&size);
        return;
    }
    struct slice token = {v->text.p + at, view_find_value_end(v, at, &children) - at};
    view_add_token(c, style_of_token(token), token);
}

/* Draws a comma if the text has a comma after the value or bracket that ends at `end`. */
static void draw_json_comma(struct view *v, size_t end, struct cells *c)
{
    end = token_skip_blank(v->text, end);
    if (end < v->text.n && v->text.p[end] == ',')
        cells_add_str(c, CELLS_DIM, ",");
}

static void draw_json_value(struct view *v, const struct view_place *p, size_t at, struct cells *c)
{
    size_t children;
    bool opens = token_opens_container(v->text.p[at]);
    if (opens)
        draw_json_container(v, at, p->depth, c);
    else
        draw_json_scalar(v, at, c);
    if (!cells_are_full(c) &&
        (!opens || view_json_is_empty(v, at) || view_is_folded(v, at, p->depth)))
        draw_json_comma(v, view_find_value_end(v, at, &children), c);
}

void view_json_draw(struct view *v, const struct view_place *p, struct cells *c)
{
    struct slice s = v->text;
    size_t key = token_skip_separators(s, p->at), at = view_value_offset(v, p);
    if (at >= s.n && key >= s.n)
        return;
    if (token_closes_container(s.p[key])) {
        cells_add_blanks(c, view_count_indent_columns(p->depth - (p->depth > 0)) + 2);
        cells_add_text(c, CELLS_DIM, (struct slice){s.p + key, 1});
        draw_json_comma(v, key + 1, c);
        return;
    }
    cells_add_blanks(c, view_count_indent_columns(p->depth));
    if (v->fixed)
        cells_add_blanks(c, 2);
    else if (at < s.n && token_opens_container(s.p[at]) && !view_json_is_empty(v, at))
        draw_fold_marker(v, view_is_folded(v, at, p->depth), c);
    else if (at < s.n &&
             (view_find_unfolded_string(v, at) != NULL || view_should_unfold_string(v, at)))
        draw_fold_marker(v, view_find_unfolded_string(v, at) == NULL, c);
    else
        cells_add_blanks(c, 2);
    if (at != key) {
        view_add_token(c, CELLS_KEY, (struct slice){s.p + key, token_find_end(s, key) - key});
        cells_add_str(c, CELLS_DIM, ": ");
    }
    if (at < s.n)
        draw_json_value(v, p, at, c);
}
