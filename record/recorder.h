/* recorder.h - the proxy's side of recording: appends to the journal, and starts and watches the
 * recorder process.
 *
 * `struct recorder` is in the proxy; the process that stores is always called "the recorder
 * process".
 *
 * Messages, events and metadata are appended to the journal in memory (journal/ring.h) during a
 * loop turn. recorder_publish() makes them visible to the recorder process at the end of the turn;
 * only then may the turn's bytes be sent. The recorder process stores the entries
 * (record/process/). If this process dies, another one is started, which continues after the last
 * stored entry.
 *
 * When the journal is half full, the client is read at intervals (recorder_must_slow_client()), so
 * that the journal seldom becomes full. If the journal has no room, nothing is sent and nothing is
 * read until there is room (RECORDER_HOLD). If the recorder cannot store (RING_FAILING, or
 * WORKER_UNABLE processes could not open the journal or their store), or there is no room for
 * RECORDER_PAUSE_US:
 *
 *   on_error = pass   messages are forwarded. Messages that do not fit into the journal are lost
 *                     and counted: an event `gap` says how many and which.
 *                     While the recorder cannot store, the journals of all sessions of the user
 *                     together have the limit max_waiting. The limit is approximate, because the
 *                     other journals are measured only from time to time.
 *   on_error = stop   with the client's next request, or after RECORDER_PAUSE_US, the result is
 *                     RECORDER_FAILED, and the session must end. All forwarded messages are in the
 *                     journal.
 *
 * With sync_full the result is RECORDER_HOLD until everything appended is committed and synced.
 *
 * Entries that do not fit wait in memory until the end of the turn, and during RECORDER_HOLD. This
 * memory is bounded, because nothing is read meanwhile.
 *
 * Owns      the journal, the recorder process, the notifier process, their descriptors and
 *           watchers.
 * Lifetime  all texts are copied during the call.
 * Blocks    recorder_open() with stop_on_error: until the recorder has opened the vault, at most
 *           RECORDER_OPEN_US. recorder_close(): until everything is stored, at most
 *           RECORDER_END_US, or RECORDER_END_FIRST_US as process 1. Otherwise never. */
#ifndef MI_RECORD_RECORDER_H
#define MI_RECORD_RECORDER_H

#include "journal/journal.h"
#include "journal/running.h"
#include "vault/upkeep/prune/remove.h"
#include "wire/schema/tools.h"

#include <ev.h>

#define RECORDER_JOURNAL_MAX ((size_t)64 << 20) /* maximum unstored bytes of a session */
/* a long line waits only while its bytes plus the unstored bytes are more than this */
#define RECORDER_LAG_MAX ((size_t)24 << 20)
/* longest time that a long line waits if it fits into the journal */
#define RECORDER_LAG_US 1000000
/* longest time that a long line waits if it does not fit into the journal */
#define RECORDER_LAG_FULL_US 5000000
#define RECORDER_LONG ((size_t)1 << 20) /* a line with this many bytes or more is a long line */
#define RECORDER_PAUSE_US 10000000
#define RECORDER_OPEN_US 10000000
#define RECORDER_END_US 1000000
/* Replaces RECORDER_END_US in process 1 of a container, whose exit kills all other processes. */
#define RECORDER_END_FIRST_US 4000000
/* time for the recorder process to exit after everything is stored */
#define RECORDER_EXIT_US 50000

enum recorder_result {
    RECORDER_PUBLISHED, /* the turn's bytes may be sent */
    /* nothing may be sent or read; `changed` is called when the turn must be published again */
    RECORDER_HOLD,
    RECORDER_FAILED, /* the session must end (only with stop_on_error) */
};

struct recorder_config {
    const char *vault;   /* directory */
    const char *name;    /* name of the server */
    const char *command; /* JSON array of the server's argv */
    /* text of the rule (wire/mcp/tool_rule.h); borrowed while the recorder is open; {NULL, 0}:
     * none */
    struct slice tools_rule;
    enum record_level level;
    bool sync_full, stop_on_error;
    const char *escalate_command; /* NULL: none */
    struct retention retention;
    /* bytes of the longest message that must fit into the journal; 0: RECORDER_JOURNAL_MAX */
    size_t max_message;
    /* Limit of the bytes in all journals of the user while the vault cannot be written; 0: no
     * limit. */
    uint64_t max_waiting;
    /* gets the pid of a recorder process that is still storing when recorder_close() returns; 0:
     * none. NULL: the caller does not want the pid. */
    pid_t *ret_left;
};

