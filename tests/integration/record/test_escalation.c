/* Escalation files: content, when a new file is made, escaping. */
#include "record/process/escalation.h"

#include "tests/support/vault_unit.h"

#include "base/clock.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define T0 ((int64_t)1795256140043000) /* 2026-11-21T10:15:40.043Z */
#define SECOND ((int64_t)1000000)
#define MINUTE (60 * SECOND)

struct fixture {
    struct temp t;
    struct vault_dir dir;
    int fd; /* of dir */
    struct writer *w;
    struct escalations memory;
    struct buf path;
    bool is_new;
};

static int set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){.fd = -1};
    struct buf error = {0};
    temp_make(&f.t);
    assert_int_equal(vault_dir_open(&f.dir, f.t.vault, true, &error), 0);
    assert_int_equal(writer_open(&f.w, &f.dir, false, &error), 0);
    f.fd = f.dir.fd;
    buf_close(&error);
    *state = &f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    escalations_close(&f->memory, f->fd, f->w);
    writer_close(f->w);
    vault_dir_close(&f->dir);
    buf_close(&f->path);
    temp_remove(&f->t);
    return 0;
}

static struct escalation hang(int64_t at_us)
{
    return (struct escalation){
        .cause = ESCALATION_HANG,
        .at_us = at_us,
        .server = "files",
        .session = "01M7YSNFPE4WHD7A4MYSYTND3Q",
        .seq = 12,
        .method = slice_of("tools/call"),
        .tool = slice_of("search"),
    };
}

static const char *write_one(struct fixture *f, const struct escalation *e)
{
    buf_clear(&f->path);
    assert_int_equal(escalation_write(&f->memory, f->fd, f->w, e, &f->path, &f->is_new), 0);
    return buf_str(&f->path);
}

/* A file of the vault as a string; free() it. */
static char *content(struct fixture *f, const char *path)
{
    char full[512];
    snprintf(full, sizeof full, "%s/%s", f->t.vault, path);
    return slurp(full, NULL);
}

static bool holds(struct fixture *f, const char *path, const char *text)
{
    char *p = content(f, path);
    bool found = strstr(p, text) != NULL;
    if (!found)
        print_message("not there: %s\nin:\n%s\n", text, p);
    free(p);
    return found;
}

static size_t count_files(struct fixture *f, const char *begin)
{
    char full[512];
    snprintf(full, sizeof full, "%s/Escalations", f->t.vault);
    DIR *d = opendir(full);
    size_t n = 0;
    if (d == NULL)
        return 0;
    for (struct dirent *e; (e = readdir(d)) != NULL;)
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
             strncmp(e->d_name, begin, strlen(begin)) == 0;
    closedir(d);
    return n;
}

/* ---- content -------------------------------------------------------------------------------- */

static void test_escalation_new_file_contains_every_field(void **state)
{
    struct fixture *f = *state;
    struct slice lines[] = {slice_of("starting"), slice_of("waiting for the lock")};
    struct escalation e = hang(T0);
    e.command = "[\"npx\",\"-y\",\"server-files\"]";
    e.request = slice_of("{\"id\":7,\"method\":\"tools/call\"}");
    e.action = "killed, restarted";
    e.happened = slice_of("The tool search did not answer within 30 s.");
    e.done = slice_of("The server was ended and started again.");
    e.look = slice_of("The disk was busy.");
    e.post_mortem = slice_of("node was sleeping in epoll_wait");
    e.post_mortem_json = slice_of("{\"pid\":4242}");
    e.stderr_lines = lines;
    e.stderr_n = 2;
    e.last_to_server = slice_of("{\"last\":1}");
    e.last_to_client = slice_of("{\"last\":2}");
    const char *path = write_one(f, &e);
    assert_true(f->is_new);
    assert_string_equal(path, "Escalations/20261121T101540.043Z-hang-files.md");
    assert_true(holds(f, path,
                      "---\n"
                      "cause: hang\n"
                      "server: \"files\"\n"
                      "tool: \"search\"\n"
                      "method: \"tools/call\"\n"
                      "session: \"01M7YSNFPE4WHD7A4MYSYTND3Q\"\n"
                      "seq: 12\n"
                      "first_at: \"2026-11-21T10:15:40.043Z\"\n"
                      "last_at: \"2026-11-21T10:15:40.043Z\"\n"
                      "count: 1\n"
                      "action: \"killed, restarted\"\n"
                      "interposer: \"" MI_VERSION "\"\n"
                      "---\n\n# hang\n"));
    static const char *const parts[] = {
        "## What happened\n\nThe tool search did not answer within 30 s.\n\n",
        "## The call\n\n    tools/call search\n\n",
        "The server's command:\n\n    [\"npx\",\"-y\",\"server-files\"]\n\n",
        "The request:\n\n    {\"id\":7,\"method\":\"tools/call\"}\n\n",
        "## What was done\n\nThe server was ended and started again.\n\n",
        "## What to look at\n\nThe server may be waiting",
        "\n\nThe disk was busy.\n\n",
        "    mcp-interposer show 01M7YSNFPE4WHD7A4MYSYTND3Q\n",
        "## Post-mortem\n\nnode was sleeping in epoll_wait\n\n    {\"pid\":4242}\n\n",
        "## Last lines of the server's stderr\n\n    starting\n    waiting for the lock\n\n",
        "To the server:\n\n    {\"last\":1}\n\nTo the client:\n\n    {\"last\":2}\n\n",
    };
    for (size_t i = 0; i < MI_COUNT(parts); i++)
        assert_true(holds(f, path, parts[i]));
}

