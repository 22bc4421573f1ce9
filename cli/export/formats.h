/* formats.h - functions that write a session in the formats of other programs (docs/export.md).
 *
 * Each function has its own file, writes the whole session, and returns 0 or a negative status, as
 * in export.h.
 * Blocks    on the vault and on the file. */
#ifndef MI_CLI_EXPORT_FORMATS_H
#define MI_CLI_EXPORT_FORMATS_H

#include "cli/export/export.h"

MI_MUST int export_jsonl(struct export *x);
MI_MUST int export_csv(struct export *x);
MI_MUST int export_otlp(struct export *x);
MI_MUST int export_markdown(struct export *x);
MI_MUST int export_html(struct export *x);
/* Appends the section of the HTML page about estimated tokens to x->b. If no tool is known, appends
 * nothing. */
MI_MUST int export_html_cost(struct export *x);

#endif
