/* reporting.h - the output of a command that checks something: text or JSON on stdout, and the
 * forms of report/report.h in files.
 *
 * Forms     all forms that the options request. At most one of them goes to stdout (`-` in place
 *           of a file). If none does, stdout gets the text, unless --output names a file.
 * Text      a case is a line of cells and a sentence, which is wrapped between words at the width
 *           of the terminal, with lines of details below it.
 * Owns      the report and the output, until reporting_close() or reporting_close_without_files().
 * Errors    reporting_open() and reporting_close() report them on stderr.
 * Blocks    on stdout; reporting_close() also on the files. */
#ifndef MI_CLI_FRAME_REPORTING_H
#define MI_CLI_FRAME_REPORTING_H

#include "base/json_out.h"
#include "cli/frame/out.h"
#include "cli/settings/config.h"
#include "report/report.h"

/* An entry for the option table of a command. A command with --format must also have --json and
 * --output. */
#define REPORTING_OPTS                                                                             \
    {0, "junit", "FILE", NULL, "write the result as JUnit XML; -: stdout, in place of the text"},  \
    {                                                                                              \
        0, "sarif", "FILE", NULL, "write the result as SARIF; -: stdout, in place of the text"     \
    }

struct reporting {
    struct report report;
    struct out out;
    struct json_out row; /* the current JSON row */
    /* text: the output is text; json: it is JSON; both false: it is JUnit or SARIF */
    bool text, json;
    /* file that gets the output instead of stdout (--output); NULL: stdout */
    const char *output;
    const char *junit, *sarif; /* paths of the report files; NULL: not requested */
};

/* Reads the options. json: stdout gets JSON. Returns EXIT_FINE, or EXIT_USAGE if the options send
 * two forms to stdout. */
MI_MUST int reporting_open(struct reporting *r, const struct settings *s, bool json);
/* Ends the output and writes the files. Returns EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int reporting_close(struct reporting *r);
/* Ends the output without writing files. Call it after a failure, including a failure of
 * reporting_open(). Does nothing after reporting_close(). */
void reporting_close_without_files(struct reporting *r);

/* Begins a JSON object on its own line. The caller adds its members, then calls
 * reporting_end_row(). */
struct json_out *reporting_begin_row(struct reporting *r);
void reporting_end_row(struct reporting *r);

/* ---- text ---- */

struct reporting_cell {
    const char *text; /* text of this program, not from a recording */
    size_t width;     /* width of the column; the text is padded with blanks */
    enum out_style style;
};

/* Prints a line of cells and a sentence. If the terminal has no room for a sentence after the
 * cells, the sentence begins on the next line. */
void reporting_print_line(struct out *o, const struct reporting_cell *cells, size_t n,
                          struct slice sentence);
/* Prints lines of details, indented to column `indent`. Lines that begin with "- " or "+ " are
 * coloured as removed or added. */
void reporting_print_details(struct out *o, struct slice lines, size_t indent);

#endif
