/* origin.h - the recording that a request comes from: its session, the request in it, and the command of its server.
 *
 * Owns      the recording and the words of the command; origin_close() frees them.
 * Errors    are reported on stderr: the exit status.
 * Blocks    on the vault or the file. */
#ifndef MI_CLI_SEND_ORIGIN_H
#define MI_CLI_SEND_ORIGIN_H

#include "cli/frame/recording.h"
#include "replay/live/talk.h"

struct origin {
    struct recording recording;
    char **command; /* owned, with its words; ended by NULL; NULL: see origin_command() */
    size_t command_n, command_cap;
    struct buf name; /* owned; of the server, in the records */
    struct buf dir;  /* owned; its working directory; empty: unknown, or it does not exist */
};

/* session: as given; NULL: the newest one that `send` did not record. A note says which one is used, unless it was given by its id or UID. */
MI_MUST int origin_open(struct origin *o, const struct settings *s, const char *session);
/* The command of the recorded server, in o->command, and its working directory. A note says that the directory does not
 * exist any more. Fails if it is not recorded, if it was recorded elsewhere, or if it
 * contains a secret that was not recorded. */
MI_MUST int origin_command(struct origin *o, const struct settings *s);
/* The request with this number: an item of t, which has the recording. */
MI_MUST int origin_find(const struct settings *s, const struct talk *t, int64_t seq,
                        uint32_t *ret_item);
void origin_close(struct origin *o);

#endif
