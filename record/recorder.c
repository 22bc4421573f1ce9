/* recorder.c - opens the recorder, publishes the entries at the end of each turn, and closes it. */
#include "record/recorder.h"

#include "base/clock.h"
#include "base/log.h"
#include "record/previous_tools.h"
#include "record/state.h"
#include "redact/sanitizer.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Bytes of the journal that a message may need besides its body. */
#define RECORD_EXTRA ((size_t)64 << 10)

/* ---- calls of the recorder process ---------------------------------------------------------- */

static void recorder_on_report(void *data, char what, int fd)
{
    struct recorder *r = data;
    struct tools tools = {0};
    if (what == 'l' && fd >= 0) {
        if (r->lock >= 0)
            close(r->lock);
        r->lock = fd;
        return;
    }
    char uid[UID_LEN + 1];
    bool found = what == 't' && previous_tools_read(fd, &tools, uid);
    if (fd >= 0)
        close(fd);
    r->tools_wanted &= what != 't';
    if (found && r->calls.previous_tools != NULL)
        r->calls.previous_tools(r->data, &tools, uid);
    else if (found)
        tools_close(&tools);
    if (what == 'c' && r->loop != NULL && r->calls.changed != NULL)
        r->calls.changed(r->data);
}

static void recorder_on_output(void *data, struct slice bytes)
{
    struct recorder *r = data;
    if (r->calls.output != NULL)
        r->calls.output(r->data, bytes);
    else
        while (bytes.n > 0) {
            ssize_t n = write(STDERR_FILENO, bytes.p, bytes.n);
            if (n <= 0)
                return;
            bytes = (struct slice){bytes.p + n, bytes.n - (size_t)n};
        }
}

static void recorder_on_restart(void *data)
{
    append_metadata_for_new_recorder(data);
}

/* ---- opening -------------------------------------------------------------------------------- */

static char *copy_string(const char *s)
{
    return s != NULL ? strdup(s) : NULL;
}

/* Makes the path absolute. The vault may not exist yet. */
static char *make_path_absolute(const char *path)
{
    struct buf b = {0};
    char *real = realpath(path, NULL), *here = NULL;
    if (real != NULL || path[0] == '/' || (here = getcwd(NULL, 0)) == NULL)
        return real != NULL ? real : strdup(path);
    buf_printf(&b, "%s/%s", here, path);
    free(here);
    char *text = b.failed ? NULL : strdup(buf_str(&b));
    buf_close(&b);
    return text;
}

static int copy_config(struct recorder *r, const struct recorder_config *cfg)
{
    r->cfg = *cfg;
    r->cfg.escalate_command = NULL; /* only the notifier needs the command, and has a copy */
    r->cfg.vault = make_path_absolute(cfg->vault);
    r->cfg.name = copy_string(cfg->name);
    r->cfg.command = copy_string(cfg->command);
    if (gethostname(r->host, sizeof r->host - 1) != 0)
        memcpy(r->host, "unknown", sizeof "unknown");
    if (getcwd(r->cwd, sizeof r->cwd) == NULL)
        r->cwd[0] = '\0'; /* the working directory was removed, or its path is too long */
    struct redact *rules = redact_get_current_sanitizer();
    if (rules != NULL)
        redact_write_rules(rules, &r->rules);
    return r->cfg.vault == NULL || r->cfg.name == NULL || r->cfg.command == NULL ? MI_ENOMEM : 0;
}

static void fill_session_start(struct recorder *r, int64_t wall_us)
{
    r->start = (struct session_start){
        .uid = slice_of(r->uid),
        .vault = slice_of(r->cfg.vault),
        .name = slice_of(r->cfg.name),
        .command = slice_of(r->cfg.command),
        .host = slice_of(r->host),
        .tools_rule = r->cfg.tools_rule,
        .level = r->cfg.level,
        .sync_full = r->cfg.sync_full,
        .stop_on_error = r->cfg.stop_on_error,
        .started_wall_us = wall_us,
        .pid = getpid(),
    };
    if (r->rules.n > 0 && !r->rules.failed)
        r->start.redact_rules = buf_slice(&r->rules);
    if (r->cwd[0] == '/')
        r->start.cwd = slice_of(r->cwd);
}

