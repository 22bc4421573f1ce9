/* prompt.h - a line that is typed: its text, the keys that edit it, and the lines before it.
 *
 * Limits    PROMPT_MAX bytes; more is not taken. PROMPT_KEPT lines.
 * Owns      the lines of a history; prompt_forget() frees them.
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
    size_t n, at;              /* at: the cursor */
    bool proposed; /* it was not edited yet: the first character that is typed replaces it */
    size_t back;   /* it is this line of the history, 1 the last one; 0: it is not */
    char typed[PROMPT_MAX + 1]; /* what was there before; back > 0 */
};

struct prompt_history {
    char *line[PROMPT_KEPT]; /* owned; the newest first */
    size_t n;
};

void prompt_set(struct prompt *p, const char *text); /* proposes it; the cursor is at the end */
/* Esc, and Backspace in an empty line, cancel. */
enum prompt_result prompt_press(struct prompt *p, int key);

/* Adds a line, unless it is empty; without memory for it, it is not added. */
void prompt_keep(struct prompt_history *h, const char *text);
/* Replaces the text by the line before or after it in the history; after the last one by what was typed. */
void prompt_recall(struct prompt *p, const struct prompt_history *h, bool older);
void prompt_forget(struct prompt_history *h);

#endif
