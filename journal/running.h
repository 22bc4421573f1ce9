/* running.h - the processes of a running session: the interposer, its client and its server.
 *
 * A process is identified by its id and start time, within one boot of the machine and one PID namespace. A process
 * group whose leader has exited is identified by their common session (setsid(2)), and by start times: no member is
 * older than the leader.
 *
 * Blocks    never. */
#ifndef MI_JOURNAL_RUNNING_H
#define MI_JOURNAL_RUNNING_H

#include "base/os/process.h"

/* Of the running interposer. */
struct running {
    char boot[PROCESS_BOOT_MAX];
    int64_t pid_namespace; /* process_namespace() */
    pid_t pid;             /* the interposer */
    uint64_t pid_start;    /* process_start(), as all start times */
    pid_t client_pid;      /* the parent of the interposer */
    uint64_t client_start;
    pid_t server_pid; /* 0: none now; the other fields describe the last one */
    uint64_t server_start;
    pid_t server_group, server_session;
};

/* Fills in the calling process and its parent; no server. */
void running_self(struct running *r);
/* Sets the server process; pid 0: it has exited. */
void running_server(struct running *r, pid_t pid, pid_t group);

#endif
