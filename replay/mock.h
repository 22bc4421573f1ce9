/* mock.h - be the server of a recording, on stdin and stdout, until the client leaves.
 *
 * Owns      the loop, private non-blocking copies of the descriptors, and the stage.
 * Blocks    runs until the end. Standard error may block only if nobody reads it and it is no pipe. */
#ifndef MI_REPLAY_MOCK_H
#define MI_REPLAY_MOCK_H

#include "replay/stage.h"

struct mock_config {
    struct stage_rules rules;
    struct faults faults;                 /* they count */
    struct source *source;                /* borrowed */
    struct slice recording;               /* what reports call it */
    const char *report_path, *junit_path; /* NULL: none */
    bool strict;                          /* what was never asked is a failure */
    size_t max_message;                   /* longest line of the client */
};

#define MOCK_FINE 0
#define MOCK_MISMATCH 1 /* some request was not recorded, or with `strict` not asked */
#define MOCK_FAILED 3   /* our own failure */

/* The exit status: one of these, or the recorded server's when it ended by itself. */
int mock_run(struct mock_config *cfg);

#endif