/* Makes the ring; tries smaller sizes if the size of files is limited (RLIMIT_FSIZE). */
static int make_ring(struct recorder *r, struct slice start)
{
    size_t most =
        r->cfg.max_message > RECORDER_JOURNAL_MAX ? r->cfg.max_message : RECORDER_JOURNAL_MAX;
    uint64_t size = 2 * ((uint64_t)most + RECORD_EXTRA);
    int st;
    do {
        st = ring_create(&r->ring, r->file.fd, size, RECORDER_JOURNAL_MAX, start);
        size /= 2;
    } while (st == MI_EIO && errno == EFBIG && size >= RING_STEP / 4);
    return st;
}

/* Makes the journal. If the file system is full, the journal is a file without a name. */
static int make_journal(struct recorder *r)
{
    struct buf start = {0};
    form_append_session_start(&start, &r->start);
    struct buf why = {0};
    int st = start.failed ? MI_ENOMEM : journal_file_create(&r->file, r->uid, &why);
    if (st == 0)
        st = make_ring(r, buf_slice(&start));
    if (st == MI_EIO && errno == ENOSPC && r->file.has_name) {
        buf_adds(&why, strerror(ENOSPC));
        journal_file_remove(&r->file);
        journal_file_close(&r->file);
        st = journal_file_create_unnamed(&r->file, r->uid);
        if (st == 0)
            st = make_ring(r, buf_slice(&start));
    }
    int e = errno;
    if (st == 0 && !r->file.has_name)
        log_warn(
            "messages that are not stored yet will be lost if all processes are killed at once: "
            "%s; choose a directory on tmpfs with --journal-dir",
            buf_str(&why));
    buf_close(&start);
    buf_close(&why);
    errno = e;
    r->has_ring = st == 0;
    r->limit = st == 0 ? r->ring.limit : 0;
    return st;
}

static void open_worker(struct recorder *r)
{
    r->worker.on_report = recorder_on_report;
    r->worker.on_text = recorder_on_output;
    r->worker.on_restart = recorder_on_restart;
    r->worker.data = r;
    r->worker.notifier = &r->notifier.fd;
    r->worker.lock = &r->lock;
    worker_open(&r->worker, &(struct process_config){
                                .start = r->start,
                                .retention = &r->cfg.retention,
                                .file = &r->file,
                                .control = -1,
                                .text = -1,
                                .notifier = -1,
                                .lock = -1,
                            });
}

/* With stop_on_error nothing may be forwarded before the vault is open. If the process cannot open
 * the vault, it writes the reason to stderr. */
static int wait_until_vault_is_open(struct recorder *r)
{
    int64_t until = clock_mono_us() + RECORDER_OPEN_US;
    ring_set_writer_waits(&r->ring, true);
    while (!r->worker.opened && r->worker.pid > 0 && recorder_get_trouble(r) != RING_FAILING) {
        int64_t left = until - clock_mono_us();
        if (left <= 0)
            break;
        worker_wait_for_reports(&r->worker, left);
    }
    ring_set_writer_waits(&r->ring, false);
    if (r->worker.opened)
        return 0;
    worker_kill(&r->worker);
    journal_file_remove(&r->file);
    log_error("cannot record, and --on-record-error is stop");
    return MI_ESTORE;
}

static int fail_recorder_start(struct recorder *r, int st, const char *what)
{
    const char *why = st != MI_ENOMEM ? strerror(errno) : "out of memory";
    journal_file_remove(&r->file);
    if (r->cfg.stop_on_error) {
        log_error("cannot %s: %s", what, why);
        return MI_ESTORE;
    }
    log_warn("cannot %s, continuing without recording: %s", what, why);
    return 0;
}

/* Makes the journal. The recorder process is started later, in the loop, because messages must not
 * wait for a fork, which takes a third of a millisecond. With stop_on_error, messages wait for the
 * vault anyway, so the process is started now. */
static int start_recording(struct recorder *r)
{
    int st = make_journal(r);
    if (st < 0)
        return fail_recorder_start(r, st, "make the journal in memory");
    open_worker(r);
    if (!r->cfg.stop_on_error)
        return 0;
    st = worker_start(&r->worker);
    return st < 0 ? fail_recorder_start(r, st, "start the recorder process")
                  : wait_until_vault_is_open(r);
}

