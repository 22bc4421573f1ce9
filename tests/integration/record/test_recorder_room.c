/* The proxy's side of recording with a recorder process that stores, stops, fails and exits as the test says: what
 * is held, forwarded, lost and reported. */
#include "record/recorder.h"

#include "tests/support/journals_unit.h"

#include "base/clock.h"
#include "journal/ring.h"
#include "record/state.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>

#define MIB ((size_t)1 << 20)
#define SEEN_MAX 8192
#define DEADLINE_US 30000000

/* ---- the recorder process ------------------------------------------------------------------- */

/* What the process found. */
struct seen {
    uint32_t kind;
    uint64_t seq; /* ENTRY_LOST: n */
    uint64_t last_seq;
    bool has_body;
    findings findings;
    pid_t pid;
    char text[32]; /* name of an event, or end_reason */
};

/* In memory that the test shares with it. */
struct orders {
    _Atomic bool silent; /* does not report that the vault is open */
    _Atomic bool stores;
    _Atomic int trouble;
    _Atomic int exit; /* status + 1; 0: no exit */
    _Atomic size_t n;
    struct seen seen[SEEN_MAX];
};
static struct orders *orders;

static void note(uint32_t kind, const struct entry *e)
{
    struct seen s = {.kind = kind, .pid = getpid()};
    if (kind == ENTRY_MESSAGE) {
        s.seq = e->row.seq;
        s.has_body = e->row.body.p != NULL;
        s.findings = e->row.findings;
    } else if (kind == ENTRY_LOST) {
        s.seq = e->lost.n;
        s.last_seq = e->lost.last_seq;
    } else if (kind == ENTRY_EVENT) {
        snprintf(s.text, sizeof s.text, "%s", e->row.event);
    } else if (kind == ENTRY_UPDATE) {
        snprintf(s.text, sizeof s.text, "%.*s", (int)e->update.end_reason.n,
                 e->update.end_reason.p != NULL ? e->update.end_reason.p : "");
    }
    if (orders->n < SEEN_MAX)
        orders->seen[orders->n] = s;
    orders->n++;
}

/* The previous tools: none, of a session that had a list. */
static void send_tools(int control)
{
    static const char text[] = "01ARZ3NDEKTSV4RRFFQ69G5FAV\n"
                               "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"tools\":[]}}\n";
    int fd = memfd_create("tools", MFD_CLOEXEC);
    if (fd < 0 || write(fd, text, sizeof text - 1) != (ssize_t)sizeof text - 1)
        _exit(97);
    char what = 't';
    struct iovec v = {&what, 1};
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof fd)];
    } fds = {0};
    struct msghdr m = {.msg_iov = &v,
                       .msg_iovlen = 1,
                       .msg_control = fds.bytes,
                       .msg_controllen = sizeof fds.bytes};
    struct cmsghdr *c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(c), &fd, sizeof fd);
    if (sendmsg(control, &m, MSG_NOSIGNAL) != 1)
        _exit(96);
    close(fd);
}

static void store(struct ring *r, int control)
{
    uint32_t kind;
    struct slice bytes;
    uint64_t at;
    struct entry e;
    while (ring_read_next_record(r, &kind, &bytes, &at) == 0) {
        if (form_read_entry((enum entry_kind)kind, bytes, &e) < 0)
            _exit(99);
        if (kind == ENTRY_TOOLS_WANTED)
            send_tools(control);
        note(kind, &e);
    }
}

static void say(const struct process_config *cfg, char what)
{
    (void)send(cfg->control, &what, 1, MSG_NOSIGNAL);
}