/* Callbacks from the event loop; `data` is the argument of recorder_attach_to_loop(). */
struct recorder_calls {
    /* Called when the turn must be ended again: the callee arranges that recorder_publish() is
     * called. */
    void (*changed)(void *data);
    /* Called with text for our stderr: warnings of the recorder process, output of commands. */
    void (*output)(void *data, struct slice bytes);
    /* Called with the tools of the server's previous session. Takes ownership of *tools. uid: uid
     * of that session. */
    void (*previous_tools)(void *data, struct tools *tools, const char *uid);
};

struct recorder;

/* Makes the journal, and starts the notifier; call this function before anything is open that
 * the notifier must not inherit. With stop_on_error the function also starts the recorder
 * process, and returns MI_ESTORE if the vault cannot be opened or no journal can be made; the
 * reason was logged. Without stop_on_error the session continues in these cases, and a warning
 * says that it is not recorded. Returns 0, MI_ENOMEM, MI_EIO or MI_ESTORE. Strings are copied,
 * apart from tools_rule. */
MI_MUST int recorder_open(struct recorder **ret, const struct recorder_config *cfg);
/* Connects the recorder with the event loop. If no recorder process is running, the loop starts one
 * soon after. */
void recorder_attach_to_loop(struct recorder *r, struct ev_loop *loop,
                             const struct recorder_calls *calls, void *data);
/* Ends the journal and waits until everything is stored; logs a warning if that takes too long.
 * Accepts NULL. */
void recorder_close(struct recorder *r);

const struct journal *recorder_get_journal(const struct recorder *r);
int64_t recorder_now_us(const struct recorder *r); /* microseconds since the session's start */
enum record_level recorder_get_level(const struct recorder *r);
/* Returns the pid of the recorder process; 0: there is none now. child_kill_descendants() must not
 * kill it. */
pid_t recorder_pid(const struct recorder *r);

/* Sets the session's row in the table `running`, and publishes it at once: if this process is
 * killed, the row tells which machine and PID namespace the pids belong to. */
void recorder_record_processes(struct recorder *r, const struct running *running);
/* Sets the server's process group in the journal. If this process is killed, the recorder process
 * kills the group; without a recorder process, `reap` finds the group. NULL: no server runs any
 * more. Only writes shared memory, so the server's process can call it before exec (spawn_fn). */
void recorder_set_server(const struct recorder *r, const struct running *running);
/* Writes an escalation file, or counts another occurrence; the recorder adds server, session and
 * command. */
void recorder_escalate(struct recorder *r, const struct escalation *e);

/* Ends a loop turn: publishes the entries of the turn. */
enum recorder_result recorder_publish(struct recorder *r);
/* Whether a complete line of n bytes must wait before it is handled, so that memory is bounded. A
 * line must wait if it has RECORDER_LONG bytes or more, and its bytes and the unstored bytes are
 * more than RECORDER_LAG_MAX together. It need not wait if everything is stored, if the recorder
 * process cannot store, or after RECORDER_LAG_US. A line that does not fit into the journal waits
 * until RECORDER_LAG_FULL_US, because otherwise it would be copied, and everything would stop
 * (RECORDER_HOLD). */
bool recorder_is_behind(struct recorder *r, size_t n, int64_t waited_us);
/* Call this function after recorder_publish() if a line waits: `changed` is called when
 * recorder_is_behind() must be called again. */
void recorder_set_lag_timer(struct recorder *r, size_t n, int64_t waited_us);
/* Whether the client must not be read now: half of the journal or more is not stored (pace.h). True
 * for at most PACE_MAX_US after a message of the client. `changed` is called when the client may be
 * read again. Call this function after recorder_publish(). */
bool recorder_must_slow_client(struct recorder *r);
/* Returns true if all appended entries are in the journal or, with sync_full, in the database. If
 * recorder_publish() has returned RECORDER_FAILED, the bytes of this turn may be sent only if the
 * result is true. */
bool recorder_has_stored_all_entries(const struct recorder *r);

#endif
