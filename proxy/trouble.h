/* trouble.h - what a person should look at: hangs, crash loops, refused credentials, a record that fails.
 *
 * Each becomes a file in VAULT/Escalations (vault/escalation.h), an event, and a run of --escalate-command.
 *
 * Owns      the last lines of the server's stderr, the heads of the last message each way, what was
 *           counted of escalations, the courier of notify.h.
 * Blocks    on the disk, for a file that is written and synced. Never on the way of a usual message. */
#ifndef MI_PROXY_TROUBLE_H
#define MI_PROXY_TROUBLE_H

#include "proxy/notify.h"
#include "proxy/postmortem.h"
#include "proxy/traffic.h"
#include "vault/escalation.h"

#define TROUBLE_HEAD_MAX 200 /* bytes of a line that are kept */

struct trouble_head {
    size_t n;
    char text[TROUBLE_HEAD_MAX];
};

struct trouble {
    struct recorder *recorder;                     /* borrowed */
    const char *server;                            /* borrowed; its name in records */
    struct buf command;                            /* owned; JSON array */
    struct trouble_head last[2];                   /* [ROW_C2S], [ROW_S2C] */
    struct trouble_head err[ESCALATION_LINES_MAX]; /* a ring; sanitized */
    uint64_t err_n;                                /* lines in all */
    uint64_t err_from; /* those of the present process come behind so many */
    struct escalations written;
    struct notify notify;
    struct postmortem_base base;
};

void trouble_open(struct trouble *t, struct recorder *r, const char *server, struct slice command);
void trouble_close(struct trouble *t);
/* What passes. */
void trouble_heard(struct trouble *t, enum row_direction dir, const struct line *line);
void trouble_stderr(struct trouble *t,
                    struct slice clean); /* sanitized: a line alone does not tell */
void trouble_new_process(struct trouble *t);
/* What a process that has crashed said of it on stderr: the last line that tells of an error, else the last one,
 * on one line; nothing if it said nothing, or no words are to be kept. Appended to b. */
void trouble_last_words(const struct trouble *t, struct buf *b);

/* Looks at a server that is silent, before anything is done to it. A sentence of it goes to `why`; it is
 * recorded as an event `hang` with what /proc says. */
void trouble_hang(struct trouble *t, pid_t pid, pid_t group, int stdin_fd, const struct pending *q,
                  int64_t waited_us, bool restarts, struct buf *why);
/* q: the oldest request that the last process had; NULL: it had none. */
void trouble_crash_loop(struct trouble *t, const char *happened, const struct pending *q);
void trouble_record_error(struct trouble *t, const char *happened);
/* An answer that says that credentials are missing or wrong; the calls of traffic.h. */
void trouble_auth(struct trouble *t, const struct pending *q, struct slice answer);

#endif