_Noreturn void __wrap_process_run_recorder(const struct process_config *cfg);
_Noreturn void __wrap_process_run_recorder(const struct process_config *cfg)
{
    struct ring r;
    struct journal_file f;
    char c;
    int trouble = RING_FINE;
    if (journal_file_reopen(&f, cfg->file) < 0 || ring_open(&r, f.fd) < 0)
        _exit(98);
    close(cfg->file->fd);
    if (ring_release_records(&r))
        say(cfg, 'c');
    if (!orders->silent)
        say(cfg, 'o');
    for (;;) {
        if (orders->exit != 0)
            _exit(orders->exit - 1);
        if (trouble != orders->trouble) {
            trouble = orders->trouble;
            if (ring_set_recorder_trouble(&r, (enum ring_trouble)trouble))
                say(cfg, 'c');
        }
        if (orders->stores) {
            uint64_t before = r.at;
            store(&r, cfg->control);
            if (r.at != before && ring_release_records(&r))
                say(cfg, 'c');
        }
        if (ring_is_finished(&r)) {
            journal_file_remove(&f);
            _exit(0);
        }
        ssize_t n = recv(cfg->control, &c, 1, MSG_DONTWAIT);
        if (n == 0)
            _exit(0);
        nanosleep(&(struct timespec){0, 200000}, NULL);
    }
}

/* ---- the fixture ---------------------------------------------------------------------------- */

static int forks_allowed;
pid_t __real_fork(void);
pid_t __wrap_fork(void);
pid_t __wrap_fork(void)
{
    if (forks_allowed-- > 0)
        return __real_fork();
    errno = EAGAIN;
    return -1;
}

struct fixture {
    struct temp t;
    struct recorder *r;
    struct ev_loop *loop;
    int changed;
    uint64_t added;
};

static void limit_files(rlim_t bytes)
{
    struct rlimit l;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &l), 0);
    l.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &l), 0);
}

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    temp_make(&f.t);
    journals_begin();
    forks_allowed = 1000;
    orders = mmap(NULL, sizeof *orders, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(orders, MAP_FAILED);
    orders->stores = true;
    f.loop = ev_default_loop(EVFLAG_AUTO);
    assert_non_null(f.loop);
    signal(SIGXFSZ, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    said_begin();
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    limit_files(RLIM_INFINITY);
    orders->stores = true;
    recorder_close(f->r);
    while (waitpid(-1, NULL, 0) > 0) /* those that recorder_close() did not wait for */
        continue;
    munmap(orders, sizeof *orders);
    said_end();
    temp_remove(&f->t);
    journals_end();
    return 0;
}

static struct recorder_config config(struct fixture *f)
{
    return (struct recorder_config){.vault = f->t.vault, .name = "files", .command = "[\"files\"]"};
}

static void on_changed(void *data)
{
    struct fixture *f = data;
    f->changed++;
}

static void on_output(void *data, struct slice bytes)
{
    (void)data, (void)bytes;
}

static void on_previous_tools(void *data, struct tools *tools, const char *uid)
{
    struct fixture *f = data;
    assert_string_equal(uid, "01ARZ3NDEKTSV4RRFFQ69G5FAV");
    tools_close(tools);
    journal_append_event(recorder_get_journal(f->r), "tool-changed", NULL);
}

static const struct recorder_calls calls = {
    .changed = on_changed, .output = on_output, .previous_tools = on_previous_tools};

static void begin(struct fixture *f, const struct recorder_config *cfg)
{
    assert_int_equal(recorder_open(&f->r, cfg), 0);
    f->r->pause_us = 60 * (int64_t)1000000; /* a test that needs its end sets it */
    recorder_attach_to_loop(f->r, f->loop, &calls, f);
    while (f->r->has_ring && f->r->worker.pid == 0 && f->r->worker.exits == 0)
        ev_run(f->loop, EVRUN_ONCE);
}

static void begin_pass(struct fixture *f)
{
    struct recorder_config cfg = config(f);
    begin(f, &cfg);
}

static void begin_stop(struct fixture *f)
{
    struct recorder_config cfg = config(f);
    cfg.stop_on_error = true;
    begin(f, &cfg);
}

static void close_it(struct fixture *f)
{
    recorder_close(f->r);
    f->r = NULL;
}

/* Appends a message with a body of n bytes, which are overwritten at once. */
static void add(struct fixture *f, size_t n)
{
    char *body = malloc(n);
    assert_non_null(body);
    memset(body, 'x', n);
    struct row row = {.kind = KIND_NOTIFICATION, .body = {body, n}, .size = n};
    assert_int_equal(journal_append(recorder_get_journal(f->r), &row), ++f->added);
    memset(body, '#', n);
    free(body);
}

static enum recorder_result add_and_publish(struct fixture *f, size_t n)
{
    add(f, n);
    return recorder_publish(f->r);
}

/* The client sends a request. */
static enum recorder_result ask_and_publish(struct fixture *f)
{
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}";
    struct row row = {.kind = KIND_REQUEST,
                      .direction = ROW_C2S,
                      .body = {body, sizeof body - 1},
                      .size = sizeof body - 1};
    assert_int_equal(journal_append(recorder_get_journal(f->r), &row), ++f->added);
    return recorder_publish(f->r);
}

