/* keys.h - a table of the keys and their actions, for the loop, the help page and the footer.
 *
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_KEYS_H
#define MI_CLI_UI_KEYS_H

#include "base/buf.h"
#include "cli/ui/screen/press.h"

enum action {
    ACTION_NONE,
    ACTION_UP,
    ACTION_DOWN,
    ACTION_PAGE_UP,
    ACTION_PAGE_DOWN,
    ACTION_FIRST,
    ACTION_LAST,
    ACTION_LEFT,
    ACTION_RIGHT,
    ACTION_NEXT_PANE,
    ACTION_PREVIOUS_PANE,
    ACTION_NEXT_ROW_BEFORE,
    ACTION_PREVIOUS_ROW_BEFORE,
    ACTION_GO,
    ACTION_OPEN,
    ACTION_BACK,
    ACTION_ZOOM,
    ACTION_OVERVIEW,
    ACTION_SERVERS,
    ACTION_PROBLEMS,
    ACTION_LISTS,
    ACTION_DONE,
    ACTION_SEARCH,
    ACTION_NEXT_MATCH,
    ACTION_PREVIOUS_MATCH,
    ACTION_FILTER,
    ACTION_MODE,
    ACTION_CLOCK,
    ACTION_NEXT_FAILED,
    ACTION_PREVIOUS_FAILED,
    ACTION_FOLD,
    ACTION_FOLD_ALL,
    ACTION_UNFOLD_ALL,
    ACTION_NEXT_PART,
    ACTION_PREVIOUS_PART,
    ACTION_COPY,
    ACTION_COPY_POINTER,
    ACTION_COPY_BODY,
    ACTION_PAGER,
    ACTION_PIPE,
    ACTION_EXPORT,
    ACTION_EXPORT_CALL,
    ACTION_BESIDE,
    ACTION_DIFF,
    ACTION_SEND,
    ACTION_SEND_EDITED,
    ACTION_REPAINT,
    ACTION_HELP,
    ACTION_LEAVE,
    ACTION_QUIT,
    ACTIONS
};

#define KEYS_EACH 4 /* maximum number of keys for one action */

struct keys_row {
    enum action action;
    int key[KEYS_EACH]; /* codes of the keys; a code of 0 ends the list */
    const char *names;  /* names of the keys, for the help */
    const char *what;   /* description of the action, for the help */
};

/* Returns row i, in the order of the help; NULL if there is none. A row with ACTION_NONE is a
 * heading. */
const struct keys_row *keys_get_row(size_t i);
enum action keys_find_action(int key);
struct slice keys_get_name_of_action(enum action x); /* name of the action's first key */

#endif
