/* libraries.h - which libraries the program uses. */
#ifndef MI_CLI_DOCTOR_LIBRARIES_H
#define MI_CLI_DOCTOR_LIBRARIES_H

#include "base/buf.h"

/* Appends the names and versions of the libraries: "SQLite 3.40.1, libev 4.33, …". */
void libraries_append_versions(struct buf *b);

#endif