static void test_escalation_without_a_call_omits_its_sections(void **state)
{
    struct fixture *f = *state;
    struct escalation e = {.cause = ESCALATION_RECORD_ERROR, .at_us = T0, .server = "files"};
    const char *path = write_one(f, &e);
    assert_string_equal(path, "Escalations/20261121T101540.043Z-record-error-files.md");
    char *p = content(f, path);
    static const char *const absent[] = {"tool:",
                                         "method:",
                                         "seq:",
                                         "session:",
                                         "action:",
                                         "## The call",
                                         "stderr",
                                         "## Post",
                                         "Last messages",
                                         "## The server",
                                         "mcp-interposer show"};
    for (size_t i = 0; i < MI_COUNT(absent); i++)
        if (strstr(p, absent[i]) != NULL)
            fail_msg("%s is in:\n%s", absent[i], p);
    free(p);
}

static void test_escalation_folder_and_file_are_private_and_no_other_file_remains(void **state)
{
    struct fixture *f = *state;
    char full[512];
    struct escalation e = hang(T0);
    mode_t before = umask(0);
    const char *path = write_one(f, &e);
    umask(before);
    snprintf(full, sizeof full, "%s/%s", f->t.vault, path);
    assert_int_equal(mode_of(full), 0600);
    assert_int_equal(mode_of(temp_path(&f->t, "vault/Escalations")), 0700);
    assert_int_equal(count_files(f, ""), 1);
}

/* The name of the tool and the lines of stderr come from a peer: they must not be read as markup. */
static void test_escalation_text_of_a_peer_is_escaped(void **state)
{
    struct fixture *f = *state;
    struct slice lines[] = {slice_of("a\n# heading\r\n\x1b[2J`b`")};
    struct escalation e = hang(T0);
    e.tool = slice_of("x\"\ncount: 99\n---\n# heading");
    e.happened = slice_of("<img src=http://a> [b](c) `d` \\<e\n\n# heading");
    e.stderr_lines = lines;
    e.stderr_n = 1;
    const char *path = write_one(f, &e);
    char *p = content(f, path);
    assert_null(strstr(p, "\n# heading"));
    assert_null(strstr(p, "\ncount: 99"));
    assert_null(strchr(p, '\x1b'));
    assert_null(strchr(p, '\r'));
    assert_non_null(strstr(p, "tool: \"x\\\"\\ncount: 99\\n---\\n# heading\"\n"));
    assert_non_null(strstr(p, "\n    a\\n# heading\\r\\n\\x1b[2J`b`\n"));
    assert_non_null(
        strstr(p, "\\<img src=http://a> \\[b](c) \\`d\\` \\\\\\<e\\\\n\\\\n# heading.\n"));
    free(p);
    e.at_us += 2 * SECOND;
    write_one(f, &e);
    assert_false(f->is_new); /* the same problem */
}

static void test_escalation_long_text_is_truncated_and_huge_text_omitted(void **state)
{
    struct fixture *f = *state;
    size_t n = (size_t)2 << 20;
    char *big = malloc(n);
    assert_non_null(big);
    memset(big, 'x', n);
    struct escalation e = hang(T0);
    e.request = (struct slice){big, 5000};
    e.last_to_server = (struct slice){big, n};
    const char *path = write_one(f, &e);
    assert_true(holds(f, path, "xxx… [+904 bytes]\n"));
    assert_true(holds(f, path, "To the server:\n\n    [2097152 bytes]\n"));
    free(big);
}