int recorder_open(struct recorder **ret, const struct recorder_config *cfg)
{
    struct recorder *r = calloc(1, sizeof *r);
    if (r == NULL)
        return MI_ENOMEM;
    int64_t wall_us = clock_wall_us();
    r->started_mono_us = clock_mono_us();
    r->pause_us = RECORDER_PAUSE_US;
    r->end_us = getpid() == 1 ? RECORDER_END_FIRST_US : RECORDER_END_US;
    r->lock = r->file.fd = r->notifier.fd = r->worker.control = r->worker.text = -1;
    waits_open_timers(r);
    int st = uid_make(wall_us, r->uid);
    if (st < 0)
        log_error("cannot get random numbers: %s", strerror(errno));
    else
        st = copy_config(r, cfg);
    if (st == 0) {
        append_open_journal(r);
        fill_session_start(r, wall_us);
        notifier_open(&r->notifier, cfg->escalate_command, cfg->name, NOTIFIER_LIMIT_US);
        st = start_recording(r);
    }
    if (st < 0) {
        r->has_ring = false; /* nothing was appended, so recorder_close() need not wait */
        recorder_close(r);
        return st;
    }
    *ret = r;
    return 0;
}

void recorder_attach_to_loop(struct recorder *r, struct ev_loop *loop,
                             const struct recorder_calls *calls, void *data)
{
    r->loop = loop;
    r->calls = *calls;
    r->data = data;
    if (r->has_ring)
        worker_attach_to_loop(&r->worker, loop);
    notifier_attach_to_loop(&r->notifier, loop, recorder_on_output, r);
}

/* ---- the end of a turn ---------------------------------------------------------------------- */

static void publish_to_process(struct recorder *r)
{
    if (ring_publish_records(&r->ring))
        worker_wake(&r->worker);
}

/* Decides what happens to a turn whose entries are not all in the journal or, with sync_full, not
 * all in the database. */
static enum recorder_result recorder_postpone_turn(struct recorder *r, bool moved, bool failing,
                                                   int64_t now)
{
    if (r->waits_since_us == 0)
        r->waits_since_us = now;
    if (!failing && now - r->waits_since_us < r->pause_us)
        return RECORDER_HOLD;
    if (r->cfg.stop_on_error)
        return RECORDER_FAILED;
    if (!moved)
        append_drop_waiting_messages(r);
    return RECORDER_PUBLISHED;
}

static enum recorder_result recorder_end_turn(struct recorder *r)
{
    bool asked = r->asked;
    r->asked = false;
    bound_update_limit(r);
    bool moved = append_waiting_entries(r);
    publish_to_process(r);
    if (moved && !r->cfg.stop_on_error && !r->cfg.sync_full) { /* most turns */
        r->waits_since_us = 0;
        return RECORDER_PUBLISHED;
    }
    int64_t now = clock_mono_us();
    bool failing = recorder_get_trouble(r) == RING_FAILING || r->worker.unable >= WORKER_UNABLE ||
                   (r->worker.gone_since_us != 0 && now - r->worker.gone_since_us >= r->pause_us);
    bool waits = !moved || (r->cfg.sync_full && !ring_has_stored_everything(&r->ring));
    /* If storing fails, the session ends at the next request, and the answer tells the client
     * why. */
    r->failed |=
        r->cfg.stop_on_error && ((failing && (asked || waits)) || r->lost.n > 0 || r->body_lost);
    if (r->failed)
        return RECORDER_FAILED;
    if (waits)
        return recorder_postpone_turn(r, moved, failing, now);
    r->waits_since_us = 0;
    return RECORDER_PUBLISHED;
}

enum recorder_result recorder_publish(struct recorder *r)
{
    if (!r->has_ring)
        return RECORDER_PUBLISHED;
    enum recorder_result result = recorder_end_turn(r);
    if (result == RECORDER_HOLD) {
        ring_set_writer_waits(&r->ring, true);
        /* the state may have changed before the callbacks were set */
        result = recorder_end_turn(r);
    }
    if (result != RECORDER_HOLD)
        ring_set_writer_waits(&r->ring, false);
    waits_set_pause_timer(r, result == RECORDER_HOLD ? r->waits_since_us + r->pause_us : 0);
    waits_start_idle_timer(r);
    return result;
}

bool recorder_has_stored_all_entries(const struct recorder *r)
{
    return r->has_ring && r->waiting.n == 0 && r->lost.n == 0 &&
           (!r->cfg.sync_full || ring_has_stored_everything(&r->ring));
}

/* ---- the end of the session ----------------------------------------------------------------- */

/* Whether the requested previous tools may still arrive: in a short session they arrive at its end.
 * The recorder process sends them before it stores the entry with the request, so they have arrived
 * when that entry is stored. */
static bool recorder_waits_for_tools(struct recorder *r)
{
    if (!r->tools_wanted || !ring_has_stored_everything(&r->ring))
        return r->tools_wanted;
    r->tools_wanted = false;
    worker_wait_for_reports(&r->worker, 0);
    return false;
}

