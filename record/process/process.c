#include "record/process/process.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/os/confine.h"
#include "base/os/memory.h"
#include "base/os/pipe.h"
#include "base/os/title.h"
#include "record/process/upkeep.h"
#include "vault/query/tool_list.h"
#include "vault/store/running_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define NICE 5

struct recording {
    const struct process_config *cfg;
    struct journal_file file; /* the journal, which this process has opened itself */
    struct ring ring;
    struct store *store;
    struct upkeep upkeep;
    int lock;          /* owned; descriptor of VAULT/running.lock; -1: there is no lock */
    bool is_open;      /* the proxy was informed that the vault is open */
    bool gone;         /* the proxy has exited */
    bool damaged;      /* nothing more can be read from the journal */
    int64_t ended_us;  /* time when the session ended; 0: it has not ended */
    int64_t stored_us; /* time when an entry was last stored */
    bool shut;         /* the vault could not be opened at the last try */
};

/* ---- the proxy ------------------------------------------------------------------------------ */

static void send_byte_to_proxy(const struct recording *p, char what)
{
    /* an error is ignored: the proxy has exited, or it has many unread bytes already */
    (void)channel_send(p->cfg->control, &what, 1);
}

static void recording_notify_proxy_of_change(void *ctx)
{
    send_byte_to_proxy(ctx, 'c');
}

/* Writes the tools in the form that record/previous_tools.h describes. */
static void write_previous_tools(struct buf *b, const struct tool_list *l)
{
    buf_printf(b, "%s\n", l->uid);
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    json_out_str(&j, "jsonrpc", "2.0");
    json_out_int(&j, "id", 0);
    json_out_object(&j, "result");
    json_out_array(&j, "tools");
    for (size_t i = 0; i < l->tools.n; i++)
        json_out_raw(&j, NULL, l->tools.tool[i].text);
    json_out_end(&j);
    json_out_end(&j);
    json_out_end(&j);
}

/* Sends the tools of the server's previous session as a file in memory, if there is such a
 * session. */
static void recording_send_previous_tools(void *ctx)
{
    struct recording *p = ctx;
    const char *vault = store_get_vault_path(p->store);
    struct query *q = NULL;
    struct tool_list list;
    struct buf text = {0}, error = {0};
    if (vault == NULL)
        return;
    if (query_open(&q, vault, &error) == 0 &&
        tool_list_read(q, store_get_server_name(p->store), TOOL_LIST_RECORDED,
                       store_get_session_uid(p->store), 0, &list) == 0) {
        write_previous_tools(&text, &list);
        tool_list_close(&list);
    }
    query_close(q);
    buf_close(&error);
    int fd = text.n > 0 && !text.failed ? memory_file("mcp-interposer-tools") : -1;
    if (fd >= 0 && pwrite(fd, text.p, text.n, 0) == (ssize_t)text.n &&
        !channel_send_file(p->cfg->control, 't', fd))
        log_debug("the tools will not be compared with those of the previous session: %s",
                  strerror(errno));
    if (fd >= 0)
        close(fd);
    buf_close(&text);
}

static void recording_on_escalated(void *ctx, enum escalation_cause cause, const char *path)
{
    struct recording *p = ctx;
    log_error("the server needs attention: server=%s cause=%s file=%s",
              store_get_server_name(p->store), escalation_cause_name(cause), path);
    if (p->cfg->notifier >= 0)
        (void)channel_send(p->cfg->notifier, path, strlen(path));
}

/* Opens the lock file, and passes its descriptor to the proxy before the lock is taken, so that the
 * lock remains if this process is killed. */
static bool share_lock_with_proxy(struct recording *p, int vault)
{
    if (p->lock >= 0 && running_lock_is_file_of_vault(p->lock, vault))
        return true;
    if (p->lock >= 0)
        close(p->lock);
    p->lock = running_lock_open(vault);
    if (p->lock >= 0 && channel_send_file(p->cfg->control, 'l', p->lock))
        return true;
    if (p->lock >= 0)
        close(p->lock);
    p->lock = -1;
    return false;
}

