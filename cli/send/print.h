/* print.h - prints an answer of a server for people.
 *
 * Text is printed as text, with control characters made visible; other JSON on indented lines. Images, audio and blobs are
 * written to files, whose names are printed; they are named by us, and no file is ever overwritten, and at
 * most PRINT_FILES_MAX are written.
 *
 * Owns      the path of the directory.
 * Errors    of files are reported on stderr, once; the rest is printed.
 * Blocks    on files, and as stdout does. */
#ifndef MI_CLI_SEND_PRINT_H
#define MI_CLI_SEND_PRINT_H

#include "cli/frame/out.h"
#include "wire/rpc.h"

struct print_files {
    const char *dir; /* borrowed; NULL: a new directory below $TMPDIR, made for the first file */
    char *made;      /* owned; that directory */
    bool failed;
    unsigned n;             /* files that were written */
    const char *kind, *ext; /* static; of the file that was written last: KIND-NUMBER.EXT */
    int number;
};

#define PRINT_FILES_MAX 1000 /* of one answer; the others are only mentioned */

void print_result(struct out *o, struct print_files *files, const struct rpc *answer);
void print_files_close(struct print_files *files);
/* An error, or the result of a tool that says isError. */
bool print_is_failure(const struct rpc *answer);

#endif
