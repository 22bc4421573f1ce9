/* list_out.h - a list as the output of a command: a table, or with --json or --csv lines for
 * programs.
 *
 * Owns      the output and the cells; list_out_close() frees them.
 * Errors    those of the output (cli/frame/out.h).
 * Blocks    as the output does. */
#ifndef MI_CLI_FRAME_LIST_OUT_H
#define MI_CLI_FRAME_LIST_OUT_H

#include "cli/frame/table.h"
#include "cli/settings/config.h"
#include "show/show.h"

/* The options of a list. what: text that names one row, such as "session". */
#define LIST_OPTS(what)                                                                            \
    {0, "json", NULL, NULL, "print one JSON object per line for each " what},                      \
    {                                                                                              \
        0, "csv", NULL, NULL, "print CSV, with a line for each " what                              \
    }

enum list_form { LIST_TABLE, LIST_JSON, LIST_CSV };

struct list_out {
    struct out out;
    const struct show_list *list; /* borrowed */
    enum list_form form;
    size_t n; /* number of rows so far */
    struct table table;
    struct table_column columns[TABLE_COLUMNS_MAX];
    struct buf text; /* scratch */
    /* a note about rows that are not shown, which is printed below a table on a terminal */
    struct buf more;
};

/* Returns EXIT_FINE, or EXIT_USAGE if both --json and --csv are given. */
MI_MUST int list_out_open(struct list_out *o, const struct settings *s,
                          const struct show_list *list);
/* Adds a row. Returns false if no further output is needed. */
bool list_out_add_row(void *list_out, const void *row);
/* Prints the table, unless the output is JSON or CSV. Returns the exit status. */
MI_MUST int list_out_close(struct list_out *o);

#endif
