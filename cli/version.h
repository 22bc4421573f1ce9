/* version.h - `mcp-interposer --version`: which program this is, for reports of errors. */
#ifndef MI_CLI_VERSION_H
#define MI_CLI_VERSION_H

#include "base/buf.h"

/* The commit that the program was built from (packaging/commit). The Makefile generates its definition. */
extern const char version_commit[];

/* Version, commit, target, and the versions of the libraries, on four lines. */
void version_text(struct buf *b);

#endif
