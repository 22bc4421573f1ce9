/* pair.h - compares two values, such as the results of two calls, side by side and line by line.
 *
 * Rules     members with the same name, and elements with the same index, stand beside each
 *           other. A member or element that only one side has stands alone. The order of
 *           members, white space, and the spelling of strings and numbers make no difference.
 * Sections  each pair_add_section_of_values() adds a section, such as the params or the results. A
 *           section begins with a title.
 * Limits    a value has at most PAIR_TEXT_MAX bytes; the limits of wire/json/tree.h also apply. A
 *           pair has at most PAIR_ROWS_MAX rows. If a limit is exceeded, the two values are not
 *           compared, and their section says so. So a section takes at most about 10 ms and 10 MB.
 * Owns      the rows, 12 bytes each, and the index of both texts. The texts are borrowed until
 *           pair_close().
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_DETAIL_PAIR_H
#define MI_CLI_UI_DETAIL_PAIR_H

#include "cli/ui/text/cells.h"

#define PAIR_TEXT_MAX ((size_t)1 << 20)
#define PAIR_ROWS_MAX ((size_t)1 << 18)
#define PAIR_SECTIONS_MAX 4
#define PAIR_CONTEXT 3 /* number of equal lines shown before and after a difference */

enum pair_side { PAIR_LEFT, PAIR_RIGHT };
struct pair;

MI_MUST int pair_open(struct pair **ret);
void pair_close(struct pair *p); /* p may be NULL */
/* Adds a section. A value is JSON text, or {NULL, 0} if it is missing. `title` must be static.
 * Returns 0; MI_EINVAL: invalid JSON; MI_EFULL: there are PAIR_SECTIONS_MAX sections already;
 * MI_ENOMEM. */
MI_MUST int pair_add_section_of_values(struct pair *p, const char *title, struct slice left,
                                       struct slice right);
/* Adds a section whose values are not compared, because only their sizes are known. */
MI_MUST int pair_add_section_of_sizes(struct pair *p, const char *title, const size_t size[2]);
/* Shows all lines if `all` is true. Otherwise (the default), shows only the differences, with
 * PAIR_CONTEXT lines before and after each difference. Row numbers change. Returns 0 or
 * MI_ENOMEM. */
MI_MUST int pair_choose_shown_rows(struct pair *p, bool all);

size_t pair_count_shown_rows(const struct pair *p);
/* returns the number of differences; consecutive rows that differ are one difference */
size_t pair_count_differences(const struct pair *p);
/* Returns the next row after `row` at which a difference begins, or the last such row before `row`
 * if `forward` is false. Returns `row` if there is none. */
size_t pair_find_next_difference(const struct pair *p, size_t row, bool forward);
/* Begins c, and writes one side of a row to it: the columns [from, from + width). c stays empty if
 * the side has no line in this row. */
void pair_draw_line(struct pair *p, size_t row, enum pair_side side, size_t from, size_t width,
                    bool ascii, struct cells *c);

#endif
