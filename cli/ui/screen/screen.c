#include "cli/ui/screen/screen.h"

#include "base/base64.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/write_all.h"
#include "cli/ui/screen/paint.h"
#include "cli/ui/screen/rescue.h"
#include "cli/ui/screen/sequence.h"

#include <curses.h>
#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

/* maximum number of characters in a cell: one character and its combining characters */
#define MARKS 4

volatile sig_atomic_t screen_resized;

static struct {
    SCREEN *terminal; /* owned; NULL: the screen is not open */
    WINDOW *keys;     /* owned; a pad, because reading a key from a pad draws nothing */
    bool ascii;
    bool shows_cursor;
    size_t cursor_x, cursor_y;
    bool pasting;
    int64_t pasted_us; /* time at which the last pasted character was read */
    struct sequence sequence;
} screen;

#define KEY_PASTE (KEY_MAX + 1)
#define KEY_PASTE_END (KEY_MAX + 2)
/* a paste also ends after a pause of this length, because its end sequence may be lost */
#define PASTE_PAUSE_US 1000000

/* ---- opening ---- */

/* Turns bracketed paste on or off. If it is on, the terminal marks both ends of pasted text. */
static void set_bracketed_paste(bool on)
{
    int st = write_all(STDOUT_FILENO, slice_of(on ? "\033[?2004h" : "\033[?2004l"));
    (void)st; /* if this fails, pasted text is treated as typed keys */
}

static void on_resize(int number)
{
    (void)number;
    screen_resized = 1;
}

static bool screen_has_variable(const char *variable)
{
    const char *v = getenv(variable);
    return v != NULL && v[0] != '\0';
}

/* Whether the name of the locale ends with UTF-8, as in `de_DE.UTF-8`. */
static bool locale_uses_utf8(void)
{
    const char *variable = screen_has_variable("LC_ALL")     ? "LC_ALL"
                           : screen_has_variable("LC_CTYPE") ? "LC_CTYPE"
                                                             : "LANG";
    const char *charset = screen_has_variable(variable) ? strchr(getenv(variable), '.') : NULL;
    return charset != NULL &&
           (strncasecmp(charset, ".UTF-8", 6) == 0 || strncasecmp(charset, ".UTF8", 5) == 0);
}

/* Sets the user's locale. If this machine does not have it, and its name ends with UTF-8, sets
 * C.UTF-8 instead. */
static void set_locale(void)
{
    bool known = setlocale(LC_CTYPE, "") != NULL;
    if (!known && locale_uses_utf8())
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    screen.ascii = strcmp(nl_langinfo(CODESET), "UTF-8") != 0;
}

static int fail_no_terminal(struct buf *error, const char *why)
{
    buf_clear(error);
    buf_adds(error, why);
    buf_adds(error, "; `show` and `tail` print the same to any output");
    return MI_ENOENT;
}

int screen_open(struct buf *error)
{
    const char *term = getenv("TERM");
    if (isatty(STDIN_FILENO) != 1 || isatty(STDOUT_FILENO) != 1)
        return fail_no_terminal(error,
                                "ui needs a terminal: its standard input and output must be one");
    if (term == NULL || term[0] == '\0')
        return fail_no_terminal(error,
                                "TERM is not set: set it to the type of this terminal, such as "
                                "xterm-256color");
    if (!rescue_prepare_terminal_reset()) {
        buf_clear(error);
        buf_adds(error, "this machine does not describe the terminal TERM=");
        text_append_visible(error, slice_of(term));
        buf_adds(error,
                 ", or this terminal cannot move its cursor: set TERM to a type that the machine "
                 "describes, such as xterm or vt100, or install the package ncurses-term");
        buf_adds(error, "; `show` and `tail` print the same to any output");
        return MI_ENOENT;
    }
    set_locale();
    screen.terminal = newterm(NULL, stdout, stdin);
    if (screen.terminal == NULL) {
        rescue_close();
        return fail_no_terminal(error, "cannot set up this terminal");
    }
    struct sigaction a = {.sa_handler = on_resize, .sa_flags = 0};
    sigaction(SIGWINCH, &a, NULL);
    set_escdelay(25);
    cbreak();
    noecho();
    nonl();
    screen.keys = newpad(1, 1);
    if (screen.keys == NULL) {
        screen_close();
        return fail_no_terminal(error, "cannot set up this terminal");
    }
    keypad(screen.keys, TRUE);
    nodelay(screen.keys, TRUE);
    leaveok(stdscr, FALSE);
    mouseinterval(0);
    mousemask(BUTTON1_PRESSED | BUTTON4_PRESSED | BUTTON5_PRESSED, NULL);
    curs_set(0);
    define_key("\033[200~", KEY_PASTE);
    define_key("\033[201~", KEY_PASTE_END);
    set_bracketed_paste(true);
    paint_open();
    return 0;
}

