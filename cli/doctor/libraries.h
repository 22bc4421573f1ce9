/* libraries.h - the libraries in use. */
#ifndef MI_CLI_DOCTOR_LIBRARIES_H
#define MI_CLI_DOCTOR_LIBRARIES_H

#include "base/buf.h"

/* Their names and versions: "SQLite 3.40.1, libev 4.33, …". */
void libraries_list(struct buf *b);

#endif
