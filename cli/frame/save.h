/* save.h - writes a file so that it is replaced completely or not at all.
 *
 * Rules     "-" is stdout. A regular file is written under a temporary name in the same directory,
 *           and renamed at the end; a symbolic link is followed. An existing file that is not
 *           regular (a pipe, a terminal) is written directly. A file that is replaced keeps its
 *           mode. A new file is readable by others as far as the umask allows, unless it is
 *           SAVE_PRIVATE.
 * Owns      the descriptor and the name.
 * Errors    sticky; save_close() reports them on stderr, with the file, the reason and the remedy.
 * Blocks    on the file. */
#ifndef MI_CLI_FRAME_SAVE_H
#define MI_CLI_FRAME_SAVE_H

#include "base/buf.h"

struct save {
    int fd;         /* descriptor; -1: opening failed */
    char *path;     /* owned; the path as it was given */
    char *target;   /* owned; the final path; NULL: the file is written directly */
    char *beside;   /* owned; the path of the temporary file */
    uint64_t bytes; /* number of bytes written */
    int error;      /* errno of the first failure; 0: none */
};

/* Mode of a new file, before the umask. */
enum save_access { SAVE_SHARED = 0666, SAVE_PRIVATE = 0600 };

void save_open(struct save *s, const char *path, enum save_access access);
bool save_write_bytes(struct save *s, struct slice bytes); /* returns false after an error */
/* If `keep` is true, replaces the file; otherwise leaves the old file as it was. Returns EXIT_FINE
 * or EXIT_TROUBLE. */
MI_MUST int save_close(struct save *s, bool keep);

/* Writes a whole file with SAVE_SHARED. If the buffer has failed, leaves the old file as it was.
 * Returns EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int save_buffer_to_file(const char *path, const struct buf *b);

#endif
