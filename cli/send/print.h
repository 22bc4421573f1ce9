/* print.h - prints an answer of a server for people.
 *
 * Text is printed as text, with control characters made visible; other JSON on indented lines.
 * Images, audio and blobs are written to at most PRINT_FILES_MAX files, whose names are printed.
 * The program chooses the names, and never overwrites a file.
 *
 * Owns      the path of the new directory.
 * Errors    only the first file that cannot be written is reported on stderr; the rest of the
 *           answer is printed.
 * Blocks    on files, and as stdout does. */
#ifndef MI_CLI_SEND_PRINT_H
#define MI_CLI_SEND_PRINT_H

#include "cli/frame/out.h"
#include "wire/rpc.h"

struct print_files {
    /* directory for the files; borrowed; NULL: a new directory below $TMPDIR, made for the first
     * file */
    const char *dir;
    char *made; /* owned; path of the new directory */
    bool failed;
    unsigned n; /* number of files written */
    /* the name of the newest file is KIND-NUMBER.EXT; `kind` and `ext` are static strings */
    const char *kind, *ext;
    int number;
};

/* maximum number of files written for an answer; further files are only mentioned */
#define PRINT_FILES_MAX 1000

void print_result(struct out *o, struct print_files *files, const struct rpc *answer);
void print_files_close(struct print_files *files);
/* Whether the answer is an error, or a tool's result with isError. */
bool answer_is_failure(const struct rpc *answer);

#endif
