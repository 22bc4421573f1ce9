/* verify.h - does a live server still answer as it was recorded?
 *
 * The client's messages are sent in recorded order, each request after the answer to the one before. What the
 * server asks meanwhile gets the answer that the client gave to a question of that method. Ids are
 * ours; cursors, request states and task ids are those that the live server gave out in the place of the
 * recorded ones.
 *
 * Sent      requests that only read, and calls of tools that are marked read-only or idempotent, by the live
 *           server where it says so, else by the recorded one; with `all` every call and request. Never:
 *           what the sanitizer has cut, subscriptions/listen, what was never answered by the server.
 * Owns      what it keeps of the recording: 16 bytes a message, and what the server gave out.
 * Errors    a server that is silent, or ends, is a result. MI_EIO (it cannot be started), MI_ENOMEM, or the
 *           source's, with a sentence in error.
 * Blocks    until it is done. SIGPIPE must be ignored. */
#ifndef MI_REPLAY_VERIFY_H
#define MI_REPLAY_VERIFY_H

#include "replay/compare.h"
#include "replay/source.h"

enum verify_verdict {
    VERIFY_MATCH,
    VERIFY_CHANGED, /* another answer */
    VERIFY_SCHEMA,  /* nothing but schemas of tools changed */
    VERIFY_GONE,    /* a tool, prompt, resource or method is not there any more */
    VERIFY_SILENT,  /* no answer in time, or the server ended */
    VERIFY_SKIPPED,
    VERIFY_VERDICTS
};

#define VERIFY_DIFFERENCES_MAX 8 /* of one request that are listed; the rest is counted */

struct verify_difference {
    struct slice pointer, recorded, live; /* JSON, sanitized; {NULL, 0}: not there */
};

/* What became of one request. Borrowed for the call. */
struct verify_result {
    enum verify_verdict verdict;
    int64_t seq;                 /* of the request in the recording */
    struct slice method, target; /* between the quotes, escapes as written; {NULL, 0}: none */
    const char *reason, *remedy; /* of VERIFY_SKIPPED and VERIFY_SILENT; else NULL */
    int64_t took_us;             /* to the live answer; 0: none */
    struct verify_difference difference[VERIFY_DIFFERENCES_MAX];
    size_t differences; /* may be more than are listed */
    int64_t answer_seq; /* of the recorded answer; 0: none */
    struct slice live;  /* the live answer, with the recorded id and cursors; {NULL, 0}: none */
};
typedef void (*verify_fn)(void *ctx, const struct verify_result *r);

struct verify_config {
    char *const *argv;             /* of the server */
    const struct pointers *ignore; /* below the result or the error */
    bool all;
    int64_t timeout_us, grace_us;
};

MI_MUST int verify_run(const struct verify_config *cfg, struct source *source, verify_fn fn,
                       void *ctx, struct buf *error);

const char *verify_verdict_name(enum verify_verdict v); /* "match", "changed", … */

#endif