static void test_escalation_contains_no_secrets(void **state)
{
    struct fixture *f = *state;
    struct slice lines[] = {
        slice_of("token=hunter2hunter2 sent"), slice_of("-----BEGIN RSA PRIVATE KEY-----"),
        slice_of("MIIhunter2hunter2hunter2hunter2"), slice_of("-----END RSA PRIVATE KEY-----")};
    struct slice secret = slice_of("{\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"a\","
                                   "\"arguments\":{\"password\":\"hunter2\"}}}");
    struct escalation e = hang(T0);
    e.command = "[\"srv\",\"--api-key=hunter2hunter2\"]";
    e.request = e.answer = e.last_to_server = e.last_to_client = secret;
    e.happened = e.done = e.look = slice_of("It said password=hunter2hunter2.");
    e.post_mortem = e.happened;
    e.post_mortem_json = slice_of("{\"password\":\"hunter2\"}");
    e.stderr_lines = lines;
    e.stderr_n = 4;
    e.tool = slice_of("ghp_hunter2hunter2hunter2hunter2hunter2x");
    char *p = content(f, write_one(f, &e));
    if (strstr(p, "hunter2") != NULL)
        fail_msg("a secret is in:\n%s", p);
    assert_non_null(strstr(p, "[redacted:"));
    free(p);
    assert_string_equal(sql_rows(&f->t, "SELECT tool FROM escalations"),
                        "[redacted:github-token]");
}

static void test_escalation_keeps_the_last_lines_of_stderr(void **state)
{
    struct fixture *f = *state;
    char text[30][8];
    struct slice lines[30];
    for (size_t i = 0; i < 30; i++) {
        snprintf(text[i], sizeof text[i], "line%zu", i);
        lines[i] = slice_of(text[i]);
    }
    struct escalation e = hang(T0);
    e.stderr_lines = lines;
    e.stderr_n = 30;
    const char *path = write_one(f, &e);
    assert_true(holds(f, path, "stderr\n\n    line10\n"));
    assert_true(holds(f, path, "    line29\n"));
}

static void test_escalation_server_name_makes_a_safe_file_name(void **state)
{
    struct fixture *f = *state;
    static const struct {
        const char *server, *name;
    } rows[] = {
        {"../../etc/passwd", "Escalations/20261121T101540.043Z-hang-.._.._etc_passwd.md"},
        {"", "Escalations/20261121T101540.043Z-hang-server.md"},
        {"a b\n\xc3\xa9$;", "Escalations/20261121T101540.043Z-hang-a_b_____.md"},
        {"0123456789012345678901234567890123456789012345678901234567890123456789",
         "Escalations/20261121T101540.043Z-hang-"
         "0123456789012345678901234567890123456789012345678901234567890123.md"},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct escalation e = hang(T0);
        e.server = rows[i].server;
        assert_string_equal(write_one(f, &e), rows[i].name);
    }
}

/* ---- once an hour --------------------------------------------------------------------------- */

static void test_escalation_same_problem_within_an_hour_counts(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    char first[200];
    snprintf(first, sizeof first, "%s", write_one(f, &e));
    e.at_us = T0 + 59 * MINUTE;
    e.session = "another";
    assert_string_equal(write_one(f, &e), first);
    assert_false(f->is_new);
    assert_int_equal(count_files(f, ""), 1);
    assert_true(holds(f, first,
                      "\nfirst_at: \"2026-11-21T10:15:40.043Z\"\n"
                      "last_at: \"2026-11-21T11:14:40.043Z\"\ncount: 2\n"));
    e.at_us = T0 + 61 * MINUTE;
    assert_string_not_equal(write_one(f, &e), first);
    assert_true(f->is_new);
}

static void test_escalation_count_is_stored_in_the_database(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    write_one(f, &e);
    e.at_us = T0 + MINUTE;
    write_one(f, &e);
    e.tool = (struct slice){0};
    e.method = slice_of("prompts/list");
    write_one(f, &e);
    assert_string_equal(
        sql_rows(&f->t,
                    "SELECT cause, server, tool, method, file, last_at_us - first_at_us, count"
                    " FROM escalations WHERE tool IS NOT NULL"),
        "hang|files|search|tools/call|20261121T101540.043Z-hang-files.md|60000000|2");
    assert_string_equal(
        sql_rows(&f->t, "SELECT method, count FROM escalations WHERE tool IS NULL"),
        "prompts/list|1");
}

