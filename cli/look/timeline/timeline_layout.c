#include "cli/look/timeline/timeline_layout.h"

#define WHAT 11       /* columns of `server-gone`, the longest word in the column WHAT */
#define WHAT_PACKED 7 /* columns of `request`; a longer word takes more columns */
#define TOOK 7
#define SIZE 7
#define TIME_OF_DAY 12 /* 23:59:59.999 */
#define TIME_OF_DAY_SHORT 8
#define SESSION 4
#define SERVER 12
#define SERVER_NARROW 8
/* width of the terminal below which a packed line of several sessions has no session ID, and only
 * SERVER_NARROW columns for the server */
#define NARROW 80
#define METHOD_MIN 12
#define CONTENT_MIN 14

static size_t larger_width(size_t a, size_t b)
{
    return a > b ? a : b;
}

size_t layout_count_leading_columns(const struct layout *l, const struct layout_widths *w)
{
    size_t n = w->of_many ? l->time + l->gap + l->server + (l->session > 0 ? l->session + 1 : 0)
                          : l->seq + l->gap + l->time;
    return n + l->gap + w->arrow + l->gap;
}

/* Returns the columns and gaps between METHOD and the content. */
static size_t count_columns_after_method(const struct layout *l)
{
    size_t n = 2 * l->gap + l->took;
    n += l->id > 0 ? l->gap + l->id : 0;
    return n + (l->size > 0 ? l->gap + l->size : 0);
}

/* Returns all columns except METHOD and the content. */
static size_t count_fixed_columns(const struct layout *l, const struct layout_widths *w)
{
    return layout_count_leading_columns(l, w) + l->what + 1 + count_columns_after_method(l);
}

void layout_set_columns(struct layout *l, const struct layout_widths *w, enum layout_level level)
{
    bool packed = level >= LAYOUT_PACKED;
    *l = (struct layout){
        .level = level,
        .gap = packed ? 1 : 2,
        .time = w->time,
        .what = packed ? WHAT_PACKED : WHAT,
        .took = packed ? 0 : TOOK,
        .id = level < LAYOUT_NO_ID ? w->id : 0,
        .size = level < LAYOUT_NO_SIZE ? SIZE : 0,
    };
    if (w->of_many) {
        l->time = level < LAYOUT_NO_ID ? TIME_OF_DAY : TIME_OF_DAY_SHORT;
        bool narrow = packed && w->columns < NARROW;
        l->session = narrow ? 0 : SESSION;
        l->server = narrow ? SERVER_NARROW : SERVER;
    } else {
        l->seq = w->seq;
    }
    if (packed)
        return;
    size_t fixed = count_fixed_columns(l, w) + LAYOUT_CONTENT;
    size_t left = w->columns > fixed ? w->columns - fixed : 0;
    size_t wanted = level < LAYOUT_SHORT_NAMES ? w->method : w->short_method;
    size_t max = LAYOUT_METHOD_MAX;
    if (w->columns != OUT_UNLIMITED)
        max = larger_width(max, w->columns / 4);
    l->method = larger_width(METHOD_MIN, size_min(size_min(wanted, max), left));
}

void layout_add_method(struct layout_widths *w, size_t method, size_t short_method)
{
    w->method = larger_width(w->method, method);
    w->short_method = larger_width(w->short_method, short_method);
    w->measured++;
    w->by_width[false][size_min(method, LAYOUT_METHOD_MAX)]++;
    w->by_width[true][size_min(short_method, LAYOUT_METHOD_MAX)]++;
}

/* Returns the width that two thirds of the METHODs do not exceed; the widest METHOD if only that is
 * known. */
static size_t compute_usual_method_width(const struct layout_widths *w, bool is_short)
{
    size_t width = 0, n = w->by_width[is_short][0];
    if (w->measured == 0)
        return size_min(is_short ? w->short_method : w->method, LAYOUT_METHOD_MAX);
    while (width < LAYOUT_METHOD_MAX && 3 * n < 2 * (size_t)w->measured)
        n += w->by_width[is_short][++width];
    return width;
}

/* Whether the layout leaves enough columns for the content. */
static bool layout_leaves_room_for_content(const struct layout *l, const struct layout_widths *w)
{
    size_t wanted =
        larger_width(METHOD_MIN, compute_usual_method_width(w, l->level >= LAYOUT_SHORT_NAMES));
    return count_fixed_columns(l, w) + wanted + LAYOUT_CONTENT <= w->columns;
}

void layout_choose_level(struct layout *l, const struct layout_widths *w)
{
    enum layout_level level = LAYOUT_FULL;
    layout_set_columns(l, w, level);
    while (level < LAYOUT_PACKED && !layout_leaves_room_for_content(l, w))
        layout_set_columns(l, w, ++level);
}

size_t layout_max_method_width(const struct layout *l, size_t left, bool took)
{
    size_t others = CONTENT_MIN + 1 + (took ? TOOK + 1 : 0);
    if (l->level < LAYOUT_PACKED) {
        others = CONTENT_MIN + count_columns_after_method(l);
        return larger_width(l->method, left > others ? left - others : 0);
    }
    return left > others + METHOD_MIN ? left - others : size_min(left, METHOD_MIN);
}
