/* running.h - the processes of a running session: the interposer, its client and its server.
 *
 * A process is identified by its id and start time, within one boot of the machine and one PID
 * namespace. A process group whose leader has exited is identified by their common session
 * (setsid(2)), and by start times: no member is older than the leader.
 *
 * Blocks    never. */
#ifndef MI_JOURNAL_RUNNING_H
#define MI_JOURNAL_RUNNING_H

#include "base/os/process.h"
#include "journal/ring.h"
#include "model/records.h"

#define RUNNING_BOOT(name) char name[PROCESS_BOOT_MAX];
#define RUNNING_NUMBER(name) int64_t name;
#define RUNNING_PID(name) pid_t name;
#define RUNNING_TICKS(name) uint64_t name;
#define RUNNING_MEMBER(name, type, null) RUNNING_##type(name)

/* The fields are described in model/records.h. */
struct running {
    RUNNING_FIELDS(RUNNING_MEMBER)
};

/* Sets the calling process and its parent in *r, and leaves the server unset. */
void running_describe_own_process(struct running *r);
/* Sets the server process; pid 0: the server has exited. */
void describe_running_server(struct running *r, pid_t pid, pid_t group);
/* Writes the server of *r into the journal's page; NULL: no server runs. Only writes memory. */
void running_share_server(const struct running *r, struct ring_shared *page);
/* Sets the server in *r from the journal's page. Returns whether that changed *r. */
bool running_copy_shared_server(struct running *r, const struct ring_shared *page);

#endif
