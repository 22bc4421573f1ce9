/* incidents.h - conditions that need a person: hangs, crash loops, rejected credentials, failed
 * recording.
 *
 * The recorder process writes each incident to a file in VAULT/Escalations, records it as an event,
 * and runs --escalate-command.
 *
 * Owns      the starts of the last messages and of the last lines of the server's stderr, and the
 *           reason found in stderr.
 * Blocks    never. */
#ifndef MI_PROXY_INCIDENTS_H
#define MI_PROXY_INCIDENTS_H

#include "proxy/postmortem.h"
#include "proxy/session/stderr_reason.h"
#include "proxy/session/traffic.h"
#include "record/recorder.h"

#define INCIDENTS_HEAD_MAX 200 /* maximum bytes of a line that are kept */

struct message_head {
    size_t n;
    char text[INCIDENTS_HEAD_MAX];
};

struct incidents {
    struct recorder *recorder; /* borrowed */
    /* borrowed; the forms with which the server has asked for input in this session */
    const struct forms *forms;
    struct message_head last[2];                   /* last message of each direction */
    struct message_head err[ESCALATION_LINES_MAX]; /* sanitized lines of stderr; a ring buffer */
    uint64_t err_n;                                /* number of stderr lines noted so far */
    struct stderr_reason reason; /* lines of stderr that may say why the current process ends */
};

/* The request that an incident is about; all members may be empty. */
struct incident_call {
    uint64_t seq;
    struct slice method, target, text; /* as the members of struct pending with these names */
};

void incidents_open(struct incidents *t, struct recorder *r, const struct forms *forms);
void incidents_close(struct incidents *t);
/* Keeps the start of a message that was received. */
void incidents_save_message_prefix(struct incidents *t, enum row_direction dir,
                                   const struct line *line);
/* Notes a line of the server's stderr. The caller has sanitized the line, because a secret may span
 * lines. */
void incidents_add_stderr_line(struct incidents *t, struct slice clean);
/* Call this function when another server process has started: forgets the reason found in
 * stderr. */
void incidents_forget_stderr_reason(struct incidents *t);
/* Appends the reason why the current process ended, as found in its stderr; appends nothing if
 * stderr had no line, or with --record=minimal. Returns true if the reason is an error message,
 * false if it is only the last line. */
bool incidents_append_end_reason(const struct incidents *t, struct buf *b);
/* Returns true if the next process would end for the same reason. */
bool incidents_reason_will_recur(const struct incidents *t);

/* Records an event `asked` or `hang`: the server was silent at a deadline. question: seq of the
 * interposer's request to the server; 0: none. */
void incidents_report_silence(struct incidents *t, const char *event, const struct incident_call *c,
                              int64_t waited_us, uint64_t question, struct slice post_mortem_json);
/* The server is being killed: records an event and an escalation. */
void incidents_report_hang(struct incidents *t, const struct postmortem *pm,
                           const struct incident_call *c, int64_t waited_us, bool restarts,
                           const char *happened);
/* The server is alive: records an event `alive` and an escalation `timeout`. */
void incidents_report_alive_server(struct incidents *t, const struct incident_call *c,
                                   int64_t waited_us, const char *because, const char *happened);
/* Reports a crash loop. q: the oldest request that the last process received; NULL: none. */
void incidents_escalate_crash_loop(struct incidents *t, const char *happened,
                                   const struct pending *q);
/* Reports a request that was pending when two processes ended, and that is not sent again. */
void incidents_escalate_crash(struct incidents *t, const char *happened, const struct pending *q);
void incidents_escalate_record_error(struct incidents *t, const char *happened);
/* The tool rule (--tools and similar options) hides every tool: writes an escalation. */
void incidents_escalate_tools_rule(struct incidents *t, const char *happened);
/* Writes an escalation: a call that equals an earlier call which may have run is forwarded. */
void incidents_escalate_repeated_call(struct incidents *t, const struct pending *q,
                                      const char *happened);
/* Writes an escalation: the server answered that credentials are missing or wrong. */
void incidents_escalate_auth_failure(struct incidents *t, const struct pending *q,
                                     struct slice answer);

#endif
