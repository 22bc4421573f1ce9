/* report.h - the page that `export --format html` fills. The Makefile embeds it from
 * cli/export/report.html.
 *
 * The page contains three marks, @TITLE@, @COST@ and @DATA@, in this order. The text does not end
 * in a NUL. */
#ifndef MI_CLI_EXPORT_REPORT_H
#define MI_CLI_EXPORT_REPORT_H

#include <stddef.h>

extern const char report_page[];
extern const size_t report_page_n;

#endif
