/* save.h - writes a file that is replaced as a whole or not at all.
 *
 * Rules     "-" is stdout. A regular file is written under a temporary name in the same directory, and renamed at
 *           the end; a symbolic link is followed. An existing file that is not regular (a pipe, a terminal) is
 *           written directly.
 *           A file that is replaced keeps its mode. A new one may be read by others as far as the umask allows, unless
 *           it is SAVE_PRIVATE.
 * Owns      the descriptor and the name.
 * Errors    sticky; save_close() reports them on stderr, with the file, the reason and the remedy.
 * Blocks    on the file. */
#ifndef MI_CLI_FRAME_SAVE_H
#define MI_CLI_FRAME_SAVE_H

#include "base/buf.h"

struct save {
    int fd;         /* -1: failed */
    char *path;     /* owned; as it was given */
    char *target;   /* owned; the final name; NULL: written directly */
    char *beside;   /* owned; the temporary name */
    uint64_t bytes; /* written */
    int error;      /* errno of the first failure; 0 */
};

/* Mode of a new file, before the umask. */
enum save_access { SAVE_SHARED = 0666, SAVE_PRIVATE = 0600 };

void save_open(struct save *s, const char *path, enum save_access access);
bool save_write(struct save *s, struct slice bytes); /* false: failed */
/* keep: replace the file; else it stays as it was. EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int save_close(struct save *s, bool keep);

/* Writes a whole file, SAVE_SHARED. If the buffer has failed, the file stays as it was. EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int save_buf(const char *path, const struct buf *b);

#endif
