/* cell.h - a value in a row, with the types of SQLite.
 *
 * Owns      nothing: the text is borrowed. */
#ifndef MI_MODEL_CELL_H
#define MI_MODEL_CELL_H

#include "base/base.h"

enum cell_type { CELL_NULL, CELL_INT, CELL_TEXT, CELL_BLOB };

struct cell {
    enum cell_type type;
    int64_t number;    /* CELL_INT */
    struct slice text; /* CELL_TEXT, CELL_BLOB */
};

#endif
