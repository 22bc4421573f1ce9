/* pretty.h - a JSON value over several indented lines, for people.
 *
 * Numbers and strings stay as they were written, but for what would act on a terminal.
 * Blocks    as stdout does. */
#ifndef MI_CLI_PRETTY_H
#define MI_CLI_PRETTY_H

#include "cli/out.h"

/* The text must have passed json_scan(). Each line begins with `indent` blanks. */
void pretty_print(struct out *o, struct slice valid, size_t indent);

#endif
