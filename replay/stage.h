/* stage.h - the play itself: lines of the client in, lines of the recorded server out.
 *
 * Rules     a request gets the recorded outcome of an equal request, or a visible error. Never that of
 *           another method or target. What was recorded inside an exchange is played inside it, once for each
 *           time it is asked; what came unasked is played once, behind what it came after.
 * Pure      knows neither loop nor clock: the caller hands over the time, and asks when to come back. The
 *           recording is read through the source as far as it is needed.
 * Owns      the plan, and what is on the stage: one block for each open request. Rules, faults, source and
 *           report are borrowed.
 * Limits    STAGE_PLAYS_MAX open requests; more get an error.
 * Errors    MI_ENOMEM; MI_ESTORE or MI_EIO (the recording can no longer be read): the caller ends.
 * Blocks    on the source only. */
#ifndef MI_REPLAY_STAGE_H
#define MI_REPLAY_STAGE_H

#include "replay/fault.h"
#include "replay/pace.h"
#include "replay/plan.h"
#include "replay/report.h"

#define STAGE_PLAYS_MAX 65536
#define STAGE_NEVER INT64_MAX

struct stage_rules {
    struct canon_rules canon;
    struct pace pace;
    bool repeat_fail;  /* --repeat fail */
    bool strict_order; /* --ordering strict */
};

enum stage_end {
    STAGE_GOES_ON,
    STAGE_SERVER_ENDED, /* as it was recorded: leave with stage_exit_status() */
    STAGE_CLOSE,        /* a fault: close stdout, stay until stdin ends */
    STAGE_CRASH,        /* a fault: die by SIGKILL */
    STAGE_CLIENT_EXIT,  /* the client said `exit` */
};

struct stage;

/* A line for the client, with its newline; the last one may lack it (a fault). Borrowed for the call. 0; 1:
 * that is enough for now, the stage is to be advanced when there is room again; or an error. */
typedef int (*stage_send_fn)(void *ctx, struct slice line);
/* A line of the recorded server's standard error, without its newline. */
typedef void (*stage_stderr_fn)(void *ctx, struct slice line);

MI_MUST int stage_open(struct stage **ret, const struct stage_rules *rules, struct faults *faults,
                       struct source *source, struct report *report, stage_send_fn send,
                       stage_stderr_fn say_stderr, void *ctx);
void stage_close(struct stage *s);
/* What the server said before anything else. */
MI_MUST int stage_begin(struct stage *s, int64_t now_us);
/* One line of the client, without its newline. */
MI_MUST int stage_line(struct stage *s, struct slice line, int64_t now_us);
/* The head of a line that was too long to keep. */
MI_MUST int stage_too_long(struct stage *s, struct slice head, int64_t now_us);
/* The client has closed its side: what waits for time is said at once, what waits for it is dropped. */
MI_MUST int stage_hangup(struct stage *s, int64_t now_us);
/* Says what is due. */
MI_MUST int stage_advance(struct stage *s, int64_t now_us);
int64_t stage_due(const struct stage *s); /* when to advance; STAGE_NEVER */
enum stage_end stage_ended(const struct stage *s);
int64_t stage_exit_status(const struct stage *s);
/* Reads some more of the recording. *ret_done: there is no more. */
MI_MUST int stage_load(struct stage *s, bool *ret_done);
struct plan *stage_plan(struct stage *s);
size_t stage_plays(const struct stage *s); /* open requests and unasked lists on the stage */

#endif