/* For example, the disk is full. */
static void test_escalation_without_a_database_is_written_and_counted(void **state)
{
    struct fixture *f = *state;
    struct escalations other = {0};
    struct escalation e = {.cause = ESCALATION_RECORD_ERROR, .at_us = T0, .server = "files"};
    struct buf path = {0};
    bool is_new = false;
    for (int i = 0; i < 3; i++, e.at_us += 2 * SECOND)
        assert_int_equal(escalation_write(&f->memory, f->fd, NULL, &e, &f->path, &is_new), 0);
    escalations_close(&f->memory, f->fd, NULL);
    buf_clear(&f->path);
    assert_int_equal(escalation_write(&other, f->fd, NULL, &e, &f->path, &is_new), 0);
    assert_false(is_new); /* not even in another session */
    assert_int_equal(count_files(f, ""), 1);
    assert_true(holds(f, buf_str(&f->path), "\ncount: 3\n"));
    struct escalation call = hang(T0 + MINUTE);
    assert_int_equal(escalation_write(&other, f->fd, NULL, &call, &path, &is_new), 0);
    call.tool = slice_of("other");
    assert_int_equal(escalation_write(&other, f->fd, NULL, &call, &path, &is_new), 0);
    assert_true(is_new);
    assert_int_equal(count_files(f, ""), 3);
    assert_string_equal(sql_rows(&f->t, "SELECT count(*) FROM escalations"), "0");
    buf_close(&path);
}

static void test_escalation_other_problems_have_their_own_files(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    write_one(f, &e);
    struct escalation other[] = {e, e, e, e, e};
    other[0].cause = ESCALATION_AUTH;
    other[1].server = "mail";
    other[2].tool = slice_of("searc");
    other[3].tool = (struct slice){0};
    other[4].tool = (struct slice){0};
    other[4].method = slice_of("resources/read");
    for (size_t i = 0; i < MI_COUNT(other); i++) {
        write_one(f, &other[i]);
        assert_true(f->is_new);
    }
    for (size_t i = 0; i < MI_COUNT(other); i++) {
        other[i].at_us += 2 * SECOND;
        write_one(f, &other[i]);
        assert_false(f->is_new);
    }
    assert_int_equal(count_files(f, ""), 6);
}

static void test_escalation_in_the_same_millisecond_gets_another_name(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    write_one(f, &e);
    e.tool = slice_of("other");
    assert_string_equal(write_one(f, &e), "Escalations/20261121T101540.044Z-hang-files.md");
}

static void test_escalation_count_is_written_once_a_second_and_complete(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    char path[200];
    snprintf(path, sizeof path, "%s", write_one(f, &e));
    for (int i = 1; i <= 100; i++) {
        e.at_us = T0 + i * 1000;
        write_one(f, &e);
    }
    assert_true(holds(f, path, "\ncount: 1\n"));
    e.at_us = T0 + SECOND;
    write_one(f, &e);
    assert_true(holds(f, path, "\ncount: 102\n"));
    e.at_us += 1000;
    write_one(f, &e);
    escalations_close(&f->memory, f->fd, f->w);
    assert_true(holds(f, path, "\ncount: 103\n"));
    assert_true(holds(f, path, "\nlast_at: \"2026-11-21T10:15:41.044Z\"\n"));
}

/* A process was killed after it had made the file, or after it had also added the row. */
static void test_escalation_written_again_by_the_next_process_is_the_same_file(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    char first[200];
    assert_int_equal(escalation_write(&f->memory, f->fd, NULL, &e, &f->path, &f->is_new), 0);
    snprintf(first, sizeof first, "%s", buf_str(&f->path));
    for (int i = 0; i < 2; i++) { /* without a row, with a row */
        f->memory = (struct escalations){0};
        assert_string_equal(write_one(f, &e), first);
        assert_true(f->is_new);
        assert_true(holds(f, first, "\ncount: 1\n"));
    }
    assert_int_equal(count_files(f, ""), 1);
    f->memory = (struct escalations){0};
    e.session = "another";
    assert_string_equal(write_one(f, &e), first);
    assert_false(f->is_new);
    assert_true(holds(f, first, "\ncount: 2\n"));
}

static void test_escalation_file_of_another_session_is_reused(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    char first[200];
    snprintf(first, sizeof first, "%s", write_one(f, &e));
    escalations_close(&f->memory, f->fd, f->w);
    e.at_us += 10 * MINUTE;
    assert_string_equal(write_one(f, &e), first);
    assert_false(f->is_new);
    assert_true(holds(f, first, "\ncount: 2\n"));
}

