/* mock_server.h - runs the mock server on stdin and stdout until the client leaves.
 *
 * Owns      the event loop, private non-blocking copies of the descriptors, and the conversation.
 * Blocks    until the end. Writing to stderr blocks only if stderr is not a pipe, and nobody reads
 *           it. */
#ifndef MI_REPLAY_MOCK_MOCK_SERVER_H
#define MI_REPLAY_MOCK_MOCK_SERVER_H

#include "replay/mock/live_side.h"
#include "replay/mock/reports.h"

struct mock_config {
    struct conversation_rules rules;
    struct faults faults;   /* the faults to inject; each fault counts its matching requests */
    struct source *source;  /* borrowed */
    struct slice recording; /* the recording's name in reports */
    bool recording_is_file;
    const char *path[REPORT_FILES]; /* paths of the reports; NULL: none */
    /* the replay fails if the client did not send all needed requests (misses_request.needed) */
    bool strict;
    size_t max_message;           /* maximum bytes of a line of the client */
    struct live_side_config live; /* live server for requests that were not recorded */
    /* Called when the client has left, before the live server is ended. May be NULL. If it returns
     * false, mock_run() returns MOCK_FAILED. */
    bool (*done)(void *ctx);
    void *ctx; /* context of done() */
};

#define MOCK_FINE 0
/* a finding is a failure (misses.h) or, with `strict`, the client did not send a needed request */
#define MOCK_MISMATCH 1
#define MOCK_FAILED 3 /* the mock server itself failed */

/* Returns the exit status: one of MOCK_FINE, MOCK_MISMATCH and MOCK_FAILED, or that of the recorded
 * server if it exited on its own. */
int mock_run(struct mock_config *cfg);

#endif