static void recording_on_session_begun(void *ctx, int vault, int64_t session_id)
{
    struct recording *p = ctx;
    int st =
        share_lock_with_proxy(p, vault) ? running_lock_take(p->lock, vault, session_id) : MI_EIO;
    /* MI_EFULL: a session of an earlier database, with the same id, has the lock */
    if (st == MI_EFULL) {
        running_lock_remove(vault);
        st = share_lock_with_proxy(p, vault) ? running_lock_take(p->lock, vault, session_id)
                                             : MI_EIO;
    }
    if (st < 0)
        log_debug("cannot take the lock of the session: %s", strerror(errno));
}

static bool recording_has_ended(const struct recording *p)
{
    return p->gone || atomic_load(&p->ring.shared->ended) != 0;
}

_Noreturn static void exit_after_error(const char *what)
{
    log_error("the recorder process cannot %s: %s", what, strerror(errno));
    _exit(EX_OSERR);
}

/* Receives the proxy's datagrams, and finds out whether the proxy has exited. If the proxy was
 * killed, kills the proxy's server. */
static void listen_to_proxy(struct recording *p)
{
    char what;
    ssize_t n = 0;
    while (!p->gone && (n = channel_receive(p->cfg->control, &what, 1, NULL)) > 0)
        continue;
    if (n == MI_ENOENT) {
        pid_t group = atomic_load(&p->ring.shared->server_group);
        p->gone = true;
        if (atomic_load(&p->ring.shared->ended) == 0 && group > 1 && group != getpgrp())
            kill(-group, SIGKILL);
    } else if (n < 0) {
        /* The proxy may still run, so its server must not be killed. */
        exit_after_error("receive from the proxy");
    }
    if (p->ended_us == 0 && recording_has_ended(p))
        p->ended_us = clock_mono_us();
}

/* Waits for a message of the proxy, at most `us` microseconds; -1: without a limit. */
static void wait_for_proxy(const struct recording *p, int64_t us)
{
    struct pollfd f = {p->cfg->control, POLLIN, 0};
    int64_t ms = us > 0 ? us / 1000 + 1 : us;
    (void)poll(&f, p->gone ? 0 : 1, ms < INT_MAX ? (int)ms : INT_MAX);
}

/* ---- storing -------------------------------------------------------------------------------- */

_Noreturn static void exit_recorder(struct recording *p, int status)
{
    upkeep_close(&p->upkeep);
    store_close(p->store);
    _exit(status);
}

/* Call this function when everything is open: the process then needs only the vault and the
 * journals. */
static void confine_process_once(struct recording *p)
{
    if (p->is_open)
        return;
    int dir[] = {store_get_vault_fd(p->store), journal_file_open_dir()};
    size_t n = dir[1] >= 0 ? 2 : 1;
    struct ring_shared *shared = p->ring.shared;
    atomic_store(&shared->confined, (uint32_t)confine_self(dir, n));
    atomic_store(&shared->filtered, confine_system_calls(&shared->denied) == 0);
    if (n > 1)
        close(dir[1]);
    p->is_open = true;
    send_byte_to_proxy(p, 'o');
}

/* Handles the result of a call of the store. Returns the pause before the next try, in
 * microseconds. */
static int64_t handle_store_result(struct recording *p, enum store_result result)
{
    p->shut = result == STORE_FAILING && store_get_vault_path(p->store) == NULL;
    switch (result) {
    case STORE_DONE:
        confine_process_once(p);
        return 0;
    case STORE_BUSY:
        return 0; /* no pause, because the store has already waited for the database's lock */
    case STORE_FAILING:
        upkeep_pause(&p->upkeep);
        store_write_escalations_early(p->store, &p->ring);
        return STORE_RETRY_US;
    case STORE_GONE:
        exit_recorder(p, EX_TEMPFAIL);
    case STORE_DAMAGED:
        log_error("the journal is damaged, the rest of the session is not recorded: session=%s",
                  store_get_session_uid(p->store));
        p->damaged = true;
        if (ring_set_recorder_trouble(&p->ring, RING_FAILING))
            send_byte_to_proxy(p, 'c');
        return 0;
    }
    return 0;
}

/* Stores all published entries. Returns the pause before the next try, in microseconds; -1: all are
 * stored. */