static void test_escalation_count_update_keeps_notes_of_the_user(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    char full[512];
    snprintf(full, sizeof full, "%s/%s", f->t.vault, write_one(f, &e));
    FILE *file = fopen(full, "ae");
    assert_non_null(file);
    fputs("\ncount: 7\nlooked into by me\n", file);
    fclose(file);
    e.at_us += 2 * SECOND;
    const char *path = write_one(f, &e);
    assert_true(holds(f, path, "\ncount: 2\ninterposer"));
    assert_true(holds(f, path, "\n\ncount: 7\nlooked into by me\n"));
    assert_int_equal(mode_of(full), 0600);
    assert_int_equal(count_files(f, ""), 1);
}

static void test_escalation_removed_or_damaged_file_is_created_again(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    char full[512];
    snprintf(full, sizeof full, "%s/%s", f->t.vault, write_one(f, &e));
    assert_int_equal(unlink(full), 0);
    e.at_us += 2 * SECOND;
    snprintf(full, sizeof full, "%s/%s", f->t.vault, write_one(f, &e));
    assert_true(f->is_new);
    FILE *file = fopen(full, "we"); /* truncated by another program */
    assert_non_null(file);
    fputs("---\n---\n", file);
    fclose(file);
    e.at_us += 2 * SECOND;
    write_one(f, &e);
    assert_true(f->is_new);
    assert_int_equal(count_files(f, ""), 2);
}

static void test_escalation_number_of_files_per_hour_is_limited(void **state)
{
    struct fixture *f = *state;
    char tool[32], last[200] = "";
    for (int i = 0; i < ESCALATION_FILES_MAX + 20; i++) {
        snprintf(tool, sizeof tool, "tool-%d", i);
        struct escalation e = hang(T0 + i * SECOND);
        e.tool = slice_of(tool);
        const char *path = write_one(f, &e);
        assert_int_equal(f->is_new, i < ESCALATION_FILES_MAX);
        if (f->is_new)
            snprintf(last, sizeof last, "%s", path);
        else
            assert_string_equal(path, last);
    }
    assert_int_equal(count_files(f, ""), ESCALATION_FILES_MAX);
    assert_true(holds(f, last, "\ncount: 21\n"));
}

/* ---- a directory that other processes write to ---------------------------------------------- */

static void test_escalation_of_many_processes_is_one_file_with_the_total_count(void **state)
{
    struct fixture *f = *state;
    enum { PROCESSES = 4, TIMES = 10 };
    static const char *const sessions[PROCESSES] = {"A", "B", "C", "D"};
    pid_t pid[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        pid[i] = fork();
        if (pid[i] != 0)
            continue;
        struct escalations m = {0};
        struct buf path = {0};
        /* a separate connection: SQLite connections must not be used after a fork */
        struct writer *w;
        bool is_new;
        int failed = writer_open(&w, &f->dir, false, &path);
        for (int k = 0; k < TIMES; k++) {
            struct escalation e = hang(T0 + k * 2 * SECOND);
            e.session = sessions[i];
            failed |= escalation_write(&m, f->fd, w, &e, &path, &is_new) != 0;
        }
        escalations_close(&m, f->fd, w);
        _exit(failed);
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
        assert_int_equal(status, 0);
    }
    assert_int_equal(count_files(f, ""), 1);
    struct escalation e = hang(T0 + 100 * SECOND);
    assert_true(holds(f, write_one(f, &e), "\ncount: 41\n"));
}

