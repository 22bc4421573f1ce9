/* Journals of several killed sessions, and a vault that cannot be used now. */
#include "record/process/orphans.h"

#include "tests/support/journal_unit.h"
#include "tests/support/log_unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOURNALS 8

static int set_up(void **state)
{
    static struct journal_unit j;
    journal_unit_place(&j);
    *state = &j;
    return 0;
}

static int tear_down(void **state)
{
    journal_unit_remove(*state);
    return 0;
}

static void leave_journals(struct journal_unit *j, int n)
{
    for (int i = 0; i < n; i++) {
        journal_unit_open(j, NULL);
        put_message(j, "{\"first\":1}");
        journal_unit_die(j);
    }
}

static bool count_one(void *ctx, const struct journal_file *f)
{
    (void)f;
    ++*(int *)ctx;
    return true;
}

static int journals_left(void)
{
    int n = 0;
    assert_int_equal(journal_file_visit_all(count_one, &n), 0);
    return n;
}

static void test_orphans_wait_once_for_a_locked_database_and_say_so(void **state)
{
    struct journal_unit *j = *state;
    leave_journals(j, 1);
    orphans_store_all(j->t.vault, NULL, NULL); /* makes the vault */
    assert_int_equal(journals_left(), 0);
    leave_journals(j, JOURNALS);
    pid_t locker = sql_lock(&j->t, 0);
    said_begin();
    int64_t from = clock_mono_us();
    orphans_store_all(j->t.vault, NULL, NULL);
    int64_t took = clock_mono_us() - from;
    assert_true(took >= ORPHANS_WAIT_US);
    assert_true(took < JOURNALS / 2 * (int64_t)ORPHANS_WAIT_US);
    assert_true(said_holds("killed sessions left messages; waiting to store them: another process "
                           "has locked the database: vault="));
    char owner[32];
    snprintf(owner, sizeof owner, " pid=%d\n", (int)locker);
    assert_true(said_holds(owner));
    assert_true(said_holds(
        "killed sessions are not stored yet, so this command does not show them: sessions=8"));
    said_end();
    assert_int_equal(journals_left(), JOURNALS);
    sql_unlock(locker);
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_int_equal(journals_left(), 0);
    assert_string_equal(sql_rows(&j->t, "SELECT count(*) FROM messages"), "9");
}

/* A process that has something else to do in between is a recorder: nobody waits for it. */
static void go_on(void *ctx)
{
    ++*(int *)ctx;
}

static void test_orphans_of_a_recorder_wait_silently(void **state)
{
    struct journal_unit *j = *state;
    int times = 0;
    leave_journals(j, 1);
    orphans_store_all(j->t.vault, NULL, NULL);
    leave_journals(j, 2);
    pid_t locker = sql_lock(&j->t, 0);
    said_begin();
    orphans_store_all(j->t.vault, go_on, &times);
    assert_false(said_holds("waiting"));
    assert_true(times > 1);
    said_end();
    sql_unlock(locker);
}

/* One try and one warning, however many journals there are. */
static void test_orphans_of_a_vault_that_cannot_be_opened_are_left(void **state)
{
    struct journal_unit *j = *state;
    leave_journals(j, 1);
    orphans_store_all(j->t.vault, NULL, NULL);
    leave_journals(j, JOURNALS);
    char db[300], away[300];
    snprintf(db, sizeof db, "%s/interposer.db", j->t.vault);
    snprintf(away, sizeof away, "%s/away", j->t.vault);
    assert_int_equal(rename(db, away), 0);
    assert_int_equal(mkdir(db, 0700), 0);
    said_begin();
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_true(said_holds("cannot record"));
    assert_int_equal(said_lines(), 1);
    said_end();
    assert_int_equal(journals_left(), JOURNALS);
    assert_int_equal(rmdir(db), 0);
    assert_int_equal(rename(away, db), 0);
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_int_equal(journals_left(), 0);
}

/* The proxy was killed after the server's process had written itself into the journal, and before
 * the proxy had recorded that process. */
static void leave_starting_server(struct journal_unit *j, pid_t server)
{
    struct running r = {0};
    journal_unit_open(j, NULL);
    put_running_processes(j);
    describe_running_server(&r, server, server);
    assert_true(r.server_start > 0);
    running_share_server(&r, j->ring.shared);
    journal_unit_die(j);
}

static void test_orphans_record_a_server_that_only_the_journal_knows(void **state)
{
    struct journal_unit *j = *state;
    char wanted[64];
    pid_t server = fork();
    if (server == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    assert_int_equal(setpgid(server, server), 0);
    leave_starting_server(j, server);
    leave_starting_server(j, server);
    orphans_store_all(j->t.vault, NULL, NULL);
    snprintf(wanted, sizeof wanted, "%d|%d|%d;%d|%d|%d", server, server, getsid(0), server, server,
             getsid(0));
    static const char rows[] = "SELECT server_pid, server_group, server_session FROM running";
    assert_string_equal(sql_rows(&j->t, rows), wanted);
    assert_string_equal(sql_rows(&j->t, "SELECT DISTINCT end_reason FROM sessions"), "killed");

    leave_starting_server(j, server); /* it ends before its journal is stored */
    assert_int_equal(kill(server, SIGKILL), 0);
    assert_int_equal(waitpid(server, NULL, 0), server);
    orphans_store_all(j->t.vault, NULL, NULL);
    assert_string_equal(sql_rows(&j->t, "SELECT count(*) FROM running"), "2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_orphans_wait_once_for_a_locked_database_and_say_so,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orphans_of_a_recorder_wait_silently, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_orphans_of_a_vault_that_cannot_be_opened_are_left,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orphans_record_a_server_that_only_the_journal_knows,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests_name("orphans", tests, NULL, NULL);
}
