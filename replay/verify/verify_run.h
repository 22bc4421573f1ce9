/* verify_run.h - compares the answers of a live server with a recording.
 *
 * The client's messages are sent in recorded order, each request after the answer to the previous
 * one. The live server's own requests get the client's recorded answer to a request of that method.
 * Sent requests get new ids; cursors, request states and task ids are replaced with those of the
 * live server.
 *
 * Sent      read-only requests, and calls of tools that are marked read-only or idempotent (by the
 *           live server if it lists the tool, else by the recorded server); with `all`, every
 *           request. Never sent: requests that the sanitizer changed, subscriptions/listen,
 *           requests that the recorded server did not answer.
 * Owns      a list of the recorded messages, 24 bytes each, and the handles and tools of the
 *           servers.
 * Errors    MI_EIO (the server cannot be started), MI_ENOMEM, or an error of the source, with a
 *           sentence in `error`. A server that does not answer, or exits, is a result and not an
 *           error.
 * Blocks    until it has finished. SIGPIPE must be ignored. */
#ifndef MI_REPLAY_VERIFY_VERIFY_RUN_H
#define MI_REPLAY_VERIFY_VERIFY_RUN_H

#include "replay/compare/compare.h"
#include "replay/source/recording.h"

enum verify_verdict {
    VERIFY_MATCH,
    VERIFY_CHANGED, /* the answer differs */
    VERIFY_SCHEMA,  /* only schemas of tools changed */
    VERIFY_GONE,    /* the request's tool, prompt, resource or method no longer exists */
    VERIFY_SILENT,  /* no answer before the deadline, or the server exited */
    VERIFY_SKIPPED,
    VERIFY_VERDICTS
};

/* maximum number of differences that are listed for one request; all differences are counted */
#define VERIFY_DIFFERENCES_MAX 8

struct verify_difference {
    /* `pointer`: JSON pointer to the values; `recorded` and `live`: the values as sanitized JSON;
     * {NULL, 0}: the value is missing */
    struct slice pointer, recorded, live;
};

/* The result of one request. Valid only during the call of a verify_fn. */
struct verify_result {
    enum verify_verdict verdict;
    int64_t seq; /* seq of the request in the recording */
    /* method and target of the request: texts of JSON strings without quotes, with escapes as
     * written; {NULL, 0}: none */
    struct slice method, target;
    /* `reason` and `remedy`: NULL unless the verdict is VERIFY_SKIPPED or VERIFY_SILENT; `remedy`
     * is also NULL if the server has ended before it answered */
    const char *reason, *remedy;
    int64_t took_us; /* time until the live answer; 0: none */
    struct verify_difference difference[VERIFY_DIFFERENCES_MAX];
    size_t differences; /* number of differences; may exceed the number of listed differences */
    int64_t answer_seq; /* seq of the recorded answer; 0: none */
    struct slice live;  /* the live answer, with the recorded id and cursors; {NULL, 0}: none */
};
typedef void (*verify_fn)(void *ctx, const struct verify_result *r);

struct verify_config {
    char *const *argv;             /* the server's command */
    const struct pointers *ignore; /* ignored values, as pointers into the result or the error */
    bool all;
    int64_t timeout_us, grace_us;
};

MI_MUST int verify_run(const struct verify_config *cfg, struct source *source, verify_fn fn,
                       void *ctx, struct buf *error);

/* returns the verdict as a word: "match", "changed", … */
const char *verify_verdict_name(enum verify_verdict v);

#endif
