/* live_options.h - the options of `replay` for a live server, which answers what was not recorded, and for
 * the file to which its answers are added.
 *
 * Owns      the tape, the server's command line and the header of a new cassette;
 *           live_choice_close() frees them.
 * Errors    are reported on stderr; the status says which. */
#ifndef MI_CLI_RECORDINGS_LIVE_OPTIONS_H
#define MI_CLI_RECORDINGS_LIVE_OPTIONS_H

#include "cli/frame/proxied.h"
#include "cli/frame/server_name.h"
#include "cli/recordings/tape.h"
#include "replay/mock/mock_server.h"

enum live_record {
    LIVE_RECORD_NONE,
    LIVE_RECORD_APPEND, /* append to the file that is replayed */
    LIVE_RECORD_NEW,    /* append to a copy of the replayed recording, in another file */
    LIVE_RECORD_ALL,    /* record all messages; nothing is replayed */
};

struct live_choice {
    enum live_record record;
    bool use; /* whether a live server answers what was not recorded */
    bool catch_up;
    const char *file;       /* the operand if it is a file, otherwise NULL */
    const char *output;     /* the file to write; NULL: none */
    char *const *server;    /* borrowed; NULL: none was given */
    struct proxied proxied; /* owned */
    struct tape *tape;      /* owned; NULL: nothing is recorded */
    char name[SERVER_NAME_MAX];
    struct buf rules; /* owned; the rules in the header */
    struct query_session header;
};

/* Reads the options. operand: the session or the file; NULL if there is none. Returns EXIT_FINE or
 * EXIT_USAGE. */
MI_MUST int live_choice_read(struct live_choice *l, const struct settings *s, const char *operand,
                             char *const *server);
/* Nothing is replayed: opens an empty recording in place of the file. Returns EXIT_FINE or
 * EXIT_TROUBLE. */
MI_MUST int live_choice_begin(struct live_choice *l, struct source **ret);
/* Adds the live server to the replay of this recording. Returns EXIT_FINE or EXIT_TROUBLE. */
MI_MUST int live_choice_apply(struct live_choice *l, const struct settings *s,
                              const struct source_info *info, struct mock_config *cfg);
void live_choice_close(struct live_choice *l); /* may be called with a zeroed struct */

#endif
