/* table.h - aligned columns: cells are gathered, then printed as wide as they need to be.
 *
 * Owns      its cells; table_close() frees them.
 * Errors    want of memory is kept until table_print(), which then says false.
 * Blocks    table_print() as the output does (cli/out.h). */
#ifndef MI_CLI_TABLE_H
#define MI_CLI_TABLE_H

#include "cli/out.h"

struct table_column {
    const char *title;
    bool right;
    size_t max; /* widest it gets; longer cells are cut */
    int spare;  /* 0: always shown; on a narrow terminal those with the highest number go first */
};

struct table_cell {
    size_t at, n; /* in text */
    enum out_style style;
};

struct table {
    const struct table_column *columns; /* borrowed */
    size_t columns_n;
    struct buf text;          /* owned */
    struct table_cell *cells; /* owned; row after row */
    size_t cells_n, cells_cap;
    bool failed;
};

void table_open(struct table *t, const struct table_column *columns, size_t n);
void table_close(struct table *t);
void table_add(struct table *t, struct slice text, enum out_style style); /* the next cell */
/* The same from a buffer, which is emptied. */
void table_add_buf(struct table *t, struct buf *text, enum out_style style);
bool table_print(struct table *t, struct out *o);

#endif
