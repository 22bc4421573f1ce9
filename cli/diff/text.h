/* text.h - a comparison as text for people: a line for each row, and its differences below it.
 *
 * Rules     on a terminal no line is wider than the terminal, unless a single word is.
 * Blocks    as stdout does. */
#ifndef MI_CLI_DIFF_TEXT_H
#define MI_CLI_DIFF_TEXT_H

#include "cli/diff/result.h"
#include "cli/frame/out.h"

/* The two recordings, and what the sessions differ in. title: as in cli/frame/recording.h. */
void diff_text_begin(struct out *o, const struct diff *d, const struct slice title[DIFF_SIDES]);
/* details: of its case (cli/diff/forms.h). */
void diff_text_row(struct out *o, const struct result *r, struct slice details);
void diff_text_end(struct out *o, const struct diff *d, const struct result_counts *c);

#endif
