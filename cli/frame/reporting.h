/* reporting.h - what a command that checks something prints and writes: text or JSON on stdout, and the forms of
 * report/report.h in files.
 *
 * Forms     each that was asked for. At most one of them is stdout (`-` in place of a file); if none is, the text is.
 * Text      a case is a line: cells, a sentence that is broken between words at the width of the terminal, and lines with
 *           details below it.
 * Owns      the report and the output, until reporting_close() or reporting_drop().
 * Errors    reporting_open() and reporting_close() report them on stderr.
 * Blocks    on stdout; reporting_close() on the files, too. */
#ifndef MI_CLI_FRAME_REPORTING_H
#define MI_CLI_FRAME_REPORTING_H

#include "base/json_out.h"
#include "cli/frame/out.h"
#include "cli/settings/config.h"
#include "report/report.h"

/* For the table of a command. With --format, it also has --json and --output. */
#define REPORTING_OPTS                                                                             \
    {0, "junit", "FILE", NULL, "write the result as JUnit XML; -: stdout, in place of the text"},  \
    {                                                                                              \
        0, "sarif", "FILE", NULL, "write the result as SARIF; -: stdout, in place of the text"     \
    }

struct reporting {
    struct report report;
    struct out out;
    struct json_out row;       /* of the current JSON row */
    bool text, json;           /* what stdout has; neither: a file's form */
    const char *output;        /* the file that has it instead (--output); NULL: stdout */
    const char *junit, *sarif; /* paths; NULL: not asked for */
};

/* Reads the options. json: stdout is to have JSON. EXIT_FINE, or EXIT_USAGE if two forms are to be stdout. */
MI_MUST int reporting_open(struct reporting *r, const struct settings *s, bool json);
/* Ends the output and writes the files. EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int reporting_close(struct reporting *r);
/* After a failure, also of reporting_open(): ends the output, and writes no file. Does nothing after reporting_close(). */
void reporting_drop(struct reporting *r);

/* A JSON object on a line of its own, which the caller fills. */
struct json_out *reporting_row(struct reporting *r);
void reporting_end_row(struct reporting *r);

/* ---- text ---- */

struct reporting_cell {
    const char *text; /* our own */
    size_t width;     /* of the column, in which the text is padded with blanks */
    enum out_style style;
};

/* A line of cells and a sentence. Where the terminal has no room for a sentence behind the cells, it begins on the next line. */
void reporting_line(struct out *o, const struct reporting_cell *cells, size_t n,
                    struct slice sentence);
/* Lines below it, which begin at column `indent`. One that begins with "- " or "+ " is what was removed or added. */
void reporting_details(struct out *o, struct slice lines, size_t indent);

#endif
