/* table.h - a table with aligned columns. Cells are collected, and the widest cell of a column
 * determines its width.
 *
 * Owns      its cells; table_close() frees them.
 * Errors    sticky: after a lack of memory table_print() returns false.
 * Blocks    table_print() as the output does (cli/frame/out.h). */
#ifndef MI_CLI_FRAME_TABLE_H
#define MI_CLI_FRAME_TABLE_H

#include "cli/frame/out.h"

#include <limits.h>

struct table_column {
    const char *title;
    bool right;
    size_t max; /* longer cells are truncated on a terminal */
    /* What happens on a narrow terminal; in a pipe all columns are shown in full. 0: the column is
     * always shown. Above 0: the column may be hidden: first columns without a value ("-" in each
     * row), then those with the highest number. A hidden column with TABLE_ABOVE is printed as a
     * line above its rows. Below 0: before a column is hidden, cells are truncated to -spare
     * columns. If the row is still too wide, the widest text columns are truncated; columns with a
     * value below 0 are truncated last. */
    int spare;
};

#define TABLE_COLUMNS_MAX 16
/* Value of `spare`: if the column is hidden, it is printed as a line above its rows. At most one
 * column of a table may have this value, and rows with the same text in it must be adjacent. */
#define TABLE_ABOVE INT_MAX
struct table_cell {
    size_t at, n; /* offset and length of the text in table.text */
    enum out_style style;
};

struct table {
    const struct table_column *columns; /* borrowed */
    size_t columns_n;
    struct buf text;          /* owned */
    struct table_cell *cells; /* owned; cells, row by row */
    size_t cells_n, cells_cap;
    bool failed;
};

void table_open(struct table *t, const struct table_column *columns, size_t n);
void table_close(struct table *t);
void table_add_cell(struct table *t, struct slice text,
                    enum out_style style); /* adds the next cell */
/* Adds the text of a buffer as the next cell, and clears the buffer. */
void table_add_buf(struct table *t, struct buf *text, enum out_style style);
void table_add_int(struct table *t, int64_t n, enum out_style style);
bool table_print(struct table *t, struct out *o);

#endif
