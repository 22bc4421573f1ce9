/* process.h - the recorder process: stores what its proxy appends to the journal, and maintains the
 * vault.
 *
 * The process sleeps until the proxy wakes it; only retention, a checkpoint after a burst, and the
 * search for dead sessions every few minutes are timed (upkeep.h). After waking up it waits
 * PROCESS_GATHER_US, so that more than one message is stored in a transaction.
 *
 * The proxy sends one kind of datagram on `control`: `w`: records were published. End of file means
 * that the proxy has exited. If shared->ended is not set then, the proxy was killed: the recorder
 * process kills the server's process group at once.
 *
 * The recorder process sends these datagrams:
 *   o   The vault is open. Sent once.
 *   c   shared->tail or shared->trouble has changed.
 *   t   With a file in memory: the tools of this server in its previous session. The file has the
 *       uid of that session, a newline and a JSON-RPC result.
 *   l   With the file VAULT/running.lock, on which the recorder process holds the session's lock.
 *       The proxy keeps the file open as long as it runs.
 *
 * Exit      EX_OK: the session has ended, everything is stored, the session is closed, and the
 *           journal removed. EX_UNAVAILABLE: after the end, nothing could be stored for
 *           PROCESS_GIVE_UP_US, or PROCESS_SHUT_US if the vault could not be opened; the journal is
 *           left to orphans.h. EX_TEMPFAIL: the vault was removed; a new process makes it again.
 *           EX_OSERR: the journal cannot be used.
 * Blocks    yes: it is a process of its own. */
#ifndef MI_RECORD_PROCESS_PROCESS_H
#define MI_RECORD_PROCESS_PROCESS_H

#include "journal/entry_form.h"
#include "journal/journal_file.h"
#include "vault/upkeep/prune/remove.h"

#define PROCESS_GATHER_US 1000
#define PROCESS_GIVE_UP_US 10000000
#define PROCESS_SHUT_US 2000000

struct process_config {
    struct session_start start; /* borrowed */
    const struct retention *retention;
    /* the journal file, opened by the proxy; process_run_recorder() closes its descriptor */
    const struct journal_file *file;
    int control;  /* a channel to the proxy (base/os/pipe.h) */
    int text;     /* a nonblocking pipe; becomes stderr of the process */
    int notifier; /* a channel that takes paths of escalation files; -1: none */
    /* descriptor of the lock from an earlier process of the session (vault/store/running_lock.h);
     * -1: none */
    int lock;
};

/* Runs the recorder process. Call this function in the child, after detach_process(). */
_Noreturn void process_run_recorder(const struct process_config *cfg);

#endif