/* Appends until nothing fits. Returns the number of messages that are in the journal. */
static uint64_t fill(struct fixture *f)
{
    orders->stores = false;
    for (int i = 0; i < 100; i++) {
        enum recorder_result result = add_and_publish(f, MIB);
        if (result == RECORDER_PUBLISHED)
            continue;
        assert_int_equal(result, RECORDER_HOLD);
        return f->added - 1;
    }
    fail_msg("the journal has no limit");
    return 0;
}

static enum recorder_result publish_until(struct fixture *f, enum recorder_result wanted)
{
    enum recorder_result result = RECORDER_HOLD;
    for (int64_t end = clock_mono_us() + DEADLINE_US; clock_mono_us() < end;) {
        result = recorder_publish(f->r);
        if (result == wanted)
            return result;
        ev_run(f->loop, EVRUN_ONCE); /* ended by a call of `changed` */
    }
    return result;
}

static void run_until_changed(struct fixture *f)
{
    int before = f->changed;
    for (int64_t end = clock_mono_us() + DEADLINE_US; f->changed == before;) {
        assert_true(clock_mono_us() < end);
        ev_run(f->loop, EVRUN_ONCE);
    }
}

static size_t count_of(uint32_t kind)
{
    size_t n = 0;
    for (size_t i = 0; i < orders->n; i++)
        n += orders->seen[i].kind == kind;
    return n;
}

static const struct seen *first_of(uint32_t kind)
{
    for (size_t i = 0; i < orders->n; i++)
        if (orders->seen[i].kind == kind)
            return &orders->seen[i];
    fail_msg("no entry of kind %u", kind);
    return NULL;
}

/* Every message is there once, in order, except those that an entry says are lost. Returns how many are lost. */
static uint64_t check_order(struct fixture *f)
{
    uint64_t next = 1, lost = 0;
    for (size_t i = 0; i < orders->n; i++) {
        const struct seen *s = &orders->seen[i];
        if (s->kind == ENTRY_MESSAGE) {
            assert_int_equal(s->seq, next);
            next++;
        } else if (s->kind == ENTRY_LOST) {
            assert_int_equal(s->last_seq, next + s->seq - 1);
            next += s->seq;
            lost += s->seq;
        }
    }
    assert_int_equal(next, f->added + 1);
    return lost;
}

static void wait_for_no_process(struct fixture *f, pid_t pid)
{
    for (int64_t end = clock_mono_us() + DEADLINE_US; recorder_pid(f->r) == pid;) {
        assert_true(clock_mono_us() < end);
        ev_run(f->loop, EVRUN_ONCE);
    }
}

/* ---- tests ---------------------------------------------------------------------------------- */

static void test_recorder_entries_arrive_in_order(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(add_and_publish(f, 100), RECORDER_PUBLISHED);
    journal_append_event(recorder_get_journal(f->r), "spawn", "{}");
    journal_append_session_update(recorder_get_journal(f->r),
                          &(struct session_update){.end_reason = slice_of("done")});
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_string_equal(first_of(ENTRY_EVENT)->text, "spawn");
    assert_string_equal(first_of(ENTRY_UPDATE)->text, "done");
    assert_int_equal(said_lines(), 0);
}

