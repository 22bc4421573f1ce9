/* pretty.h - prints a JSON value on indented lines.
 *
 * Numbers and strings stay as they were written, except that control characters are made visible.
 * Blocks    as stdout does. */
#ifndef MI_CLI_FRAME_PRETTY_H
#define MI_CLI_FRAME_PRETTY_H

#include "cli/frame/out.h"

/* The text must have passed json_scan(). Each line begins with `indent` blanks. */
void pretty_print(struct out *o, struct slice valid, size_t indent);

#endif