void screen_close(void)
{
    if (screen.terminal == NULL)
        return;
    set_bracketed_paste(false);
    endwin();
    if (screen.keys != NULL)
        delwin(screen.keys);
    screen.keys = NULL;
    delscreen(screen.terminal);
    screen.terminal = NULL;
    rescue_close();
}

void screen_suspend(void)
{
    set_bracketed_paste(false);
    endwin();
}

void screen_resume(void)
{
    screen_resized = 1;
    clearok(curscr, TRUE);
    refresh();
    set_bracketed_paste(true);
}

bool screen_is_ascii(void)
{
    return screen.ascii;
}

void screen_get_size(size_t *ret_width, size_t *ret_height)
{
    struct winsize w;
    if (screen_resized != 0) {
        screen_resized = 0;
        if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 && w.ws_row > 0)
            resizeterm(w.ws_row, w.ws_col);
    }
    *ret_width = (size_t)COLS;
    *ret_height = (size_t)LINES;
}

/* ---- drawing ---- */

void screen_clear(void)
{
    erase();
    screen.shows_cursor = false;
}

static void screen_put_char(int x, int y, const wchar_t *text, attr_t attribute, short pair)
{
    cchar_t c;
    if (setcchar(&c, text, attribute, pair, NULL) == OK)
        mvadd_wch(y, x, &c);
}

/* Copies the first character of s and its combining characters to `text`. Returns how many bytes of
 * s these characters take. */
static size_t screen_copy_first_char(struct slice s, wchar_t text[MARKS + 1], size_t *ret_columns)
{
    size_t len = text_utf8_len(s.p, s.n), marks = 1;
    if (len == 0) { /* cannot happen: the text is valid UTF-8 */
        text[0] = L'?', text[1] = 0;
        *ret_columns = 1;
        return 1;
    }
    size_t columns = text_columns_of_char(s.p, len), i = len;
    text[0] = (wchar_t)text_utf8_code(s.p, len);
    bool known = wcwidth(text[0]) == (int)columns && columns > 0;
    while (i < s.n && (len = text_utf8_len(s.p + i, s.n - i)) > 0 &&
           text_columns_of_char(s.p + i, len) == 0) {
        wchar_t mark = (wchar_t)text_utf8_code(s.p + i, len);
        if (marks < MARKS && wcwidth(mark) == 0)
            text[marks++] = mark;
        i += len;
    }
    text[marks] = 0;
    if (!known)
        text[0] = L'?', text[1] = 0;
    *ret_columns = columns;
    return i;
}

/* Draws a text at column x. Returns the column after the text. */
static size_t screen_draw_text_at(size_t x, size_t y, struct slice s, attr_t attribute, short pair)
{
    wchar_t text[MARKS + 1];
    size_t columns = 0;
    for (size_t i = 0; i < s.n; x += columns) {
        i += screen_copy_first_char((struct slice){s.p + i, s.n - i}, text, &columns);
        screen_put_char((int)x, (int)y, text, attribute, pair);
        if (columns == 2 && text[0] == L'?')
            screen_put_char((int)x + 1, (int)y, L"?", attribute, pair);
    }
    return x;
}

void screen_put_cells(size_t x, size_t y, size_t width, enum screen_line kind,
                      const struct cells *c)
{
    attr_t attribute;
    short pair;
    size_t at = x;
    for (size_t i = 0; i < c->n; i++) {
        paint_find_attributes(kind, c->span[i].style, c->span[i].found, &attribute, &pair);
        at = screen_draw_text_at(at, y, cells_get_styled_text(c, i), attribute, pair);
    }
    paint_find_attributes(kind, CELLS_PLAIN, false, &attribute, &pair);
    for (; at < x + width; at++)
        screen_put_char((int)at, (int)y, L" ", attribute, pair);
}

void screen_draw_vertical_line(size_t x, size_t y, size_t height)
{
    attr_t attribute;
    short pair;
    paint_find_attributes(SCREEN_NORMAL, CELLS_DIM, false, &attribute, &pair);
    for (size_t i = 0; i < height; i++)
        screen_put_char((int)x, (int)(y + i), screen.ascii ? L"|" : L"\u2502", attribute, pair);
}

void screen_set_cursor(size_t x, size_t y)
{
    screen.shows_cursor = true;
    screen.cursor_x = x;
    screen.cursor_y = y;
}

void screen_show_changes(void)
{
    curs_set(screen.shows_cursor ? 1 : 0);
    if (screen.shows_cursor)
        move((int)screen.cursor_y, (int)screen.cursor_x);
    refresh();
}

void screen_show_notice(const char *text)
{
    WINDOW *line = newwin(1, 0, LINES - 1, 0);
    if (line == NULL)
        return;
    (void)mvwaddnstr(line, 0, 1, text, COLS - 2);
    (void)wrefresh(line);
    delwin(line);
    touchline(stdscr, LINES - 1, 1);
}