static int64_t store_published_entries(struct recording *p)
{
    while (!p->damaged) {
        size_t n;
        enum store_result result = store_batch(p->store, &p->ring, &n);
        int64_t pause_us = handle_store_result(p, result);
        if (result == STORE_DONE && n > 0) {
            p->stored_us = clock_mono_us();
            upkeep_checkpoint_if_needed(&p->upkeep);
        } else if (result != STORE_DAMAGED) {
            return result == STORE_DONE ? -1 : pause_us;
        }
        listen_to_proxy(p);
    }
    return -1;
}

static void recording_store_during_pause(void *ctx)
{
    struct recording *p = ctx;
    listen_to_proxy(p);
    (void)store_published_entries(p); /* after a failure the loop tries again */
}

/* ---- the end -------------------------------------------------------------------------------- */

/* Ends the session after everything was stored. Returns the pause before the next try, in
 * microseconds. */
static int64_t end_stored_session(struct recording *p)
{
    upkeep_close(&p->upkeep);
    enum store_result result = store_end_session(p->store, &p->ring);
    if (result != STORE_DONE)
        return handle_store_result(p, result);
    journal_file_remove(&p->file);
    if (store_step != NULL)
        store_step("removed");
    exit_recorder(p, EX_OK);
}

/* Exits if the session has ended and nothing could be stored for too long. */
static void exit_if_storing_takes_too_long(struct recording *p)
{
    int64_t most_us = p->shut ? PROCESS_SHUT_US : PROCESS_GIVE_UP_US;
    int64_t since_us = p->stored_us > p->ended_us ? p->stored_us : p->ended_us;
    if (p->ended_us == 0 || clock_mono_us() < since_us + most_us)
        return;
    log_error("some messages were not recorded: session=%s%s", store_get_session_uid(p->store),
              p->file.has_name ? "; the next command that reads this vault tries again" : "");
    exit_recorder(p, EX_UNAVAILABLE);
}

/* ---- the loop ------------------------------------------------------------------------------- */

static void run_recording(struct recording *p)
{
    for (;;) {
        listen_to_proxy(p);
        bool ended = recording_has_ended(p);
        int64_t pause_us = store_published_entries(p);
        if (pause_us < 0 && ended)
            pause_us = end_stored_session(p);
        if (pause_us >= 0) {
            exit_if_storing_takes_too_long(p);
            wait_for_proxy(p, pause_us);
            continue;
        }
        int64_t us = upkeep_run_when_idle(&p->upkeep);
        listen_to_proxy(p);
        if (!recording_has_ended(p) && (p->damaged || ring_put_reader_to_sleep(&p->ring))) {
            wait_for_proxy(p, us);
            ring_mark_reader_awake(&p->ring);
        }
        /* Wait for further entries, to store them in the same transaction. */
        if (!p->cfg->start.sync_full && !recording_has_ended(p))
            nanosleep(&(struct timespec){0, PROCESS_GATHER_US * 1000}, NULL);
    }
}

void process_run_recorder(const struct process_config *cfg)
{
    static const struct store_calls calls = {.begun = recording_on_session_begun,
                                             .changed = recording_notify_proxy_of_change,
                                             .tools_wanted = recording_send_previous_tools,
                                             .escalated = recording_on_escalated};
    struct recording p = {.cfg = cfg, .lock = cfg->lock};
    title_set("mcp-recorder", "mcp-interposer: recorder of %.*s", (int)cfg->start.name.n,
              cfg->start.name.p);
    if (journal_file_reopen(&p.file, cfg->file) < 0 || ring_open(&p.ring, p.file.fd) < 0)
        exit_after_error("open the journal");
    /* if this process kept the descriptor, the writer's lock would outlive the writer */
    close(cfg->file->fd);
    if (nice(NICE) < 0)
        log_debug("the recorder runs with normal priority");
    if (store_open(&p.store, &cfg->start, &calls, &p) < 0)
        exit_after_error("open its store");
    atomic_store(&p.ring.shared->reader_pid, getpid());
    store_take_over_journal(p.store, &p.ring);
    upkeep_open(&p.upkeep, p.store, cfg->retention, recording_store_during_pause, &p);
    run_recording(&p);
    exit_recorder(&p, EX_SOFTWARE);
}