static void test_recorder_entries_are_invisible_before_they_are_published(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    add(f, 10);
    assert_int_equal(ring_count_unread_bytes(&f->r->ring), 0);
    assert_int_equal(recorder_publish(f->r), RECORDER_PUBLISHED);
    close_it(f);
    assert_int_equal(orders->n, 1);
}

static void test_recorder_full_journal_holds_traffic_until_there_is_room(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    uint64_t n = fill(f);
    assert_in_range(n, 60, 64);
    assert_int_equal(recorder_publish(f->r), RECORDER_HOLD);
    assert_false(recorder_has_stored_all_entries(f->r));
    add(f, 10); /* such as an answer to a request whose deadline has passed */
    assert_int_equal(recorder_publish(f->r), RECORDER_HOLD);
    orders->stores = true;
    run_until_changed(f);
    assert_int_equal(publish_until(f, RECORDER_PUBLISHED), RECORDER_PUBLISHED);
    assert_true(recorder_has_stored_all_entries(f->r));
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_int_equal(said_lines(), 0);
}

static void test_recorder_pass_loses_messages_when_the_pause_is_over(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    uint64_t kept = fill(f);
    f->r->pause_us = 20000;
    assert_int_equal(publish_until(f, RECORDER_PUBLISHED), RECORDER_PUBLISHED);
    for (int i = 0; i < 10; i++)
        assert_int_equal(add_and_publish(f, 1000), RECORDER_PUBLISHED); /* at once */
    assert_in_range(f->r->waiting.cap, 0, MIB);                         /* nothing piles up */
    orders->stores = true;
    for (int64_t end = clock_mono_us() + DEADLINE_US; !recorder_has_stored_all_entries(f->r);) {
        assert_true(clock_mono_us() < end);
        assert_int_equal(recorder_publish(f->r), RECORDER_PUBLISHED);
    }
    assert_int_equal(add_and_publish(f, 1000), RECORDER_PUBLISHED);
    close_it(f);
    assert_int_equal(check_order(f), 11);
    assert_int_equal(count_of(ENTRY_LOST), 1);
    assert_int_equal(count_of(ENTRY_MESSAGE), kept + 1);
    assert_true(said_holds("messages are not recorded"));
    assert_true(said_holds("recording again: lost=11"));
}

static void test_recorder_pass_keeps_metadata_while_messages_are_lost(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    (void)fill(f);
    orders->trouble = RING_FAILING;
    assert_int_equal(publish_until(f, RECORDER_PUBLISHED), RECORDER_PUBLISHED);
    struct running running = {.pid = 1};
    recorder_record_processes(f->r, &running);
    add(f, 10);
    journal_append_session_update(recorder_get_journal(f->r),
                          &(struct session_update){.end_reason = slice_of("done")});
    assert_int_equal(recorder_publish(f->r), RECORDER_PUBLISHED);
    orders->stores = true;
    orders->trouble = RING_FINE;
    close_it(f);
    assert_int_equal(check_order(f), 2);
    assert_int_equal(count_of(ENTRY_RUNNING), 1);
    assert_string_equal(first_of(ENTRY_UPDATE)->text, "done");
}

static void test_recorder_pass_ignores_trouble_while_there_is_room(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    orders->stores = false;
    orders->trouble = RING_FAILING;
    for (int i = 0; i < 100; i++)
        assert_int_equal(add_and_publish(f, 100), RECORDER_PUBLISHED);
    orders->stores = true;
    close_it(f);
    assert_int_equal(check_order(f), 0);
}

static void test_recorder_stop_fails_when_the_recorder_cannot_store(void **state)
{
    struct fixture *f = *state;
    begin_stop(f);
    orders->stores = false;
    assert_int_equal(add_and_publish(f, 100), RECORDER_PUBLISHED);
    orders->trouble = RING_FAILING;
    for (int64_t end = clock_mono_us() + DEADLINE_US;
         ask_and_publish(f) != RECORDER_FAILED && clock_mono_us() < end;)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_int_equal(recorder_publish(f->r), RECORDER_FAILED);
    assert_true(recorder_has_stored_all_entries(f->r)); /* it is in the journal */
    orders->stores = true;
    close_it(f);
    assert_int_equal(check_order(f), 0);
}

