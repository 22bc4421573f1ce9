/* The table of running proxies: what is written, and that no process is taken for another. */
#include "vault/running.h"

#include "tests/unit/vault_unit.h"

#include "vault/recorder.h"
#include "vault/schema.h"

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
    running_self(&r);
    running_server(&r, f->kid[0], f->kid[0]);
    return r;
}

static struct running_row row_of(struct running r)
{
    struct running_row row = {.r = r};
    assert_int_equal(gethostname(row.host, sizeof row.host - 1), 0);
    return row;
}

/* ---- processes ------------------------------------------------------------------------------ */

static void test_running_self_is_this_process_and_it_lives(void **state)
{
    (void)state;
    struct running r;
    running_self(&r);
    assert_int_equal(r.pid, getpid());
    assert_int_equal(r.client_pid, getppid());
    assert_true(r.pid_start == process_start(getpid()));
    assert_true(r.pid_namespace > 0);
    assert_int_equal(r.server_pid, 0);
    struct running_row row = row_of(r);
    assert_int_equal(running_look(&row), RUNNING_LIVE);
    assert_false(running_client_gone(&r));
}

static void test_running_proxy_with_another_start_time_is_gone(void **state)
{
    (void)state;
    struct running r;
    running_self(&r);
    struct running_row row = row_of(r);
    row.r.pid_start++;
    assert_int_equal(running_look(&row), RUNNING_GONE);
    row.r.pid_start = 0;
    assert_int_equal(running_look(&row), RUNNING_GONE);
    r.client_start++;
    assert_true(running_client_gone(&r));
    r.client_start = 0; /* it could not be told when the row was written */
    assert_false(running_client_gone(&r));
}

static void test_running_elsewhere_is_never_judged(void **state)
{
    (void)state;
    struct running r;
    running_self(&r);
    struct running_row row = row_of(r);
    row.r.pid_start++;
    row.r.pid_namespace++; /* another container of this machine */
    assert_int_equal(running_look(&row), RUNNING_ELSEWHERE);
    row.r.pid_namespace = 0;
    assert_int_equal(running_look(&row), RUNNING_ELSEWHERE);
    row.r.pid_namespace = r.pid_namespace;
    snprintf(row.host, sizeof row.host, "renamed");
    assert_int_equal(running_look(&row), RUNNING_GONE); /* this machine, whatever it is called */
    row.r.boot[0] ^= 1;
    assert_int_equal(running_look(&row), RUNNING_ELSEWHERE);
    row = row_of(r);
    row.r.boot[0] ^= 1; /* this machine, before it was started anew */
    assert_int_equal(running_look(&row), RUNNING_GONE);
    row.r.boot[0] = '\0';
    assert_int_equal(running_look(&row), RUNNING_ELSEWHERE);
}

static void test_running_group_is_the_recorded_one(void **state)
{
    struct fixture *f = *state;
    struct process p[4];
    kid(f);
    kid(f);
    struct running r = of_group(f);
    assert_int_equal(r.server_pid, f->kid[0]);
    assert_int_equal(r.server_session, getsid(0));
    assert_int_equal(running_group(&r, p, 4), 2);
    assert_int_equal(running_group(&r, p, 1), 1);
    struct running other = r;
    other.boot[0] ^= 1;
    assert_int_equal(running_group(&other, p, 4), 0);
    other = r;
    other.pid_namespace++;
    assert_int_equal(running_group(&other, p, 4), 0);
}

static void test_running_group_whose_leader_began_at_another_time_is_anothers(void **state)
{
    struct fixture *f = *state;
    struct process p[4];
    kid(f);
    kid(f);
    struct running r = of_group(f);
    r.server_start++;
    assert_int_equal(running_group(&r, p, 4), 0);
    r.server_start -= 2;
    assert_int_equal(running_group(&r, p, 4), 0);
}

