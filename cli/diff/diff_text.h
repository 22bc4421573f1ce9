/* diff_text.h - prints a comparison as text for people: a line for each row, followed by the
 * differences of the row.
 *
 * Rules     on a terminal, no line is wider than the terminal, unless a single word is.
 * Blocks    as stdout does. */
#ifndef MI_CLI_DIFF_DIFF_TEXT_H
#define MI_CLI_DIFF_DIFF_TEXT_H

#include "cli/diff/result.h"
#include "cli/frame/out.h"

/* Prints the two recordings, and how their sessions differ. title: see cli/frame/recording.h. */
void diff_text_begin(struct out *o, const struct diff *d, const struct slice title[DIFF_SIDES]);
/* details: the detail of the row's case (cli/diff/forms.h). */
void diff_text_print_row(struct out *o, const struct result *r, struct slice details);
void diff_text_end(struct out *o, const struct diff *d, const struct result_counts *c);

#endif