static void test_recorder_stop_fails_when_the_pause_is_over(void **state)
{
    struct fixture *f = *state;
    begin_stop(f);
    (void)fill(f);
    f->r->pause_us = 20000;
    assert_int_equal(publish_until(f, RECORDER_FAILED), RECORDER_FAILED);
    assert_false(recorder_has_stored_all_entries(f->r));
}

static void test_recorder_sync_full_holds_until_everything_is_stored(void **state)
{
    struct fixture *f = *state;
    struct recorder_config cfg = config(f);
    cfg.sync_full = true;
    begin(f, &cfg);
    orders->stores = false;
    assert_int_equal(add_and_publish(f, 10), RECORDER_HOLD);
    assert_int_equal(orders->n, 0);
    orders->stores = true;
    assert_int_equal(publish_until(f, RECORDER_PUBLISHED), RECORDER_PUBLISHED);
    assert_int_equal(orders->n, 1);
    orders->stores = false; /* the pause counts once, not for each message */
    f->r->pause_us = 20000;
    assert_int_equal(add_and_publish(f, 10), RECORDER_HOLD);
    assert_int_equal(publish_until(f, RECORDER_PUBLISHED), RECORDER_PUBLISHED);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    orders->stores = true;
    close_it(f);
    assert_int_equal(check_order(f), 0);
}

static void test_recorder_message_that_never_fits_is_recorded_without_its_body(void **state)
{
    struct fixture *f = *state;
    limit_files(MIB);
    begin_pass(f);
    limit_files(RLIM_INFINITY);
    size_t max = ring_max_record_size(&f->r->ring);
    assert_in_range(max, 100000, MIB);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    assert_int_equal(add_and_publish(f, MIB), RECORDER_PUBLISHED);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_true(orders->seen[0].has_body);
    assert_false(orders->seen[1].has_body);
    assert_true(orders->seen[1].findings & FINDING(FIND_BODY_LOST));
    assert_true(orders->seen[2].has_body);
    assert_true(said_holds("the body of a message was not recorded"));
}

static void test_recorder_stop_fails_when_a_body_never_fits(void **state)
{
    struct fixture *f = *state;
    limit_files(MIB);
    begin_stop(f);
    limit_files(RLIM_INFINITY);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    add(f, MIB);
    assert_int_equal(publish_until(f, RECORDER_FAILED), RECORDER_FAILED);
    assert_false(recorder_has_stored_all_entries(f->r)); /* it must not be forwarded */
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_false(orders->seen[1].has_body);
}

static void test_recorder_message_over_the_limit_waits_for_an_empty_journal(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    orders->stores = false;
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    assert_int_equal(add_and_publish(f, RECORDER_JOURNAL_MAX), RECORDER_HOLD);
    orders->stores = true;
    assert_int_equal(publish_until(f, RECORDER_PUBLISHED), RECORDER_PUBLISHED);
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_true(orders->seen[1].has_body);
}

static void test_recorder_without_memory_goes_on_or_fails(void **state)
{
    struct fixture *f = *state;
    limit_files(100);
    struct recorder_config cfg = config(f);
    cfg.stop_on_error = true;
    assert_int_equal(recorder_open(&f->r, &cfg), MI_ESTORE);
    assert_null(f->r);
    begin_pass(f);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    assert_int_equal(recorder_pid(f->r), 0);
    close_it(f);
    assert_true(said_holds("continuing without recording"));
    assert_true(said_holds("no message was recorded: lost=1"));
}

static void test_recorder_without_a_process_goes_on_or_fails(void **state)
{
    struct fixture *f = *state;
    forks_allowed = 0;
    struct recorder_config cfg = config(f);
    cfg.stop_on_error = true;
    assert_int_equal(recorder_open(&f->r, &cfg), MI_ESTORE);
    begin_pass(f);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    forks_allowed = 1000;
    wait_for_no_process(f, 0); /* until there is one */
    close_it(f);
    assert_int_equal(check_order(f), 0);
}

