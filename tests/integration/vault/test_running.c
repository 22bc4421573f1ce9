/* The table of running proxies: its rows, and that a process is not mistaken for another one. */
#include "vault/store/running.h"
#include "vault/store/running_lock.h"

#include "tests/support/vault_unit.h"

#include "base/clock.h"
#include "journal/uid.h"
#include "vault/store/schema.h"
#include "vault/store/writer.h"

#include <signal.h>
#include <sys/wait.h>

struct fixture {
    struct temp t;
    pid_t kid[4]; /* of this test; leader first */
    size_t kids;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    temp_make(&f.t);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    for (size_t i = 0; i < f->kids; i++) {
        kill(f->kid[i], SIGKILL);
        waitpid(f->kid[i], NULL, 0);
    }
    temp_remove(&f->t);
    return 0;
}

/* A process in the group of the first one. */
static pid_t kid(struct fixture *f)
{
    pid_t pid = unit_sleeper();
    assert_int_equal(setpgid(pid, f->kids > 0 ? f->kid[0] : pid), 0);
    f->kid[f->kids++] = pid;
    return pid;
}

static struct running of_group(struct fixture *f)
{
    struct running r;
    running_describe_own_process(&r);
    describe_running_server(&r, f->kid[0], f->kid[0]);
    return r;
}

static const struct running_list none = {.lock = -1};

static struct running_row row_of(struct running r)
{
    struct running_row row = {.r = r};
    assert_int_equal(gethostname(row.host, sizeof row.host - 1), 0);
    return row;
}

/* ---- processes ------------------------------------------------------------------------------ */

static void test_running_self_is_this_process_and_live(void **state)
{
    (void)state;
    struct running r;
    running_describe_own_process(&r);
    assert_int_equal(r.pid, getpid());
    assert_int_equal(r.client_pid, getppid());
    assert_true(r.pid_start == process_start(getpid()));
    assert_true(r.pid_namespace > 0);
    assert_int_equal(r.server_pid, 0);
    struct running_row row = row_of(r);
    assert_int_equal(running_row_get_state(&none, &row), SESSION_LIVE);
    assert_false(running_client_has_exited(&r));
}

static void test_running_proxy_with_another_start_time_has_exited(void **state)
{
    (void)state;
    struct running r;
    running_describe_own_process(&r);
    struct running_row row = row_of(r);
    row.r.pid_start++;
    assert_int_equal(running_row_get_state(&none, &row), SESSION_DIED);
    row.r.pid_start = 0;
    assert_int_equal(running_row_get_state(&none, &row), SESSION_DIED);
    r.client_start++;
    assert_true(running_client_has_exited(&r));
    r.client_start = 0; /* unknown when the row was written */
    assert_false(running_client_has_exited(&r));
}

static void test_running_on_another_machine_is_elsewhere(void **state)
{
    (void)state;
    struct running r;
    running_describe_own_process(&r);
    struct running_row row = row_of(r);
    row.r.pid_start++;
    row.r.pid_namespace++; /* another container of this machine */
    assert_int_equal(running_row_get_state(&none, &row), SESSION_ELSEWHERE);
    row.r.pid_namespace = 0;
    assert_int_equal(running_row_get_state(&none, &row), SESSION_ELSEWHERE);
    row.r.pid_namespace = r.pid_namespace;
    snprintf(row.host, sizeof row.host, "renamed");
    assert_int_equal(running_row_get_state(&none, &row),
                     SESSION_DIED); /* this machine, with another host name */
    row.r.boot[0] ^= 1;
    assert_int_equal(running_row_get_state(&none, &row), SESSION_ELSEWHERE);
    row = row_of(r);
    row.r.boot[0] ^= 1; /* this machine, before a reboot */
    assert_int_equal(running_row_get_state(&none, &row), SESSION_DIED);
    row.r.boot[0] = '\0'; /* unknown: the process decides */
    assert_int_equal(running_row_get_state(&none, &row), SESSION_LIVE);
    row.r.pid_namespace++;
    assert_int_equal(running_row_get_state(&none, &row), SESSION_ELSEWHERE);
}

/* ---- the lock ------------------------------------------------------------------------------- */

/* A child process, which has all descriptors of this one. */
static pid_t sharer(void)
{
    int ready[2];
    char c;
    assert_int_equal(pipe(ready), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        close(ready[0]);
        close(ready[1]);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &c, 1), 0); /* the child has closed its end */
    close(ready[0]);
    return pid;
}

