/* prompt.h - an input line: its text, the keys that edit it, and its history.
 *
 * Limits    PROMPT_MAX bytes; further characters are ignored. A history has PROMPT_KEPT lines.
 * Owns      the lines of a history; prompt_history_clear() frees them.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_PROMPT_H
#define MI_CLI_UI_PROMPT_H

#include "base/base.h"
#include "cli/ui/screen/press.h"

#define PROMPT_MAX 1000
#define PROMPT_KEPT 32

enum prompt_result { PROMPT_EDITED, PROMPT_DONE, PROMPT_CANCELLED };

struct prompt {
    char text[PROMPT_MAX + 1]; /* UTF-8 */
    size_t n, at;              /* at: offset of the cursor */
    /* the text was proposed by ui: the first typed character replaces all of it */
    bool proposed;
    /* 1 + index in the history of the line that is shown; 0: the line is not from the history */
    size_t back;
    /* if back > 0: the text that the user had typed before moving to a line of the history */
    char typed[PROMPT_MAX + 1];
};

struct prompt_history {
    char *line[PROMPT_KEPT]; /* owned; the lines of the history, the newest first */
    size_t n;
};

/* Puts a proposed text into the line, with the cursor at the end of the text. */
void prompt_set_text(struct prompt *p, const char *text);
/* Handles a key. Esc cancels the input, and so does Backspace in an empty line. */
enum prompt_result prompt_handle_key(struct prompt *p, int key);

/* Adds a line to the history, unless the line is empty or memory is short. */
void prompt_add_to_history(struct prompt_history *h, const char *text);
/* Replaces the text by the next older or newer line of the history. The text that was typed counts
 * as newer than the newest line. */
void prompt_show_history_line(struct prompt *p, const struct prompt_history *h, bool older);
void prompt_history_clear(struct prompt_history *h);

#endif