void screen_repaint(void)
{
    clearok(curscr, TRUE);
}

/* ---- keys ---- */

static const struct {
    int code;
    int key; /* enum press_key */
} keys[] = {
    {KEY_UP, PRESS_UP},       {KEY_DOWN, PRESS_DOWN},     {KEY_LEFT, PRESS_LEFT},
    {KEY_RIGHT, PRESS_RIGHT}, {KEY_PPAGE, PRESS_PAGE_UP}, {KEY_NPAGE, PRESS_PAGE_DOWN},
    {KEY_HOME, PRESS_HOME},   {KEY_END, PRESS_END},       {KEY_BACKSPACE, PRESS_BACKSPACE},
    {KEY_DC, PRESS_DELETE},   {KEY_BTAB, PRESS_BACK_TAB}, {KEY_ENTER, PRESS_ENTER},
    {KEY_F(1), PRESS_F1},     {KEY_F(3), PRESS_F3},       {KEY_F(4), PRESS_F4},
    {KEY_F(5), PRESS_F5},     {KEY_F(10), PRESS_F10},
};

static void read_mouse_event(struct press *ret)
{
    MEVENT e;
    ret->key = PRESS_OTHER;
    if (getmouse(&e) != OK || e.x < 0 || e.y < 0)
        return;
    ret->x = (size_t)e.x;
    ret->y = (size_t)e.y;
    if ((e.bstate & BUTTON4_PRESSED) != 0)
        ret->key = PRESS_WHEEL_UP;
    else if ((e.bstate & BUTTON5_PRESSED) != 0)
        ret->key = PRESS_WHEEL_DOWN;
    else if ((e.bstate & BUTTON1_PRESSED) != 0)
        ret->key = PRESS_CLICK;
}

/* Called after an Esc. Returns whether the next character continues an escape sequence; if not, a
 * person has pressed the key Esc. curses reports the Esc of an unknown sequence at once, and a
 * person does not type the next key that fast. */
static bool esc_begins_sequence(void)
{
    wint_t c;
    int kind = wget_wch(screen.keys, &c);
    if (kind == KEY_CODE_YES)
        ungetch((int)c);
    if (kind != OK)
        return false;
    if (sequence_begin(&screen.sequence, c, clock_mono_us()))
        return true;
    unget_wch((wchar_t)c);
    return false;
}

/* Handles input from curses that is not a key: the start or end of a paste, a resize, or part of an
 * escape sequence. Returns false for a key, and if no input is waiting. */
static bool handle_input_without_key(int kind, wint_t c)
{
    if (kind == OK && sequence_add_char(&screen.sequence, c, clock_mono_us()))
        return true;
    if (kind == OK && c == PRESS_ESCAPE) {
        bool begun = esc_begins_sequence();
        /* Terminals do not paste Esc. If this Esc begins no sequence, a person has typed it, so
         * the end of the paste was lost. */
        screen.pasting &= begun;
        return begun;
    }
    if (kind == OK)
        return false;
    if (kind == ERR || (c != KEY_RESIZE && c != KEY_PASTE && c != KEY_PASTE_END))
        return false;
    if (c != KEY_RESIZE)
        screen.pasting = c == KEY_PASTE;
    screen.pasted_us = clock_mono_us();
    return true;
}

bool screen_read_input(struct press *ret)
{
    wint_t c;
    int kind;
    *ret = (struct press){.key = PRESS_OTHER};
    do
        kind = wget_wch(screen.keys, &c);
    while (handle_input_without_key(kind, c));
    if (kind == ERR)
        return false;
    int64_t now_us = clock_mono_us();
    screen.pasting &= now_us - screen.pasted_us < PASTE_PAUSE_US;
    screen.pasted_us = now_us;
    ret->pasted = screen.pasting;
    if (kind != KEY_CODE_YES) {
        ret->key = c == '\n' ? PRESS_ENTER : c == 0x7F || c == 0x08 ? PRESS_BACKSPACE : (int)c;
        return true;
    }
    if (c == KEY_MOUSE) {
        read_mouse_event(ret);
        return true;
    }
    for (size_t i = 0; i < MI_COUNT(keys); i++)
        if (keys[i].code == (int)c)
            ret->key = keys[i].key;
    return true;
}

/* ---- the clipboard ---- */

bool screen_copy_to_clipboard(struct slice text)
{
    struct buf b = {0};
    if (text.n > SCREEN_COPY_MAX)
        return false;
    buf_adds(&b, "\033]52;c;");
    base64_encode(&b, text.p, text.n);
    buf_addc(&b, '\a');
    bool ok = !b.failed && write_all(STDOUT_FILENO, buf_slice(&b)) == 0;
    buf_close(&b);
    return ok;
}
