#include "cli/ui/keys.h"

static const struct keys_row rows[] = {
    {ACTION_NONE, {0}, "Moving", NULL, NULL},
    {ACTION_UP, {PRESS_UP, 'k'}, "Up k", "previous row", NULL},
    {ACTION_DOWN, {PRESS_DOWN, 'j'}, "Down j", "next row", NULL},
    {ACTION_LEFT, {PRESS_LEFT, 'h'}, "Left h", "scroll left; at the edge, the pane before", NULL},
    {ACTION_RIGHT, {PRESS_RIGHT, 'l'}, "Right l", "scroll right, or the pane after", NULL},
    {ACTION_PAGE_UP,
     {PRESS_PAGE_UP, PRESS_CTRL('b'), PRESS_CTRL('u')},
     "PgUp ^B ^U",
     "previous page",
     NULL},
    {ACTION_PAGE_DOWN,
     {PRESS_PAGE_DOWN, PRESS_CTRL('f'), PRESS_CTRL('d')},
     "PgDn ^F ^D",
     "next page",
     NULL},
    {ACTION_FIRST, {PRESS_HOME, 'g'}, "Home g", "first row", NULL},
    {ACTION_LAST, {PRESS_END, 'G'}, "End G", "last row; a list follows new rows then", NULL},
    {ACTION_NEXT_PANE, {PRESS_TAB}, "Tab", "next pane", "panes"},
    {ACTION_PREVIOUS_PANE, {PRESS_BACK_TAB}, "Shift-Tab", "previous pane", NULL},
    {ACTION_OPEN, {PRESS_ENTER}, "Enter", "open a session, a call, a folded part", "open"},
    {ACTION_BACK,
     {PRESS_ESCAPE, PRESS_BACKSPACE},
     "Esc Backspace",
     "end a search, zoom, filter; the pane before",
     NULL},
    {ACTION_ZOOM, {'z'}, "z", "one pane on the whole screen, and back", NULL},

    {ACTION_OVERVIEW, {'o'}, "o", "overview of the session, and back", "overview"},

    {ACTION_NONE, {0}, "Finding", NULL, NULL},
    {ACTION_FILTER, {'f'}, "f", "filter, as `search`: status:error text", "filter"},
    {ACTION_SEARCH, {'/'}, "/", "search in the list, or in the detail", "search"},
    {ACTION_NEXT_MATCH, {'n'}, "n", "next match", NULL},
    {ACTION_PREVIOUS_MATCH, {'N'}, "N", "previous match", NULL},
    {ACTION_NEXT_FAILED, {'x'}, "x", "next failed call, or message with a finding", "next error"},
    {ACTION_PREVIOUS_FAILED, {'X'}, "X", "previous one", NULL},
    {ACTION_MODE, {'m'}, "m", "calls, or all messages", "calls/messages"},

    {ACTION_NONE, {0}, "Detail", NULL, NULL},
    {ACTION_FOLD, {PRESS_SPACE}, "Space", "fold or unfold what begins here", "fold"},
    {ACTION_FOLD_ALL, {'-'}, "-", "fold everything", NULL},
    {ACTION_UNFOLD_ALL, {'+', '='}, "+", "unfold everything", NULL},
    {ACTION_NEXT_PART, {']'}, "]", "next part: request, answer, stderr", NULL},
    {ACTION_PREVIOUS_PART, {'['}, "[", "previous part", NULL},

    {ACTION_NONE, {0}, "Using", NULL, NULL},
    {ACTION_COPY, {'y'}, "y", "copy the value to the terminal's clipboard", "copy"},
    {ACTION_COPY_POINTER, {'p'}, "p", "copy the JSON Pointer of the value", NULL},
    {ACTION_COPY_BODY, {'Y'}, "Y", "copy the whole message", NULL},
    {ACTION_EXPORT, {'e'}, "e", "export the session to a file", "export"},
    {ACTION_EXPORT_CALL, {'E'}, "E", "export the call to a file, as JSON lines", NULL},
    {ACTION_BESIDE, {'c'}, "c", "compare two calls: c on each of them", NULL},
    {ACTION_DIFF, {'d'}, "d", "compare the session with another recording", "compare"},
    {ACTION_SEND, {'r'}, "r", "send the request again, to a new server", "send again"},
    {ACTION_SEND_EDITED, {'R'}, "R", "edit the request, then send it", NULL},
    {ACTION_REPAINT, {PRESS_CTRL('l')}, "^L", "draw the screen again", NULL},
    {ACTION_HELP, {'?'}, "?", "this page", "help"},
    {ACTION_QUIT, {'q'}, "q", "quit", "quit"},
};

const struct keys_row *keys_at(size_t i)
{
    return i < MI_COUNT(rows) ? &rows[i] : NULL;
}

enum action keys_action(int key)
{
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        for (size_t k = 0; k < KEYS_EACH; k++)
            if (rows[i].key[k] == key && key != 0)
                return rows[i].action;
    return ACTION_NONE;
}
