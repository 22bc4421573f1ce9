#include "cli/ui/keys.h"

static const struct keys_row rows[] = {
    {ACTION_NONE, {0}, "Moving", NULL},
    {ACTION_UP, {PRESS_UP, 'k', PRESS_CTRL('p')}, "Up k ^P", "previous row"},
    {ACTION_DOWN, {PRESS_DOWN, 'j', PRESS_CTRL('n')}, "Down j ^N", "next row"},
    {ACTION_LEFT,
     {PRESS_LEFT, 'h', '<'},
     "Left h <",
     "scroll left; at the edge, the previous pane"},
    {ACTION_RIGHT, {PRESS_RIGHT, 'l', '>'}, "Right l >", "scroll right, or go to the next pane"},
    {ACTION_PAGE_UP,
     {PRESS_PAGE_UP, 'b', PRESS_CTRL('b'), PRESS_CTRL('u')},
     "PgUp b ^B ^U",
     "previous page"},
    {ACTION_PAGE_DOWN,
     {PRESS_PAGE_DOWN, PRESS_CTRL('f'), PRESS_CTRL('d')},
     "PgDn ^F ^D",
     "next page; also Space, except in a detail"},
    {ACTION_FIRST, {PRESS_HOME, 'g'}, "Home g", "first row"},
    {ACTION_LAST, {PRESS_END, 'G', 'F'}, "End G F", "last row; the list then follows new rows"},
    {ACTION_NEXT_PANE, {PRESS_TAB}, "Tab", "next pane"},
    {ACTION_PREVIOUS_PANE, {PRESS_BACK_TAB}, "Shift-Tab", "previous pane"},
    {ACTION_NEXT_ROW_BEFORE, {'J'}, "J", "next call or session, in the previous pane"},
    {ACTION_PREVIOUS_ROW_BEFORE, {'K'}, "K", "previous call or session"},
    {ACTION_GO, {':'}, ": 1...9", "go to a session, message, line; :q quits"},
    {ACTION_OPEN, {PRESS_ENTER}, "Enter", "open a session, a call, a folded part"},
    {ACTION_BACK,
     {PRESS_ESCAPE, PRESS_BACKSPACE},
     "Esc Backspace",
     "leave search, zoom, filter, pane or view"},
    {ACTION_ZOOM, {'z'}, "z", "one pane on the whole screen, and back"},
    {ACTION_OVERVIEW, {'o'}, "o", "overview of the session, and back"},
    {ACTION_SERVERS, {'S'}, "S", "all running servers, and back"},
    {ACTION_PROBLEMS, {'!'}, "!", "problems that need a person, and back"},
    {ACTION_LISTS, {'L'}, "L", "the next list, such as servers, problems"},
    {ACTION_DONE, {'D'}, "D", "remove a solved problem from its list"},

    {ACTION_NONE, {0}, "Finding", NULL},
    {ACTION_FILTER, {'f', '&', PRESS_F4}, "f & F4", "filter as in `search`: status:error text"},
    {ACTION_SEARCH, {'/', PRESS_F3}, "/ F3", "search in the list or page that is active"},
    {ACTION_NEXT_MATCH, {'n'}, "n", "next match"},
    {ACTION_PREVIOUS_MATCH, {'N'}, "N", "previous match"},
    {ACTION_NEXT_FAILED, {'x'}, "x", "next failed call, or message with a finding"},
    {ACTION_PREVIOUS_FAILED, {'X'}, "X", "previous one"},
    {ACTION_MODE, {'m'}, "m", "show only calls, or all messages"},
    {ACTION_CLOCK, {'t'}, "t", "show time of day, or time since the start"},

    {ACTION_NONE, {0}, "Detail", NULL},
    {ACTION_FOLD, {PRESS_SPACE}, "Space", "fold or unfold the part that begins here"},
    {ACTION_FOLD_ALL, {'-'}, "-", "fold everything"},
    {ACTION_UNFOLD_ALL, {'+', '='}, "+", "unfold everything"},
    {ACTION_NEXT_PART, {']'}, "]", "next part: request, answer, stderr"},
    {ACTION_PREVIOUS_PART, {'['}, "[", "previous part"},

    {ACTION_NONE, {0}, "Using", NULL},
    {ACTION_COPY, {'y'}, "y", "copy the value to the terminal's clipboard"},
    {ACTION_COPY_POINTER, {'p'}, "p", "copy the JSON Pointer of the value"},
    {ACTION_COPY_BODY, {'Y'}, "Y", "copy the whole message"},
    {ACTION_PAGER, {'v'}, "v", "show the value in $PAGER or $EDITOR"},
    {ACTION_PIPE, {'|'}, "|", "give the value to a command, such as jq"},
    {ACTION_EXPORT, {'e'}, "e", "export the session to a file"},
    {ACTION_EXPORT_CALL, {'E'}, "E", "export the call to a file, as JSON lines"},
    {ACTION_BESIDE, {'c'}, "c", "compare two calls: c on each of them"},
    {ACTION_DIFF, {'d'}, "d", "compare the session with another recording"},
    {ACTION_SEND, {'r'}, "r", "send the request again, to a new server"},
    {ACTION_SEND_EDITED, {'R'}, "R", "edit the request; send it if it changed"},
    {ACTION_REPAINT,
     {PRESS_CTRL('l'), PRESS_CTRL('r'), PRESS_F5},
     "^L ^R F5",
     "draw the screen again"},
    {ACTION_HELP, {'?', PRESS_F1}, "? F1", "this page"},
    {ACTION_LEAVE, {'q'}, "q", "go back one view; quit from the first one"},
    {ACTION_QUIT, {'Q', PRESS_F10}, "Q F10", "quit"},
};

const struct keys_row *keys_get_row(size_t i)
{
    return i < MI_COUNT(rows) ? &rows[i] : NULL;
}

enum action keys_find_action(int key)
{
    for (size_t i = 0; i < MI_COUNT(rows); i++)
        for (size_t k = 0; k < KEYS_EACH; k++)
            if (rows[i].key[k] == key && key != 0)
                return rows[i].action;
    return ACTION_NONE;
}

struct slice keys_get_name_of_action(enum action x)
{
    size_t i = 0;
    while (i + 1 < MI_COUNT(rows) && rows[i].action != x)
        i++;
    return (struct slice){rows[i].names, strcspn(rows[i].names, " ")};
}
