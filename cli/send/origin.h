/* origin.h - the recording that a request comes from: its session, the request in it, and the
 * command of its server.
 *
 * Owns      the recording and the words of the command; origin_close_recording() frees them.
 * Errors    are reported on stderr; the functions return the exit status.
 * Blocks    on the vault or the file. */
#ifndef MI_CLI_SEND_ORIGIN_H
#define MI_CLI_SEND_ORIGIN_H

#include "cli/frame/recording.h"
#include "replay/live/live_session.h"

struct origin {
    struct recording recording;
    /* command line of the server; the array and its words are owned; ended by NULL. NULL before
     * origin_read_server_command(). */
    char **command;
    size_t command_n, command_cap;
    struct buf name; /* owned; name of the server in recordings */
    struct buf dir;  /* owned; working directory of the server; empty: unknown or missing */
};

/* session: the argument of --session; NULL: the newest session that `send` did not record. Prints a
 * note that says which session is used, unless it was named by number or UID. */
MI_MUST int origin_open_recording(struct origin *o, const struct settings *s, const char *session);
/* Sets o->command to the command of the recorded server, and o->dir to its working directory;
 * prints a note if the directory does not exist any more. Fails if the command was not recorded,
 * was recorded on another machine, or contains a secret that was not recorded. */
MI_MUST int origin_read_server_command(struct origin *o, const struct settings *s);
/* Finds the request with this seq in `t`, into which the recording was loaded. *ret_item: the index
 * of the request. */
MI_MUST int origin_find_request(const struct settings *s, const struct live_session *t, int64_t seq,
                                uint32_t *ret_item);
void origin_close_recording(struct origin *o);

#endif
