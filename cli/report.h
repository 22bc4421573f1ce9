/* report.h - the page that `export --format html` fills: cli/report.html, made into bytes by the Makefile.
 *
 * It has two marks, @TITLE@ and @DATA@, in this order. It is static, and not NUL-ended. */
#ifndef MI_CLI_REPORT_H
#define MI_CLI_REPORT_H

#include <stddef.h>

extern const char report_page[];
extern const size_t report_page_n;

#endif