static void test_recorder_stop_does_not_start_with_an_unusable_vault(void **state)
{
    struct fixture *f = *state;
    orders->silent = true;
    orders->trouble = RING_FAILING;
    struct recorder_config cfg = config(f);
    cfg.stop_on_error = true;
    assert_int_equal(recorder_open(&f->r, &cfg), MI_ESTORE);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no process is left */
    assert_int_equal(errno, ECHILD);
    assert_true(said_holds("cannot record"));
}

static void test_recorder_process_that_exits_is_replaced(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    pid_t first = recorder_pid(f->r);
    struct running running = {.pid = 1};
    recorder_record_processes(f->r, &running);
    journal_append_session_update(recorder_get_journal(f->r),
                          &(struct session_update){.client_name = slice_of("client")});
    orders->stores = false;
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    assert_int_equal(kill(first, SIGKILL), 0);
    wait_for_no_process(f, first);
    assert_int_not_equal(recorder_pid(f->r), 0); /* at once */
    orders->stores = true;
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_int_equal(count_of(ENTRY_RUNNING), 2); /* repeated for the second process */
    assert_int_equal(count_of(ENTRY_UPDATE), 2);
    assert_true(said_holds("the recorder process was killed, starting another: signal=9"));
}

static void test_recorder_process_that_asks_for_another_is_replaced_silently(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    pid_t first = recorder_pid(f->r);
    orders->exit = 1 + EX_TEMPFAIL;
    wait_for_no_process(f, first);
    orders->exit = 0;
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    wait_for_no_process(f, 0);
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_int_equal(said_lines(), 0);
}

static void test_recorder_process_is_started_less_often_when_it_exits_often(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    pid_t pid = recorder_pid(f->r);
    int64_t times[6];
    orders->exit = 1 + 1;
    for (int i = 0; i < 6; i++) {
        wait_for_no_process(f, pid);
        wait_for_no_process(f, 0);
        pid = recorder_pid(f->r);
        times[i] = clock_mono_us();
    }
    for (int i = 2; i < 6; i++) /* 0.1 s, then twice as long each time; on a busy machine longer */
        assert_true(times[i] - times[i - 1] >= INT64_C(40000) << (i - 1));
    orders->exit = 0;
}

static void test_recorder_close_leaves_the_rest_to_a_slow_process(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    orders->stores = false;
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    f->r->end_us = 20000;
    pid_t pid = recorder_pid(f->r);
    close_it(f);
    assert_true(said_holds("not stored yet; the recorder process continues"));
    assert_int_equal(kill(pid, 0), 0);
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid); /* this one exits at the end of its socket */
}

static void test_recorder_close_starts_a_process_if_there_is_none(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    orders->stores = false;
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    orders->stores = true;
    assert_int_equal(kill(recorder_pid(f->r), SIGKILL), 0);
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_int_equal(said_lines(), 0);
}

static void test_recorder_close_reports_messages_that_no_process_stores(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    orders->stores = false;
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    forks_allowed = 0;
    assert_int_equal(kill(recorder_pid(f->r), SIGKILL), 0);
    journal_file_remove(&f->r->file);
    close_it(f);
    assert_true(said_holds("not stored yet; the next command") ||
                said_holds("some messages were not recorded")); /* without a name */
}

/* What is recorded because of them does not come after the end. */
static void test_recorder_close_waits_for_the_previous_tools(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    pid_t pid = recorder_pid(f->r);
    journal_request_previous_tools(recorder_get_journal(f->r));
    close_it(f);
    assert_int_equal(first_of(ENTRY_EVENT)->pid, pid);
}

static void test_recorder_works_without_a_directory_for_journals(void **state)
{
    struct fixture *f = *state;
    journal_file_set_dir("/nonexistent");
    begin_pass(f);
    journal_file_set_dir(journals_dir);
    assert_false(f->r->file.has_name);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    pid_t first = recorder_pid(f->r);
    assert_int_equal(kill(first, SIGKILL), 0);
    wait_for_no_process(f, first);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    close_it(f);
    assert_int_equal(check_order(f), 0);
    assert_true(said_holds("are killed at once: /nonexistent"));
}

