/* press.h - keys and mouse events as numbers: a code point, or a value of enum press_key.
 *
 * Blocks    never. */
#ifndef MI_CLI_UI_SCREEN_PRESS_H
#define MI_CLI_UI_SCREEN_PRESS_H

#include "base/base.h"

#define PRESS_CTRL(letter) ((letter)&0x1F)

enum press_key {
    PRESS_TAB = '\t',
    PRESS_ENTER = '\r',
    PRESS_ESCAPE = 0x1B,
    PRESS_SPACE = ' ',
    PRESS_UP = 0x110000, /* named keys have values above all code points */
    PRESS_DOWN,
    PRESS_LEFT,
    PRESS_RIGHT,
    PRESS_PAGE_UP,
    PRESS_PAGE_DOWN,
    PRESS_HOME,
    PRESS_END,
    PRESS_BACKSPACE,
    PRESS_DELETE,
    PRESS_BACK_TAB,
    PRESS_F1,
    PRESS_F3,
    PRESS_F4,
    PRESS_F5,
    PRESS_F10,
    PRESS_CLICK,
    PRESS_WHEEL_UP,
    PRESS_WHEEL_DOWN,
    PRESS_OTHER, /* any key that has no name in this list */
};

struct press {
    int key;
    size_t x, y; /* position of the mouse in a mouse event */
    bool pasted; /* the character is part of a pasted text */
};

static inline bool press_is_mouse(const struct press *p)
{
    return p->key >= PRESS_CLICK && p->key <= PRESS_WHEEL_DOWN;
}

#endif
