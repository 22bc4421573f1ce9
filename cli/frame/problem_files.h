/* problem_files.h - the files in VAULT/Escalations: each describes a problem that needs a person.
 *
 * Owns      the directory and the names; problem_files_close() frees them.
 * Errors    MI_ENOMEM, or MI_EIO with the reason in errno.
 * Blocks    on the disk. */
#ifndef MI_CLI_FRAME_PROBLEM_FILES_H
#define MI_CLI_FRAME_PROBLEM_FILES_H

#include "base/buf.h"
#include "model/fields.h"

#define PROBLEM_FILE_NAME 256              /* maximum bytes of a file name, with the NUL */
#define PROBLEM_FILE_MAX ((size_t)1 << 20) /* maximum bytes of a file; larger files are not read */

struct problem_file {
    char text[PROBLEM_FILE_NAME];
};

struct problem_files {
    /* descriptor of the directory; -1: the directory does not exist yet */
    int fd;
    struct problem_file *name; /* owned; sorted by name; a name begins with a time */
    size_t n, cap;
};

MI_MUST int problem_files_open(struct problem_files *e, const char *vault);
void problem_files_close(struct problem_files *e); /* must also be called after an error */
/* Returns the name of file `i` without its suffix. */
struct slice problem_files_title(const struct problem_files *e, size_t i);
/* Appends the text of a file. */
MI_MUST int problem_files_read(const struct problem_files *e, const char *name, struct buf *text);
/* Removes the file, because the problem is solved. */
MI_MUST int problem_files_remove(const struct problem_files *e, const char *name);

#endif