/* ---- memory --------------------------------------------------------------------------------- */

static size_t memory(const struct fixture *f)
{
    struct stat s;
    assert_int_equal(fstat(f->r->file.fd, &s), 0);
    return (size_t)s.st_blocks * 512;
}

static void test_recorder_lags_while_a_long_line_would_take_too_much_memory(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    orders->stores = false;
    add(f, 20 * MIB);
    assert_int_equal(recorder_publish(f->r), RECORDER_PUBLISHED);
    assert_false(recorder_is_behind(f->r, MIB / 2, 0)); /* not a long line */
    assert_false(recorder_is_behind(f->r, 3 * MIB, 0));
    assert_true(recorder_is_behind(f->r, 8 * MIB, 0));
    assert_true(recorder_is_behind(f->r, 8 * MIB, RECORDER_LAG_US - 1));
    recorder_set_lag_timer(f->r, 8 * MIB, 0);
    orders->stores = true;
    int changed = f->changed;
    /* the proxy waits already: it is told when something is stored, however soon that is */
    while (f->changed == changed || recorder_is_behind(f->r, 8 * MIB, 0))
        ev_run(f->loop, EVRUN_ONCE);
    assert_true(ring_has_stored_everything(&f->r->ring));
    assert_false(recorder_is_behind(f->r, 64 * MIB, 0)); /* nothing to wait for */
    changed = f->changed;
    recorder_set_lag_timer(f->r, 64 * MIB, 0); /* it has changed before: told at once */
    while (f->changed == changed)
        ev_run(f->loop, EVRUN_ONCE);
}

static void test_recorder_lags_no_longer_than_a_second(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    orders->stores = false;
    add(f, 20 * MIB);
    assert_int_equal(recorder_publish(f->r), RECORDER_PUBLISHED);
    int64_t since = clock_mono_us();
    int changed = f->changed;
    ev_now_update(f->loop);
    recorder_set_lag_timer(f->r, 8 * MIB, RECORDER_LAG_US - 50000);
    while (f->changed == changed)
        ev_run(f->loop, EVRUN_ONCE);
    assert_in_range(clock_mono_us() - since, 40000, DEADLINE_US);
    assert_false(recorder_is_behind(f->r, 8 * MIB, RECORDER_LAG_US));
    assert_false(recorder_is_behind(f->r, 9 * MIB, 0)); /* nor does the next line wait */
    assert_false(recorder_is_behind(f->r, 2 * MIB, 0)); /* that one need not */
    assert_true(recorder_is_behind(f->r, 9 * MIB, 0));
    assert_true(recorder_is_behind(f->r, 60 * MIB, RECORDER_LAG_US)); /* it would not fit */
    assert_false(recorder_is_behind(f->r, 60 * MIB, RECORDER_LAG_FULL_US));
    assert_false(ring_has_stored_everything(&f->r->ring));
}

static void wait_for_trouble(struct fixture *f, enum ring_trouble trouble)
{
    int64_t until = clock_mono_us() + DEADLINE_US;
    orders->trouble = trouble;
    while (recorder_get_trouble(f->r) != trouble)
        assert_true(clock_mono_us() < until);
}