static void test_running_lock_lasts_while_one_process_has_its_description(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(mkdir(f->t.vault, 0700), 0);
    int dir = open(f->t.vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_int_equal(running_lock_open_existing(dir), -1);
    int fd = running_lock_open(dir);
    assert_true(fd >= 0);
    int look = running_lock_open_existing(dir);
    assert_int_equal(running_lock_get_state(-1, 7), LIVENESS_NO_LOCK);
    assert_int_equal(running_lock_get_state(look, 7), LIVENESS_NO_LOCK);
    assert_int_equal(running_lock_take(fd, dir, 7), 0);
    assert_int_equal(running_lock_take(fd, dir, 7), 0); /* a recorder that replaces another one */
    assert_int_equal(running_lock_get_state(look, 7), LIVENESS_LOCKED);
    assert_int_equal(running_lock_get_state(look, 6), LIVENESS_NO_LOCK);
    assert_int_equal(running_lock_get_state(look, 8), LIVENESS_NO_LOCK);
    f->kid[f->kids++] = sharer();
    close(fd);
    assert_int_equal(running_lock_get_state(look, 7), LIVENESS_LOCKED);
    kill(f->kid[0], SIGKILL);
    assert_int_equal(waitpid(f->kid[0], NULL, 0), f->kid[0]);
    f->kids = 0;
    assert_int_equal(running_lock_get_state(look, 7), LIVENESS_UNLOCKED);
    close(look);
    close(dir);
}

static void test_running_lock_of_another_session_is_not_taken(void **state)
{
    struct fixture *f = *state;
    assert_int_equal(mkdir(f->t.vault, 0700), 0);
    int dir = open(f->t.vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int first = running_lock_open(dir), second = running_lock_open(dir);
    assert_int_equal(running_lock_take(first, dir, 1), 0);
    assert_int_equal(running_lock_take(second, dir, 1), MI_EFULL);
    assert_int_equal(running_lock_take(second, dir, 2), 0);
    assert_true(running_lock_is_file_of_vault(second, dir));
    assert_int_equal(running_lock_take(second, dir, 3), 0); /* in a new database */
    int look = running_lock_open_existing(dir);
    assert_int_equal(running_lock_get_state(look, 1), LIVENESS_LOCKED);
    assert_int_equal(running_lock_get_state(look, 2), LIVENESS_UNLOCKED);
    assert_int_equal(running_lock_get_state(look, 3), LIVENESS_LOCKED);
    running_lock_remove(dir);
    assert_false(running_lock_is_file_of_vault(second, dir));
    close(first);
    close(second);
    close(look);
    close(dir);
}

/* Of another PID namespace: only the lock tells that the session is over. */
static void test_running_session_of_another_namespace_is_judged_by_its_lock(void **state)
{
    struct fixture *f = *state;
    struct running r;
    assert_int_equal(mkdir(f->t.vault, 0700), 0);
    int dir = open(f->t.vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int fd = running_lock_open(dir);
    running_describe_own_process(&r);
    r.pid_namespace++;
    struct running_row row = row_of(r);
    row.session_id = 5;
    snprintf(row.host, sizeof row.host, "container");
    struct running_list l = {.lock = running_lock_open_existing(dir)};
    assert_int_equal(running_row_get_state(&l, &row), SESSION_ELSEWHERE);
    assert_int_equal(running_lock_take(fd, dir, 5), 0);
    assert_int_equal(running_row_get_state(&l, &row), SESSION_LIVE);
    assert_false(running_pids_are_valid(&row.r));
    close(fd);
    assert_int_equal(running_row_get_state(&l, &row), SESSION_DIED);
    row.r.boot[0] ^= 1; /* another machine has the file without this one's locks */
    assert_int_equal(running_row_get_state(&l, &row), SESSION_ELSEWHERE);
    running_list_close(&l);
    close(dir);
}

/* ---- groups --------------------------------------------------------------------------------- */

static void test_running_group_is_the_recorded_one(void **state)
{
    struct fixture *f = *state;
    struct process p[4];
    kid(f);
    kid(f);
    struct running r = of_group(f);
    assert_int_equal(r.server_pid, f->kid[0]);
    assert_int_equal(r.server_session, getsid(0));
    assert_int_equal(read_running_process_group(&r, p, 4), 2);
    assert_int_equal(read_running_process_group(&r, p, 1), 1);
    struct running other = r;
    other.boot[0] ^= 1;
    assert_int_equal(read_running_process_group(&other, p, 4), 0);
    other = r;
    other.pid_namespace++;
    assert_int_equal(read_running_process_group(&other, p, 4), 0);
}

static void test_running_group_with_another_start_time_is_not_the_same(void **state)
{
    struct fixture *f = *state;
    struct process p[4];
    kid(f);
    kid(f);
    struct running r = of_group(f);
    r.server_start++;
    assert_int_equal(read_running_process_group(&r, p, 4), 0);
    r.server_start -= 2;
    assert_int_equal(read_running_process_group(&r, p, 4), 0);
}

/* A launcher has exited: the members of its group are younger, and in its session. */
static void test_running_group_without_its_leader_is_known_by_age_and_session(void **state)
{
    struct fixture *f = *state;
    struct process p[4];
    kid(f);
    kid(f);
    struct running r = of_group(f);
    kill(f->kid[0], SIGKILL);
    siginfo_t si;
    assert_int_equal(waitid(P_PID, (id_t)f->kid[0], &si, WEXITED | WNOWAIT), 0);
    assert_int_equal(read_running_process_group(&r, p, 4), 1);
    assert_int_equal(p[0].pid, f->kid[1]);
    struct running other = r;
    other.server_session++;
    assert_int_equal(read_running_process_group(&other, p, 4), 0);
    other = r;
    other.server_start = process_start(f->kid[1]) + 1;
    assert_int_equal(read_running_process_group(&other, p, 4), 0);
}

static void test_running_group_is_never_our_own_or_every_process(void **state)
{
    (void)state;
    struct process p[4];
    struct running r;
    running_describe_own_process(&r);
    describe_running_server(&r, getpid(), getpgrp());
    assert_int_equal(read_running_process_group(&r, p, 4), 0);
    r.server_group = 0;
    assert_int_equal(read_running_process_group(&r, p, 4), 0);
    r.server_group = 1;
    assert_int_equal(read_running_process_group(&r, p, 4), 0);
}

/* ---- the table ------------------------------------------------------------------------------ */

/* A recorded session. */
struct session {
    struct vault_dir dir;
    struct writer *w;
    char uid[UID_LEN + 1];
    int64_t id;
};

static struct session *open_session(struct fixture *f, const struct running *r)
{
    struct session *s = calloc(1, sizeof *s);
    struct buf error = {0};
    assert_non_null(s);
    assert_int_equal(uid_make(clock_wall_us(), s->uid), 0);
    assert_int_equal(vault_dir_open(&s->dir, f->t.vault, true, &error), 0);
    assert_int_equal(writer_open(&s->w, &s->dir, false, &error), 0);
    struct session_record n = {.uid = slice_of(s->uid),
                               .name = slice_of("files"),
                               .command = slice_of("[\"srv\"]"),
                               .host = slice_of("here"),
                               .record_level = slice_of("full"),
                               .started_at_us = clock_wall_us(),
                               .pid = 1};
    assert_int_equal(writer_begin(s->w, 0), 0);
    assert_int_equal(writer_add_session(s->w, &n, &s->id), 0);
    assert_int_equal(writer_store_running_row(s->w, s->id, r), 0);
    assert_int_equal(writer_commit(s->w), 0);
    buf_close(&error);
    return s;
}

static void close_session(struct session *s)
{
    writer_close(s->w);
    vault_dir_close(&s->dir);
    free(s);
}

static void end_session(struct session *s)
{
    struct session_update u = {.end_reason = slice_of("client-closed"), .ended_at_us = 5};
    assert_int_equal(writer_begin(s->w, 0), 0);
    assert_int_equal(writer_update_session(s->w, s->id, &u), 0);
    assert_int_equal(writer_store_running_row(s->w, s->id, NULL), 0);
    assert_int_equal(writer_commit(s->w), 0);
    close_session(s);
}

static void test_running_row_is_added_and_removed_with_the_session(void **state)
{
    struct fixture *f = *state;
    struct running_list l;
    struct buf error = {0};
    kid(f);
    struct running mine = of_group(f);
    struct session *s = open_session(f, &mine);
    assert_int_equal(running_list_open(&l, f->t.vault, &error), 0);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.row[0].uid, s->uid);
    assert_string_equal(l.row[0].name, "files");
    assert_string_equal(l.row[0].client, "");
    assert_true(l.row[0].last_at_us == l.row[0].started_at_us);
    assert_false(l.row[0].ended);
    assert_int_equal(l.row[0].r.pid, mine.pid);
    assert_string_equal(l.row[0].r.boot, mine.boot);
    assert_true(l.row[0].r.server_start == mine.server_start);
    assert_int_equal(l.row[0].r.server_session, mine.server_session);
    assert_int_equal(running_row_get_state(&l, &l.row[0]), SESSION_LIVE);
    running_list_close(&l);
    running_list_close(&l);
    end_session(s);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM running"), "0");
    buf_close(&error);
}

static void test_running_close_dead_sessions_closes_only_killed_proxies(void **state)
{
    struct fixture *f = *state;
    kid(f);
    struct running live = of_group(f), dead = live, elsewhere = live, left = live;
    dead.pid_start++; /* its server has exited, too */
    dead.server_start++;
    elsewhere.pid_start++;
    elsewhere.pid_namespace++;
    left.pid_start++;
    const struct running *const rows[] = {&live, &dead, &elsewhere, &left};
    struct session *s[4];
    struct row row = {.kind = KIND_NOTIFICATION, .seq = 1, .body = slice_of("{}"), .size = 2};
    for (size_t i = 0; i < 4; i++) {
        s[i] = open_session(f, rows[i]);
        assert_int_equal(writer_add_row(s[i]->w, s[i]->id, s[i]->uid, &row), 0);
    }
    assert_int_equal(running_list_close_dead_sessions(f->t.vault), 0);
    assert_int_equal(running_list_close_dead_sessions(f->t.vault), 0);
    assert_string_equal(sql_rows(&f->t,
                                 "SELECT s.id, end_reason, ended_at_us = started_at_us + t_us,"
                                 " exit_status FROM sessions s JOIN messages m ON"
                                 " m.session_id = s.id ORDER BY 1"),
                        "1|-|-|-;2|killed|1|-;3|-|-|-;4|killed|1|-");
    assert_string_equal(sql_rows(&f->t, "SELECT group_concat(session_id) FROM running"), "1,3,4");
    /* a recorded end is not changed */
    struct buf error = {0};
    end_session(s[0]);
    assert_int_equal(end_dead_running_session(f->t.vault, 1, true, &error), 0);
    assert_string_equal(
        sql_rows(&f->t, "SELECT end_reason, ended_at_us FROM sessions WHERE id = 1"),
        "client-closed|5");
    for (size_t i = 1; i < 4; i++)
        close_session(s[i]);
    buf_close(&error);
}

static void test_running_without_the_table_is_empty(void **state)
{
    struct fixture *f = *state;
    struct running_list l;
    struct buf error = {0};
    sqlite3 *db = NULL;
    char path[300];
    assert_int_equal(running_list_open(&l, f->t.vault, &error), 0);
    assert_int_equal(l.n, 0);
    assert_int_equal(running_list_close_dead_sessions(f->t.vault), 0);
    assert_false(exists(f->t.vault));
    assert_int_equal(mkdir(f->t.vault, 0700), 0);
    snprintf(path, sizeof path, "%s/interposer.db", f->t.vault);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *old = slurp("tests/compat/files/vault-1.sql", NULL);
    assert_int_equal(sqlite3_exec(db, old, NULL, NULL, NULL), SQLITE_OK);
    free(old);
    assert_int_equal(running_list_open(&l, f->t.vault, &error), 0);
    assert_int_equal(l.n, 0);
    assert_int_equal(running_list_close_dead_sessions(f->t.vault), 0);
    assert_string_equal(sql_rows(&f->t, "PRAGMA user_version"), "1");

    char later[64];
    snprintf(later, sizeof later, "PRAGMA user_version = %d", SCHEMA_VERSION + 1);
    assert_int_equal(sqlite3_exec(db, later, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(running_list_open(&l, f->t.vault, &error), MI_ESTORE);
    assert_non_null(strstr(buf_str(&error), "newer mcp-interposer"));
    buf_close(&error);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_running_self_is_this_process_and_live),
        T(test_running_proxy_with_another_start_time_has_exited),
        T(test_running_on_another_machine_is_elsewhere),
        T(test_running_lock_lasts_while_one_process_has_its_description),
        T(test_running_lock_of_another_session_is_not_taken),
        T(test_running_session_of_another_namespace_is_judged_by_its_lock),
        T(test_running_group_is_the_recorded_one),
        T(test_running_group_with_another_start_time_is_not_the_same),
        T(test_running_group_without_its_leader_is_known_by_age_and_session),
        T(test_running_group_is_never_our_own_or_every_process),
        T(test_running_row_is_added_and_removed_with_the_session),
        T(test_running_close_dead_sessions_closes_only_killed_proxies),
        T(test_running_without_the_table_is_empty),
    };
    return cmocka_run_group_tests_name("running", tests, NULL, NULL);
}