/* A launcher has ended: its members can only be younger than it was, and are of its session. */
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
    assert_int_equal(running_group(&r, p, 4), 1);
    assert_int_equal(p[0].pid, f->kid[1]);
    struct running other = r;
    other.server_session++;
    assert_int_equal(running_group(&other, p, 4), 0);
    other = r;
    other.server_start = process_start(f->kid[1]) + 1;
    assert_int_equal(running_group(&other, p, 4), 0);
}

static void test_running_group_is_never_our_own_nor_everybody(void **state)
{
    (void)state;
    struct process p[4];
    struct running r;
    running_self(&r);
    running_server(&r, getpid(), getpgrp());
    assert_int_equal(running_group(&r, p, 4), 0);
    r.server_group = 0;
    assert_int_equal(running_group(&r, p, 4), 0);
    r.server_group = 1;
    assert_int_equal(running_group(&r, p, 4), 0);
}

/* ---- the table ------------------------------------------------------------------------------ */

static struct recorder *open_recorder(struct fixture *f)
{
    struct recorder *r = NULL;
    struct recorder_config cfg = {.vault = f->t.vault, .name = "files", .command = "[\"srv\"]"};
    assert_int_equal(recorder_open(&r, &cfg), 0);
    return r;
}

static void end_session(struct recorder *r)
{
    struct store_update u = {.end_reason = slice_of("client-closed"), .ended_at_us = 5};
    recorder_learn(r, &u);
    recorder_close(r);
}

static void test_running_row_comes_with_the_session_and_goes_with_it(void **state)
{
    struct fixture *f = *state;
    struct running_list l;
    struct buf error = {0};
    kid(f);
    struct running mine = of_group(f);
    struct recorder *r = open_recorder(f);
    recorder_running(r, &mine);
    recorder_event(r, "spawn", NULL);
    assert_int_equal(recorder_commit(r), RECORDER_STORED);
    assert_int_equal(running_open(&l, f->t.vault, &error), 0);
    assert_int_equal(l.n, 1);
    assert_string_equal(l.row[0].uid, recorder_uid(r));
    assert_string_equal(l.row[0].name, "files");
    assert_string_equal(l.row[0].client, "");
    assert_true(l.row[0].last_at_us == l.row[0].started_at_us);
    assert_false(l.row[0].ended);
    assert_int_equal(l.row[0].r.pid, mine.pid);
    assert_string_equal(l.row[0].r.boot, mine.boot);
    assert_true(l.row[0].r.server_start == mine.server_start);
    assert_int_equal(l.row[0].r.server_session, mine.server_session);
    assert_int_equal(running_look(&l.row[0]), RUNNING_LIVE);
    running_close(&l);
    running_close(&l);
    end_session(r);
    assert_string_equal(ask(&f->t, "SELECT count(*) FROM running"), "0");
    buf_close(&error);
}

/* With another process of the server: one row still, in the transaction of the next turn. */
static void test_running_row_changes_with_the_next_commit(void **state)
{
    struct fixture *f = *state;
    struct row row = {.kind = "notification", .body = slice_of("{}"), .size = 2};
    kid(f);
    struct running mine = of_group(f);
    struct recorder *r = open_recorder(f);
    recorder_running(r, &mine);
    recorder_add(r, &row);
    assert_int_equal(recorder_commit(r), RECORDER_STORED);
    mine.server_pid = 77;
    recorder_running(r, &mine);
    recorder_add(r, &row); /* one row alone is written without a transaction: not this one */
    assert_int_equal(recorder_commit(r), RECORDER_STORED);
    assert_string_equal(ask(&f->t, "SELECT count(*), server_pid FROM running"), "1|77");
    mine.server_pid = 78;
    recorder_running(r, &mine); /* nothing else to write */
    assert_int_equal(recorder_commit(r), RECORDER_STORED);
    assert_string_equal(ask(&f->t, "SELECT count(*), server_pid FROM running"), "1|78");
    end_session(r);
}