static void test_recorder_paces_the_client_while_half_of_the_journal_is_not_stored(void **state)
{
    struct fixture *f = *state;
    begin_pass(f);
    orders->stores = false;
    assert_int_equal(add_and_publish(f, 31 * MIB), RECORDER_PUBLISHED);
    assert_false(recorder_must_slow_client(f->r));
    assert_int_equal(add_and_publish(f, 31 * MIB), RECORDER_PUBLISHED);
    int changed = f->changed;
    assert_true(recorder_must_slow_client(f->r));
    assert_true(recorder_must_slow_client(f->r)); /* another turn in between */
    while (f->changed == changed)
        ev_run(f->loop, EVRUN_ONCE);
    int64_t until = clock_mono_us() + DEADLINE_US;
    while (recorder_must_slow_client(f->r))
        assert_true(clock_mono_us() < until);

    struct row answer = {.kind = KIND_RESULT, .direction = ROW_S2C};
    journal_append(recorder_get_journal(f->r), &answer);
    f->added++;
    assert_int_equal(recorder_publish(f->r), RECORDER_PUBLISHED);
    assert_false(recorder_must_slow_client(
        f->r)); /* a message of the server: the client did not send too much */

    wait_for_trouble(f, RING_FAILING);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    assert_false(recorder_must_slow_client(f->r)); /* --on-record-error decides */
    wait_for_trouble(f, RING_FINE);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    assert_true(recorder_must_slow_client(f->r));

    orders->stores = true;
    until = clock_mono_us() + DEADLINE_US;
    while (!ring_has_stored_everything(&f->r->ring))
        assert_true(clock_mono_us() < until);
    assert_int_equal(add_and_publish(f, 10), RECORDER_PUBLISHED);
    assert_false(recorder_must_slow_client(f->r));
}

static void test_recorder_returns_the_memory_of_a_burst(void **state)
{
    struct fixture *f = *state;
    enum { BYTES = 12 << 20, LITTLE = 512 << 10 };
    begin_pass(f);
    for (int lap = 0; lap < 2; lap++) {
        orders->stores = false;
        add(f, BYTES);
        assert_int_equal(recorder_publish(f->r), RECORDER_PUBLISHED);
        assert_true(memory(f) > BYTES);
        ring_free_unused_memory(&f->r->ring, SIZE_MAX);
        assert_true(memory(f) > BYTES); /* it is in use */
        orders->stores = true;
        while (memory(f) > LITTLE) /* without another message */
            ev_run(f->loop, EVRUN_ONCE);
        assert_true(ring_has_stored_everything(&f->r->ring));
    }
    while (ev_is_active(&f->r->idle_timer))
        ev_run(f->loop, EVRUN_ONCE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_recorder_entries_arrive_in_order),
        TEST(test_recorder_entries_are_invisible_before_they_are_published),
        TEST(test_recorder_full_journal_holds_traffic_until_there_is_room),
        TEST(test_recorder_pass_loses_messages_when_the_pause_is_over),
        TEST(test_recorder_pass_keeps_metadata_while_messages_are_lost),
        TEST(test_recorder_pass_ignores_trouble_while_there_is_room),
        TEST(test_recorder_stop_fails_when_the_recorder_cannot_store),
        TEST(test_recorder_stop_fails_when_the_pause_is_over),
        TEST(test_recorder_sync_full_holds_until_everything_is_stored),
        TEST(test_recorder_message_that_never_fits_is_recorded_without_its_body),
        TEST(test_recorder_stop_fails_when_a_body_never_fits),
        TEST(test_recorder_message_over_the_limit_waits_for_an_empty_journal),
        TEST(test_recorder_without_memory_goes_on_or_fails),
        TEST(test_recorder_without_a_process_goes_on_or_fails),
        TEST(test_recorder_stop_does_not_start_with_an_unusable_vault),
        TEST(test_recorder_process_that_exits_is_replaced),
        TEST(test_recorder_process_that_asks_for_another_is_replaced_silently),
        TEST(test_recorder_process_is_started_less_often_when_it_exits_often),
        TEST(test_recorder_close_leaves_the_rest_to_a_slow_process),
        TEST(test_recorder_close_starts_a_process_if_there_is_none),
        TEST(test_recorder_close_reports_messages_that_no_process_stores),
        TEST(test_recorder_close_waits_for_the_previous_tools),
        TEST(test_recorder_works_without_a_directory_for_journals),
        TEST(test_recorder_lags_while_a_long_line_would_take_too_much_memory),
        TEST(test_recorder_lags_no_longer_than_a_second),
        TEST(test_recorder_paces_the_client_while_half_of_the_journal_is_not_stored),
        TEST(test_recorder_returns_the_memory_of_a_burst),
    };
    return cmocka_run_group_tests_name("recorder-room", tests, NULL, NULL);
}
