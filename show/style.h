/* style.h - the style of a text for people, on a terminal and in `ui`. */
#ifndef MI_SHOW_STYLE_H
#define MI_SHOW_STYLE_H

enum out_style { OUT_PLAIN, OUT_DIM, OUT_BOLD, OUT_RED, OUT_GREEN, OUT_YELLOW, OUT_CYAN };

#endif
