/* running.h - the table `running`: which proxies run, so that what a dead one has left can be found and
 * ended.
 *
 * One row for each session that has not ended, written with the session's own row. A process is known
 * again by its id and its start time, within one boot of the machine and one namespace of process ids;
 * where these differ nothing is said of it. Names never count. A process group whose leader has ended
 * is known again by the leader's start time, which none of its members can precede, and by the session
 * (setsid(2)) they all have.
 *
 * Owns      a list owns its rows; running_close() frees them.
 * Errors    one sentence in `error`.
 * Blocks    on the disk and up to RUNNING_WAIT_MS for a locked database. running_self() and
 *           running_server() read /proc alone, and do not block. */
#ifndef MI_VAULT_RUNNING_H
#define MI_VAULT_RUNNING_H

#include "base/buf.h"
#include "base/process.h"

#define RUNNING_WAIT_MS 2000
#define RUNNING_ROWS_MAX 4096

/* As the table has it. */
struct running {
    char boot[PROCESS_BOOT_MAX];
    int64_t pid_namespace; /* inode of /proc/self/ns/pid; 0: not known */
    pid_t pid;             /* the interposer */
    uint64_t pid_start;    /* start times are process_start() */
    pid_t client_pid;      /* who started it */
    uint64_t client_start;
    pid_t server_pid; /* 0: there is none now, and the rest is of the last one */
    uint64_t server_start;
    pid_t server_group, server_session;
};

/* Of the calling process, without a server. */
void running_self(struct running *r);
/* The server was started; pid 0: it has ended. */
void running_server(struct running *r, pid_t pid, pid_t group);

struct running_row {
    int64_t session_id;
    char uid[32], name[80], host[256], client[80]; /* client: clientInfo.name, or "" */
    int64_t started_at_us, last_at_us; /* last_at_us: of its last message, or its start */
    bool ended;                        /* the session is closed, the row is not gone yet */
    struct running r;
};

struct running_list {
    struct running_row *row; /* owned */
    size_t n;
};

enum running_state {
    RUNNING_LIVE,
    RUNNING_GONE,      /* the interposer is no more */
    RUNNING_ELSEWHERE, /* on another machine or in another container: cannot be told from here */
};

/* By session. A vault without the table (older, or nothing recorded yet) has none. 0, MI_ESTORE or
 * MI_ENOMEM. */
MI_MUST int running_open(struct running_list *ret, const char *vault, struct buf *error);
void running_close(struct running_list *l); /* safe to call twice */

enum running_state running_look(const struct running_row *row);
/* Whoever started the interposer is no more. Only for what is not elsewhere. */
bool running_client_gone(const struct running *r);
/* The living processes of the server's group, at most `max`; 0 also when the group may be another's. */
size_t running_group(const struct running *r, struct process *ret, size_t max);

/* Closes the session of a dead proxy, if it is open: end_reason `killed`, at the time of its last
 * message. `forget` removes the row as well: nothing of the server is left. 0, MI_ESTORE or
 * MI_ENOMEM. */
MI_MUST int running_end(const char *vault, int64_t session_id, bool forget, struct buf *error);
/* Does that for every proxy that is gone; its row stays while its server's group lives. */
int running_bury(const char *vault); /* 0, MI_ESTORE or MI_ENOMEM: the next one does it */

#endif
