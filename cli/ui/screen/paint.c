#include "cli/ui/screen/paint.h"

#include <curses.h>
#include <stdlib.h>

/* Colours below 8 exist on every terminal with colours; -1 is the terminal's default colour. */
struct paint {
    attr_t attribute; /* attributes on terminals with colours */
    /* few: foreground colour on terminals with 8 or 16 colours; many: with 256 colours */
    short few, many;
    attr_t colourless; /* attributes on terminals without colours */
};

static const struct paint styles[CELLS_STYLES] = {
    [CELLS_PLAIN] = {A_NORMAL, -1, -1, A_NORMAL},
    [CELLS_DIM] = {A_DIM, -1, 245, A_DIM},
    [CELLS_TITLE] = {A_BOLD, COLOR_CYAN, 74, A_BOLD | A_UNDERLINE},
    [CELLS_LABEL] = {A_NORMAL, COLOR_CYAN, 110, A_NORMAL},
    [CELLS_ESCAPE] = {A_NORMAL, COLOR_MAGENTA, 176, A_UNDERLINE},
    [CELLS_KEY] = {A_NORMAL, COLOR_BLUE, 111, A_NORMAL},
    [CELLS_STRING] = {A_NORMAL, COLOR_GREEN, 150, A_NORMAL},
    [CELLS_NUMBER] = {A_NORMAL, COLOR_YELLOW, 215, A_NORMAL},
    [CELLS_WORD] = {A_NORMAL, COLOR_MAGENTA, 176, A_NORMAL},
    [CELLS_FOLD] = {A_BOLD, COLOR_CYAN, 80, A_BOLD},
    [CELLS_GOOD] = {A_NORMAL, COLOR_GREEN, 114, A_NORMAL},
    [CELLS_BAD] = {A_BOLD, COLOR_RED, 203, A_BOLD},
    [CELLS_WAIT] = {A_NORMAL, COLOR_YELLOW, 221, A_BOLD},
    [CELLS_NOTE] = {A_BOLD, COLOR_YELLOW, 221, A_BOLD | A_UNDERLINE},
    [CELLS_ADDED] = {A_NORMAL, COLOR_GREEN, 114, A_NORMAL},
    [CELLS_REMOVED] = {A_NORMAL, COLOR_RED, 203, A_DIM},
    [CELLS_CHANGED] = {A_NORMAL, COLOR_YELLOW, 221, A_BOLD},
};

/* Backgrounds of lines: normal, selected, selected in another pane, header, alarm. */
enum ground { GROUND_NONE, GROUND_CHOSEN, GROUND_MARKED, GROUND_HEADER, GROUND_ALARM, GROUNDS };

static enum ground grounds[] = {
    [SCREEN_NORMAL] = GROUND_NONE,   [SCREEN_CHOSEN] = GROUND_CHOSEN,
    [SCREEN_MARKED] = GROUND_MARKED, [SCREEN_HEADER] = GROUND_HEADER,
    [SCREEN_CAPTION] = GROUND_NONE,  [SCREEN_ACTIVE] = GROUND_NONE,
    [SCREEN_ALARM] = GROUND_ALARM,
};

static int colours; /* number of colours of the terminal: 0, 8 or 256 */

static short color_pair_of_style(enum ground g, enum cells_style style)
{
    return (short)(1 + (int)g * CELLS_STYLES + (int)style);
}

void paint_open(void)
{
    static const short many[GROUNDS] = {-1, 24, 238, 236, 88};
    const char *no = getenv("NO_COLOR");
    colours = 0;
    if ((no != NULL && no[0] != '\0') || !has_colors() || start_color() == ERR)
        return;
    short own = use_default_colors() == OK ? -1 : COLOR_BLACK;
    colours = COLORS >= 256 && COLOR_PAIRS > (int)GROUNDS * CELLS_STYLES ? 256 : 8;
    for (int g = 0; g < (colours == 256 ? GROUNDS : 1); g++) {
        for (int s = 0; s < CELLS_STYLES; s++) {
            short fore = colours == 256 ? styles[s].many : styles[s].few;
            short back = many[g] == -1 ? own : many[g];
            if (g != GROUND_NONE && fore == -1)
                fore = 255;
            fore = fore == -1 && own != -1 ? COLOR_WHITE : fore;
            init_pair(color_pair_of_style((enum ground)g, (enum cells_style)s), fore, back);
        }
    }
}

/* Returns the attribute of a whole line. Without 256 colours, attributes replace the background. */
static attr_t attribute_of_line(enum screen_line kind)
{
    switch (kind) {
    case SCREEN_CHOSEN:
    case SCREEN_HEADER:
    case SCREEN_ALARM:
        return colours == 256 ? A_NORMAL : A_REVERSE;
    case SCREEN_MARKED:
        return colours == 256 ? A_NORMAL : A_UNDERLINE;
    case SCREEN_ACTIVE:
        return A_BOLD;
    case SCREEN_CAPTION:
    case SCREEN_NORMAL:
        break;
    }
    return A_NORMAL;
}

void paint_find_attributes(enum screen_line kind, enum cells_style style, bool found,
                           unsigned *ret_attribute, short *ret_pair)
{
    const struct paint *p = &styles[style];
    attr_t a = attribute_of_line(kind) | (found ? A_REVERSE : A_NORMAL);
    short pair = 0;
    if (colours == 0) {
        a |= p->colourless;
    } else if (colours == 256) {
        a |= p->attribute & ~A_DIM;
        pair = color_pair_of_style(grounds[kind], style);
    } else if ((a & A_REVERSE) == 0) { /* coloured text on a reversed line is hard to read */
        a |= p->attribute;
        pair = color_pair_of_style(GROUND_NONE, style);
    } else {
        a |= p->attribute & A_BOLD;
    }
    *ret_attribute = a;
    *ret_pair = pair;
}
