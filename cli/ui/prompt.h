/* prompt.h - a line that is typed: its text, and the keys that edit it.
 *
 * Limits    PROMPT_MAX bytes; more is not taken.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_PROMPT_H
#define MI_CLI_UI_PROMPT_H

#include "base/base.h"
#include "cli/ui/screen/press.h"

#define PROMPT_MAX 1000

enum prompt_result { PROMPT_EDITED, PROMPT_DONE, PROMPT_CANCELLED };

struct prompt {
    char text[PROMPT_MAX + 1]; /* UTF-8 */
    size_t n, at;              /* at: the cursor */
    bool proposed; /* it was not edited yet: the first character that is typed replaces it */
};

void prompt_set(struct prompt *p, const char *text); /* proposes it; the cursor is at the end */
/* Esc, and Backspace in an empty line, cancel. */
enum prompt_result prompt_press(struct prompt *p, int key);

#endif
