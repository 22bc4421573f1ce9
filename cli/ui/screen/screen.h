/* screen.h - the terminal: its size, its keys, lines of text in styles. The only user of ncurses.
 *
 * Text      only lines that cells.h has made safe are shown. A character whose width the C library does not know, or
 *           knows differently, is shown as `?`.
 * Colours   as many as the terminal has, 256 or 8; none with NO_COLOR: bold, dim, underlined and reversed text then.
 * Unicode   if the locale is UTF-8. The files of the locale may be missing on this machine: then C.UTF-8 is used if it
 *           exists, else ASCII.
 * Owns      the terminal between screen_open() and screen_close(). It is restored by a fatal signal as well.
 * Errors    screen_open(): MI_ENOENT with a sentence in error.
 * Keys      escape sequences that are no keys are skipped. Pasted text is told from keys, if the terminal does.
 * Blocks    screen_show() while the terminal does not read. */
#ifndef MI_CLI_UI_SCREEN_SCREEN_H
#define MI_CLI_UI_SCREEN_SCREEN_H

#include "cli/ui/screen/press.h"
#include "cli/ui/text/cells.h"

#include <signal.h>

/* Of a whole line. */
enum screen_line {
    SCREEN_NORMAL,
    SCREEN_CHOSEN,  /* the selected line of the pane that has the focus */
    SCREEN_MARKED,  /* of another pane */
    SCREEN_HEADER,  /* of the screen */
    SCREEN_CAPTION, /* of a pane */
    SCREEN_ACTIVE,  /* of the pane that has the focus */
    SCREEN_ALARM,   /* an error message */
};

MI_MUST int screen_open(struct buf *error);
void screen_close(void); /* safe to call twice */
/* Gives the terminal to another program, and takes it back. */
void screen_leave(void);
void screen_return(void);

bool screen_is_ascii(void);
/* Takes a new size of the terminal into account. */
void screen_size(size_t *ret_width, size_t *ret_height);
/* Not 0: the size has changed since screen_size(). */
extern volatile sig_atomic_t screen_resized;

void screen_clear(void); /* before the lines of the next picture */
/* Draws a line at column x, padded with blanks to `width`. */
void screen_put(size_t x, size_t y, size_t width, enum screen_line kind, const struct cells *c);
void screen_rule(size_t x, size_t y, size_t height); /* a vertical line */
void screen_cursor(size_t x, size_t y);              /* shows the cursor in the next picture */
void screen_show(void);
void screen_repaint(void); /* the terminal's content was damaged */
/* Shows a text in the last line at once, until the next picture. It must be safe to show (base/text.h). */
void screen_notice(const char *text);

/* The next key. false: none is waiting. */
bool screen_read(struct press *ret);
/* Gives the terminal a text for the clipboard (OSC 52). false: it is longer than terminals accept. */
bool screen_copy(struct slice text);
#define SCREEN_COPY_MAX ((size_t)74994) /* bytes: base64 of it has 100,000, the limit of xterm */

#endif