static void test_escalation_is_written_while_the_folder_is_locked(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    assert_int_equal(mkdir(temp_path(&f->t, "vault/Escalations"), 0700), 0);
    int ready[2];
    char byte;
    assert_int_equal(pipe(ready), 0);
    pid_t holder = fork();
    if (holder == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* if this test fails */
        int fd = open(temp_path(&f->t, "vault/Escalations"), O_RDONLY | O_CLOEXEC);
        if (fd < 0 || flock(fd, LOCK_EX) != 0 || write(ready[1], "", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    close(ready[1]);
    assert_int_equal(read(ready[0], &byte, 1), 1);
    int64_t start = clock_mono_us();
    write_one(f, &e);
    assert_true(f->is_new);
    assert_true(clock_mono_us() - start >= ESCALATION_WAIT_US);
    e.at_us += 2 * SECOND;
    const char *path = write_one(f, &e);
    assert_true(holds(f, path, "\ncount: 1\n")); /* not updated while locked */
    kill(holder, SIGKILL);
    waitpid(holder, NULL, 0);
    close(ready[0]);
    escalations_close(&f->memory, f->fd, f->w);
    assert_true(holds(f, path, "\ncount: 2\n"));
}

static void test_escalation_does_not_follow_links(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    mkdir(temp_path(&f->t, "elsewhere"), 0700);
    assert_int_equal(symlink(temp_path(&f->t, "elsewhere"), temp_path(&f->t, "vault/Escalations")),
                     0);
    assert_int_equal(escalation_write(&f->memory, f->fd, f->w, &e, &f->path, &f->is_new), MI_EIO);
    assert_int_equal(unlink(temp_path(&f->t, "vault/Escalations")), 0);

    /* a link in place of an escalation file is neither read nor written through */
    char full[512], moved[512];
    snprintf(full, sizeof full, "%s/%s", f->t.vault, write_one(f, &e));
    snprintf(moved, sizeof moved, "%s", temp_path(&f->t, "elsewhere/moved.md"));
    assert_int_equal(rename(full, moved), 0);
    assert_int_equal(symlink(moved, full), 0);
    escalations_close(&f->memory, f->fd, f->w);
    e.at_us += 2 * SECOND;
    write_one(f, &e);
    assert_true(f->is_new);
    char *p = slurp(moved, NULL);
    assert_non_null(strstr(p, "\ncount: 1\n"));
    free(p);
}

static void test_escalation_stale_temporary_files_are_removed_after_an_hour(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    write_one(f, &e);
    const char *old = temp_path(&f->t, "vault/Escalations/.new-old");
    const char *young = temp_path(&f->t, "vault/Escalations/.new-young");
    struct timespec times[2] = {{time(NULL) - 3700, 0}, {time(NULL) - 3700, 0}};
    close(open(old, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    close(open(young, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    assert_int_equal(utimensat(AT_FDCWD, old, times, 0), 0);
    e.tool = slice_of("other");
    write_one(f, &e);
    assert_false(exists(old));
    assert_true(exists(young));
}

static void test_escalation_that_cannot_be_written_leaves_no_file(void **state)
{
    struct fixture *f = *state;
    struct escalation e = hang(T0);
    assert_int_equal(escalation_write(&f->memory, -1, NULL, &e, &f->path, &f->is_new), MI_EIO);
    assert_int_equal(f->path.n, 0);
    pid_t pid = fork();
    if (pid == 0) { /* files cannot have content */
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){0, 0});
        signal(SIGXFSZ, SIG_IGN);
        int st = escalation_write(&f->memory, f->fd, f->w, &e, &f->path, &f->is_new);
        _exit(st == MI_EIO && errno == EFBIG ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    assert_int_equal(status, 0);
    assert_int_equal(count_files(f, ""), 0);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        T(test_escalation_new_file_contains_every_field),
        T(test_escalation_without_a_call_omits_its_sections),
        T(test_escalation_folder_and_file_are_private_and_no_other_file_remains),
        T(test_escalation_text_of_a_peer_is_escaped),
        T(test_escalation_long_text_is_truncated_and_huge_text_omitted),
        T(test_escalation_contains_no_secrets),
        T(test_escalation_keeps_the_last_lines_of_stderr),
        T(test_escalation_server_name_makes_a_safe_file_name),
        T(test_escalation_same_problem_within_an_hour_counts),
        T(test_escalation_count_is_stored_in_the_database),
        T(test_escalation_without_a_database_is_written_and_counted),
        T(test_escalation_other_problems_have_their_own_files),
        T(test_escalation_in_the_same_millisecond_gets_another_name),
        T(test_escalation_count_is_written_once_a_second_and_complete),
        T(test_escalation_written_again_by_the_next_process_is_the_same_file),
        T(test_escalation_file_of_another_session_is_reused),
        T(test_escalation_count_update_keeps_notes_of_the_user),
        T(test_escalation_removed_or_damaged_file_is_created_again),
        T(test_escalation_number_of_files_per_hour_is_limited),
        T(test_escalation_of_many_processes_is_one_file_with_the_total_count),
        T(test_escalation_is_written_while_the_folder_is_locked),
        T(test_escalation_does_not_follow_links),
        T(test_escalation_stale_temporary_files_are_removed_after_an_hour),
        T(test_escalation_that_cannot_be_written_leaves_no_file),
    };
    return cmocka_run_group_tests_name("escalation", tests, NULL, NULL);
}