/* Waits until everything is stored, at most r->end_us microseconds. If no recorder process runs,
 * starts one, but only once. */
static void store_remaining_entries(struct recorder *r)
{
    int64_t until = clock_mono_us() + r->end_us;
    bool ended = false, tried = false;
    for (;;) {
        ring_set_writer_waits(&r->ring, true);
        bool more = recorder_waits_for_tools(r), moved = append_waiting_entries(r);
        publish_to_process(r);
        if (moved && !more && !ended) {
            if (ring_mark_ended(&r->ring))
                worker_wake(&r->worker);
            ended = true;
        }
        int64_t left = until - clock_mono_us();
        if ((ended && ring_is_finished(&r->ring)) || left <= 0)
            break;
        if (r->worker.pid == 0) {
            if (tried || worker_start(&r->worker) < 0)
                break;
            tried = true;
        }
        worker_wait_for_reports(&r->worker, left);
    }
    if (ended)
        return;
    if (r->waiting.n > 0)
        append_drop_waiting_messages(r);
    append_final_lost_report(r);
    if (ring_mark_ended(&r->ring))
        worker_wake(&r->worker);
}

static void wait_for_exit(struct recorder *r)
{
    int64_t until = clock_mono_us() + RECORDER_EXIT_US;
    for (int64_t left; r->worker.pid > 0 && (left = until - clock_mono_us()) > 0;)
        worker_wait_for_reports(&r->worker, left);
}

static void log_unstored_entries(const struct recorder *r)
{
    unsigned long long behind = ring_count_unread_bytes(&r->ring);
    if (r->lost.n > 0)
        log_error("some messages were not recorded: lost=%llu", (unsigned long long)r->lost.n);
    if (behind == 0)
        return;
    if (recorder_get_trouble(r) == RING_FAILING && r->file.has_name)
        log_warn(
            "the session's last messages are not stored: the vault cannot be written; the messages "
            "wait in memory for the next command that uses the vault: bytes=%llu session=%s",
            behind, r->uid);
    else if (r->worker.pid > 0)
        log_warn("the session's last messages are not stored yet; the recorder process continues: "
                 "bytes=%llu pid=%d",
                 behind, (int)r->worker.pid);
    else if (r->file.has_name)
        log_warn("the session's last messages are not stored yet; the next command that uses the "
                 "vault stores them: bytes=%llu session=%s",
                 behind, r->uid);
    else
        log_error("some messages were not recorded: bytes=%llu", behind);
}

void recorder_close(struct recorder *r)
{
    if (r == NULL)
        return;
    waits_stop_timers(r);
    worker_stop_watching(&r->worker);
    r->loop = NULL;
    if (r->has_ring) {
        store_remaining_entries(r);
        if (ring_is_finished(&r->ring))
            wait_for_exit(r);
        log_unstored_entries(r);
    } else if (r->lost.n > 0) {
        log_error("no message was recorded: lost=%llu", (unsigned long long)r->lost.n);
    }
    if (r->cfg.ret_left != NULL)
        *r->cfg.ret_left = r->worker.pid;
    worker_close(&r->worker);
    notifier_close(&r->notifier);
    ring_close(&r->ring);
    journal_file_close(&r->file);
    if (r->lock >= 0)
        close(r->lock);
    buf_close(&r->waiting);
    buf_close(&r->rules);
    session_facts_close(&r->facts);
    free((void *)(uintptr_t)r->cfg.vault);
    free((void *)(uintptr_t)r->cfg.name);
    free((void *)(uintptr_t)r->cfg.command);
    free(r);
}

/* ---- the session ---------------------------------------------------------------------------- */

const struct journal *recorder_get_journal(const struct recorder *r)
{
    return &r->journal;
}

int64_t recorder_now_us(const struct recorder *r)
{
    return recorder_elapsed_us(r);
}

enum record_level recorder_get_level(const struct recorder *r)
{
    return r->cfg.level;
}

pid_t recorder_pid(const struct recorder *r)
{
    return r->worker.pid;
}

void recorder_set_server(const struct recorder *r, const struct running *running)
{
    if (r->has_ring)
        running_share_server(running, r->ring.shared);
}

void recorder_record_processes(struct recorder *r, const struct running *running)
{
    r->facts.running = *running;
    r->facts.has_running = true;
    append_entry(r, &(struct entry){.kind = ENTRY_RUNNING, .running = *running});
    if (r->has_ring)
        publish_to_process(r);
}
