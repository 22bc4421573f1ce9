/* save.h - a file that is written whole or stays as it was.
 *
 * Rules     "-" is stdout. A plain file is written beside its place, under a name of its own, and renamed at
 *           the end, so that nobody sees half of it; a link is followed to the file it names. What is there
 *           and is no plain file (a pipe, a terminal) is written directly.
 * Owns      the descriptor and the name.
 * Errors    sticky; save_close() tells them on stderr with the file, the reason and the remedy.
 * Blocks    on the file. */
#ifndef MI_CLI_SAVE_H
#define MI_CLI_SAVE_H

#include "base/buf.h"

struct save {
    int fd;       /* -1: failed */
    char *path;   /* owned; as it was given */
    char *target; /* owned; what is renamed to; NULL: written directly */
    char *beside; /* owned; the name until then */
    int error;    /* errno of what failed first; 0 */
};

void save_open(struct save *s, const char *path);
bool save_write(struct save *s, struct slice bytes); /* false: it has failed */
/* keep: what was written becomes the file; else it stays as it was. EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int save_close(struct save *s, bool keep);

#endif
