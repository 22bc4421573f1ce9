/* version.h - `mcp-interposer --version`: identifies the program in reports of errors. */
#ifndef MI_CLI_VERSION_H
#define MI_CLI_VERSION_H

#include "base/buf.h"

/* The commit that the program was built from (packaging/commit). The Makefile generates the
 * definition. */
extern const char version_commit[];

/* Appends four lines: the version, the commit, the target, and the versions of the libraries. */
void version_append_text(struct buf *b);

#endif
