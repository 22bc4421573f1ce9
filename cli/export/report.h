/* report.h - the page that `export --format html` fills: cli/export/report.html, embedded by the Makefile.
 *
 * It contains three marks, @TITLE@, @COST@ and @DATA@, in this order. It is not NUL-terminated. */
#ifndef MI_CLI_EXPORT_REPORT_H
#define MI_CLI_EXPORT_REPORT_H

#include <stddef.h>

extern const char report_page[];
extern const size_t report_page_n;

#endif
