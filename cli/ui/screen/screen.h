/* screen.h - the terminal: its size, its keys, and lines of text in styles. Only this folder uses
 * ncurses.
 *
 * Text      only lines that cells.h has made safe are shown. If the C library does not know the
 *           width of a character, or has another width for it, the character is shown as `?`.
 * Colours   as many as the terminal has: 256 or 8. With NO_COLOR there are none; text is then
 *           bold, dim, underlined or reversed.
 * Unicode   used if the locale is UTF-8. If this machine does not have the files of the locale,
 *           C.UTF-8 is used. If that does not exist either, ASCII is used.
 * Owns      the terminal between screen_open() and screen_close(). A fatal signal also restores
 *           the terminal.
 * Errors    screen_open(): MI_ENOENT; `error` then has a sentence.
 * Keys      escape sequences that are not keys are skipped. Pasted text is distinguished from keys
 *           if the terminal marks it.
 * Blocks    screen_show_changes() while the terminal does not read. */
#ifndef MI_CLI_UI_SCREEN_SCREEN_H
#define MI_CLI_UI_SCREEN_SCREEN_H

#include "cli/ui/screen/press.h"
#include "cli/ui/text/cells.h"

#include <signal.h>

/* Kinds of lines. A kind applies to a whole line. */
enum screen_line {
    SCREEN_NORMAL,
    SCREEN_CHOSEN,  /* the selected line of the pane that has the focus */
    SCREEN_MARKED,  /* the selected line of another pane */
    SCREEN_HEADER,  /* the header of the screen */
    SCREEN_CAPTION, /* the title line of a pane */
    SCREEN_ACTIVE,  /* the title line of the pane that has the focus */
    SCREEN_ALARM,   /* an error message */
};

MI_MUST int screen_open(struct buf *error);
void screen_close(void); /* safe to call twice */
/* screen_suspend() gives the terminal to another program; screen_resume() takes it back. */
void screen_suspend(void);
void screen_resume(void);

bool screen_is_ascii(void);
/* Reads the size of the terminal, which may have changed. */
void screen_get_size(size_t *ret_width, size_t *ret_height);
/* Not 0 if the size has changed since the last screen_get_size(). */
extern volatile sig_atomic_t screen_resized;

void screen_clear(void); /* begins a new picture: call before its lines are drawn */
/* Draws a line at column x of screen line y, padded with blanks to `width` columns. */
void screen_put_cells(size_t x, size_t y, size_t width, enum screen_line kind,
                      const struct cells *c);
void screen_draw_vertical_line(size_t x, size_t y, size_t height); /* draws a vertical line */
/* Shows the cursor at column x of screen line y. */
void screen_set_cursor(size_t x, size_t y);
void screen_show_changes(void); /* sends what was drawn since the last call to the terminal */
void screen_repaint(void); /* draws everything again, after the terminal's content was damaged */
/* Shows a text in the last line at once. The text stays there until screen_show_changes() is
 * called. The text must be safe to show (base/text.h). */
void screen_show_notice(const char *text);

/* Reads the next key. Returns false if no key is waiting. */
bool screen_read_input(struct press *ret);
/* Copies a text to the terminal's clipboard (OSC 52). Returns false if the text is longer than
 * terminals accept. */
bool screen_copy_to_clipboard(struct slice text);
/* Maximum length of a text for screen_copy_to_clipboard(), in bytes. As base64 in a control
 * sequence, such a text has 100,000 bytes, the limit of xterm. */
#define SCREEN_COPY_MAX ((size_t)74994)

#endif
