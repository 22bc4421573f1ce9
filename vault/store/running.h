/* running.h - the table `running`: the running proxies and their servers, so that the processes of
 * a killed proxy can be found and stopped; and the facts that say whether a session runs
 * (model/liveness.h).
 *
 * The table has one row for each session that has not ended. A process is identified by its id and
 * start time, within one boot of the machine and one PID namespace; if the boot or the namespace
 * differs, the state of the process is unknown. Names of processes are not compared. A process
 * group whose leader has exited is identified by the session (setsid(2)) of its members, and by
 * start times: no member is older than the leader.
 *
 * Owns      a list owns its rows; running_list_close() frees them.
 * Errors    one sentence in `error`.
 * Blocks    on the disk and up to RUNNING_WAIT_MS for a locked database. */
#ifndef MI_VAULT_STORE_RUNNING_H
#define MI_VAULT_STORE_RUNNING_H

#include "base/buf.h"
#include "journal/running.h"
#include "model/liveness.h"

#include <sqlite3.h>

#define RUNNING_WAIT_MS 2000
#define RUNNING_ROWS_MAX 4096

struct running_row {
    int64_t session_id;
    char uid[32], name[80], host[256], client[80]; /* `client` is clientInfo.name, or "" */
    /* `last_at_us`: time of the last message; without messages, the start of the session */
    int64_t started_at_us, last_at_us;
    bool ended; /* true: the session has ended, but its row in `running` still exists */
    struct running r;
};

struct running_list {
    struct running_row *row; /* owned */
    size_t n;
    int lock; /* owned; descriptor of VAULT/running.lock; -1: the file does not exist */
};

/* Reads the table, ordered by session. The list is empty if the vault does not have the table: an
 * older version made the vault, or nothing was recorded yet. Returns 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int running_list_open(struct running_list *ret, const char *vault, struct buf *error);
void running_list_close(struct running_list *l); /* safe to call twice */
/* Whether the table `running` has a row. Returns false also if the table cannot be read. */
bool running_list_has_rows(sqlite3 *db);
/* Reads the row of one session. Returns 0, MI_ENOENT (the session has no row) or MI_ESTORE (see
 * failure.h). */
MI_MUST int running_list_read_row(sqlite3 *db, int64_t session_id, struct running *ret);

/* The facts about the process of a session, from its rows in `sessions` and `running`. Without a
 * row in `running`, only the member `pid` of `r` is set. */
struct running_session {
    int64_t id, started_at_us;
    bool ended;
    struct slice host;
    struct running r;
};
/* Returns whether a session runs. lock: the result of running_lock_open_existing(). */
enum session_state get_running_session_state(const struct running_session *s, int lock);
/* Returns whether the session of a row runs. Never returns SESSION_ENDED, because processes of the
 * server may still run after the end of the session. */
enum session_state running_row_get_state(const struct running_list *l,
                                         const struct running_row *row);
/* Whether this is the host name of this machine. */
bool running_session_is_on_this_host(struct slice name);
/* Whether a proxy may be running with this vault. */
bool running_list_has_any_proxy(const char *vault);
/* Whether process ids of the row are valid here: in this boot and this PID namespace. */
bool running_pids_are_valid(const struct running *r);
/* Whether the process that started the interposer has exited. Call it only if
 * running_pids_are_valid(). */
bool running_client_has_exited(const struct running *r);
/* Sets `ret` to the live processes of the server's group, at most `max` of them. Returns their
 * number. Returns 0 if there are none, or if another group may have the same id by now. */
size_t read_running_process_group(const struct running *r, struct process *ret, size_t max);

/* Closes the session of a dead proxy, unless it is closed already: sets its end_reason to `killed`,
 * and its end to the time of its last message. A closed session is sealed again if its recorder has
 * stored more records since the seal. forget: also removes the session's row in `running`, because
 * no process of the server runs. Returns 0, MI_ESTORE or MI_ENOMEM. */
MI_MUST int end_dead_running_session(const char *vault, int64_t session_id, bool forget,
                                     struct buf *error);
/* Calls end_dead_running_session() for the session of every proxy that has exited, unless a journal
 * of the session will be stored. Keeps the row of a session while processes of its server's group
 * run. Returns 0, MI_ESTORE or MI_ENOMEM; after an error, the next proxy tries again. */
int running_list_close_dead_sessions(const char *vault);

#endif
