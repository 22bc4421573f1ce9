/* view_json.c - JSON on indented lines. */
#include "cli/ui/detail/token.h"
#include "cli/ui/detail/view.h"

#include "base/units.h"

static bool is_empty(const struct view *v, size_t at)
{
    size_t inside = token_blank(v->text, at + 1);
    return inside < v->text.n && token_closes(v->text.p[inside]);
}

/* ---- the next line -------------------------------------------------------------------------- */

bool view_json_step(struct view *v, struct view_place *p)
{
    struct slice s = v->text;
    size_t at = view_at(v, p), depth = p->depth, children;
    if (at >= s.n)
        return false;
    if (token_closes(s.p[at])) {
        depth -= depth > 0;
        at++;
    } else if (!token_opens(s.p[at]) || view_is_folded(v, at, depth)) {
        at = view_value_end(v, at, &children);
    } else if (is_empty(v, at)) {
        at = token_blank(s, at + 1) + 1;
    } else {
        depth++;
        at++;
    }
    at = token_next(s, at);
    if (at >= s.n)
        return false;
    *p = (struct view_place){.at = at, .depth = depth, .line = p->line + 1};
    return true;
}

/* ---- drawing -------------------------------------------------------------------------------- */

static void draw_marker(const struct view *v, bool folded, struct cells *c)
{
    if (v->ascii)
        cells_adds(c, CELLS_FOLD, folded ? "+ " : "- ");
    else
        cells_adds(c, CELLS_FOLD, folded ? "▸ " : "▾ ");
}

static void draw_container(struct view *v, size_t at, size_t depth, struct cells *c)
{
    bool object = v->text.p[at] == '{';
    size_t children;
    if (is_empty(v, at)) {
        cells_adds(c, CELLS_DIM, object ? "{}" : "[]");
    } else if (view_is_folded(v, at, depth)) {
        (void)view_value_end(v, at, &children);
        cells_adds(c, CELLS_DIM, object ? "{" : "[");
        cells_adds(c, CELLS_FOLD, v->ascii ? "..." : "…");
        cells_adds(c, CELLS_DIM, object ? "}" : "]");
        cells_addf(c, CELLS_FOLD, " %zu %s%s", children, object ? "key" : "item",
                   children == 1 ? "" : "s");
    } else {
        cells_adds(c, CELLS_DIM, object ? "{" : "[");
    }
}

static enum cells_style style_of(struct slice token)
{
    if (*token.p == '"')
        return CELLS_STRING;
    if (*token.p == '-' || (*token.p >= '0' && *token.p <= '9'))
        return CELLS_NUMBER;
    if (slice_is(token, "true") || slice_is(token, "false") || slice_is(token, "null"))
        return CELLS_WORD;
    return CELLS_BAD;
}

static void draw_scalar(struct view *v, size_t at, struct cells *c)
{
    size_t children;
    struct inner *in = view_inner(v, at);
    if (in != NULL) {
        struct buf size = {0};
        units_show_size(&size, (int64_t)in->view->text.n);
        cells_addf(c, CELLS_FOLD, "%s, %s", in->view->kind == VIEW_JSON ? "JSON" : "text",
                   buf_str(&size));
        buf_close(&size);
        return;
    }
    struct slice token = {v->text.p + at, view_value_end(v, at, &children) - at};
    cells_add(c, style_of(token), token);
}

/* A comma that follows the value or bracket. */
static void draw_comma(struct view *v, size_t end, struct cells *c)
{
    end = token_blank(v->text, end);
    if (end < v->text.n && v->text.p[end] == ',')
        cells_adds(c, CELLS_DIM, ",");
}

static void draw_value(struct view *v, const struct view_place *p, size_t at, struct cells *c)
{
    size_t children;
    bool opens = token_opens(v->text.p[at]);
    if (opens)
        draw_container(v, at, p->depth, c);
    else
        draw_scalar(v, at, c);
    if (!cells_full(c) && (!opens || is_empty(v, at) || view_is_folded(v, at, p->depth)))
        draw_comma(v, view_value_end(v, at, &children), c);
}

void view_json_draw(struct view *v, const struct view_place *p, struct cells *c)
{
    struct slice s = v->text;
    size_t key = token_next(s, p->at), at = view_at(v, p);
    if (at >= s.n && key >= s.n)
        return;
    if (token_closes(s.p[key])) {
        cells_blank(c, view_indent(p->depth - (p->depth > 0)) + 2);
        cells_add(c, CELLS_DIM, (struct slice){s.p + key, 1});
        draw_comma(v, key + 1, c);
        return;
    }
    cells_blank(c, view_indent(p->depth));
    if (v->fixed)
        cells_blank(c, 2);
    else if (at < s.n && token_opens(s.p[at]) && !is_empty(v, at))
        draw_marker(v, view_is_folded(v, at, p->depth), c);
    else if (at < s.n && (view_inner(v, at) != NULL || view_is_text(v, at)))
        draw_marker(v, view_inner(v, at) == NULL, c);
    else
        cells_blank(c, 2);
    if (at != key) {
        cells_add(c, CELLS_KEY, (struct slice){s.p + key, token_end(s, key) - key});
        cells_adds(c, CELLS_DIM, ": ");
    }
    if (at < s.n)
        draw_value(v, p, at, c);
}