static void test_running_bury_closes_what_was_killed_and_nothing_else(void **state)
{
    struct fixture *f = *state;
    kid(f);
    struct running live = of_group(f), dead = live, elsewhere = live, left = live;
    dead.pid_start++; /* its server is gone, too */
    dead.server_start++;
    elsewhere.pid_start++;
    elsewhere.pid_namespace++;
    left.pid_start++;
    const struct running *const rows[] = {&live, &dead, &elsewhere, &left};
    struct recorder *r[4];
    struct row row = {.kind = "notification", .body = slice_of("{}"), .size = 2};
    for (size_t i = 0; i < 4; i++) {
        r[i] = open_recorder(f);
        recorder_running(r[i], rows[i]);
        recorder_add(r[i], &row);
        assert_int_equal(recorder_commit(r[i]), RECORDER_STORED);
    }
    assert_int_equal(running_bury(f->t.vault), 0);
    assert_int_equal(running_bury(f->t.vault), 0);
    assert_string_equal(ask(&f->t, "SELECT s.id, end_reason, ended_at_us = started_at_us + t_us,"
                                   " exit_status FROM sessions s JOIN messages m ON"
                                   " m.session_id = s.id ORDER BY 1"),
                        "1|-|-|-;2|killed|1|-;3|-|-|-;4|killed|1|-");
    assert_string_equal(ask(&f->t, "SELECT group_concat(session_id) FROM running"), "1,3,4");
    /* an end that was recorded stays */
    struct buf error = {0};
    end_session(r[0]);
    assert_int_equal(running_end(f->t.vault, 1, true, &error), 0);
    assert_string_equal(ask(&f->t, "SELECT end_reason, ended_at_us FROM sessions WHERE id = 1"),
                        "client-closed|5");
    for (size_t i = 1; i < 4; i++)
        recorder_close(r[i]);
    buf_close(&error);
}

static void test_running_without_a_vault_or_of_an_old_one_is_nobody(void **state)
{
    struct fixture *f = *state;
    struct running_list l;
    struct buf error = {0};
    sqlite3 *db = NULL;
    char path[300];
    assert_int_equal(running_open(&l, f->t.vault, &error), 0);
    assert_int_equal(l.n, 0);
    assert_int_equal(running_bury(f->t.vault), 0);
    assert_false(exists(f->t.vault));
    assert_int_equal(mkdir(f->t.vault, 0700), 0);
    snprintf(path, sizeof path, "%s/interposer.db", f->t.vault);
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    char *old = slurp("tests/unit/vault-1.sql", NULL);
    assert_int_equal(sqlite3_exec(db, old, NULL, NULL, NULL), SQLITE_OK);
    free(old);
    assert_int_equal(running_open(&l, f->t.vault, &error), 0);
    assert_int_equal(l.n, 0);
    assert_int_equal(running_bury(f->t.vault), 0);
    assert_string_equal(ask(&f->t, "PRAGMA user_version"), "1");

    char later[64];
    snprintf(later, sizeof later, "PRAGMA user_version = %d", SCHEMA_VERSION + 1);
    assert_int_equal(sqlite3_exec(db, later, NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    assert_int_equal(running_open(&l, f->t.vault, &error), MI_ESTORE);
    assert_non_null(strstr(buf_str(&error), "newer mcp-interposer"));
    buf_close(&error);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_running_self_is_this_process_and_it_lives),
        T(test_running_proxy_with_another_start_time_is_gone),
        T(test_running_elsewhere_is_never_judged),
        T(test_running_group_is_the_recorded_one),
        T(test_running_group_whose_leader_began_at_another_time_is_anothers),
        T(test_running_group_without_its_leader_is_known_by_age_and_session),
        T(test_running_group_is_never_our_own_nor_everybody),
        T(test_running_row_comes_with_the_session_and_goes_with_it),
        T(test_running_row_changes_with_the_next_commit),
        T(test_running_bury_closes_what_was_killed_and_nothing_else),
        T(test_running_without_a_vault_or_of_an_old_one_is_nobody),
    };
    return cmocka_run_group_tests_name("running", tests, NULL, NULL);
}
