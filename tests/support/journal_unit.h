/* journal_unit.h - shared by the tests of record/process: journals with entries, and everything that a vault contains
 * as one text. */
#ifndef MI_TESTS_JOURNAL_UNIT_H
#define MI_TESTS_JOURNAL_UNIT_H

#include "tests/support/vault_unit.h"

#include "base/clock.h"
#include "journal/entry_form.h"
#include "journal/journal_file.h"
#include "journal/ring.h"

#include <dirent.h>
#include <stdlib.h>

/* The writer's side of a session. */
struct journal_unit {
    struct temp t; /* its vault does not exist yet */
    char dir[160]; /* of the journals */
    struct journal_file file;
    struct ring ring;
    struct buf start;
    int64_t wall_us;
    char uid[UID_LEN + 1];
    uint64_t seq;
};

/* The directory for journals, and an empty place for a vault. */
static inline MI_UNUSED void journal_unit_place(struct journal_unit *j)
{
    *j = (struct journal_unit){.file.fd = -1};
    setenv("TMPDIR", "/dev/shm", 1); /* journals must be in memory; the vault is faster there */
    temp_make(&j->t);
    snprintf(j->dir, sizeof j->dir, "%s/journals", j->t.root);
    assert_int_equal(mkdir(j->dir, 0700), 0);
    journal_file_set_dir(j->dir);
    j->wall_us = clock_wall_us();
}

/* rules: of the session, JSON; NULL: the built-in ones. */
static inline MI_UNUSED void journal_unit_open(struct journal_unit *j, const char *rules)
{
    assert_int_equal(uid_make(j->wall_us, j->uid), 0);
    struct session_start start = {
        .uid = slice_of(j->uid),
        .vault = slice_of(j->t.vault),
        .name = slice_of("files"),
        .command =
            slice_of("[\"files-server\",\"--token=ghp_0123456789abcdefghijklmnopqrstuvwxyz\"]"),
        .host = slice_of("here"),
        .redact_rules = slice_of(rules != NULL ? rules : "{\"version\":\"2.1\"}"),
        .level = RECORD_FULL,
        .started_wall_us = j->wall_us,
        .pid = 4242,
    };
    buf_clear(&j->start);
    form_append_session_start(&j->start, &start);
    assert_false(j->start.failed);
    j->seq = 0;
    assert_int_equal(journal_file_create(&j->file, j->uid, NULL), 0);
    assert_true(j->file.has_name);
    assert_int_equal(ring_create(&j->ring, j->file.fd, 16 << 20, 8 << 20, buf_slice(&j->start)), 0);
}

/* The proxy is gone: its lock is released. */
static inline MI_UNUSED void journal_unit_die(struct journal_unit *j)
{
    ring_close(&j->ring);
    journal_file_close(&j->file);
}

static inline MI_UNUSED void journal_unit_remove(struct journal_unit *j)
{
    journal_unit_die(j);
    buf_close(&j->start);
    journal_file_set_dir(NULL);
    temp_remove(&j->t);
}

static inline MI_UNUSED void put(struct journal_unit *j, const struct entry *e)
{
    size_t n = form_size_of_entry(e);
    char *p = ring_reserve_record(&j->ring, n);
    assert_non_null(p);
    form_write_entry(e, p);
    ring_add_record_head(&j->ring, e->kind, n);
    bool wake = ring_publish_records(&j->ring);
    (void)wake;
}

static inline MI_UNUSED void put_message(struct journal_unit *j, const char *body)
{
    struct entry e = {.kind = ENTRY_MESSAGE,
                      .row = {.kind = KIND_REQUEST,
                              .seq = ++j->seq,
                              .t_us = (int64_t)j->seq * 10,
                              .rpc_id = slice_of("7"),
                              .method = slice_of("tools/call"),
                              .target = slice_of("read"),
                              .body = slice_of(body),
                              .size = strlen(body)}};
    put(j, &e);
}

static inline MI_UNUSED void put_event(struct journal_unit *j, const char *kind, const char *detail)
{
    struct entry e = {.kind = ENTRY_EVENT,
                      .row = {.event = kind, .t_us = (int64_t)j->seq * 10 + 1}};
    if (detail != NULL)
        e.row.body = slice_of(detail);
    put(j, &e);
}

static inline MI_UNUSED struct invocation an_invocation(const struct journal_unit *j)
{
    return (struct invocation){.wall_us = j->wall_us + (int64_t)j->seq,
                               .seq = j->seq,
                               .status = CALL_OK,
                               .method = slice_of("tools/call"),
                               .target = slice_of("read"),
                               .arguments = slice_of("{\"path\":\"a\"}"),
                               .arguments_n = 12,
                               .duration_us = 1500,
                               .request_bytes = 80,
                               .response_bytes = 90,
                               .result = slice_of("fine")};
}

static inline MI_UNUSED void put_invocation(struct journal_unit *j)
{
    struct entry e = {.kind = ENTRY_INVOCATION, .invocation = an_invocation(j)};
    put(j, &e);
}

/* A result that finishes a request. */
static inline MI_UNUSED void put_answer(struct journal_unit *j, const char *body)
{
    struct entry e = {.kind = ENTRY_MESSAGE,
                      .row = {.kind = KIND_RESULT,
                              .seq = ++j->seq,
                              .t_us = (int64_t)j->seq * 10,
                              .direction = ROW_S2C,
                              .rpc_id = slice_of("7"),
                              .body = slice_of(body),
                              .size = strlen(body),
                              .request_seq = j->seq - 1, /* of the message before it */
                              .ends_invocation = true}};
    e.invocation = an_invocation(j);
    put(j, &e);
}

static inline MI_UNUSED void put_escalation(struct journal_unit *j, const char *tool)
{
    struct entry e = {.kind = ENTRY_ESCALATION,
                      .escalation = {.cause = ESCALATION_AUTH,
                                     .at_us = j->wall_us + (int64_t)j->seq,
                                     .seq = j->seq,
                                     .method = slice_of("tools/call"),
                                     .tool = slice_of(tool),
                                     .action = "forwarded",
                                     .happened = slice_of("The credentials were rejected.")},
                      .t_us = (int64_t)j->seq * 10 + 2};
    put(j, &e);
}

static inline MI_UNUSED void put_running_processes(struct journal_unit *j)
{
    struct entry e = {.kind = ENTRY_RUNNING};
    running_describe_own_process(&e.running);
    put(j, &e);
}

static inline MI_UNUSED void put_end(struct journal_unit *j)
{
    struct entry e = {.kind = ENTRY_UPDATE,
                      .update = {.end_reason = slice_of("client-closed"),
                                 .has_exit_status = true,
                                 .ended_at_us = j->wall_us + 1000000}};
    put(j, &e);
    bool wake = ring_mark_ended(&j->ring);
    (void)wake;
}

/* ---- what a vault contains ---- */

static inline void add_answer(struct buf *b, const struct temp *t, const char *sql)
{
    buf_adds(b, sql_rows(t, sql));
    buf_addc(b, '\n');
}

static inline int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The names of the files in a folder of the vault, and their contents if `text`. */
static inline void add_folder(struct buf *b, const struct temp *t, const char *folder, bool text)
{
    char path[300], *name[100];
    size_t n = 0;
    snprintf(path, sizeof path, "%s/%s", t->vault, folder);
    DIR *d = opendir(path);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
        if (e->d_name[0] != '.' && n < MI_COUNT(name)) /* .new-… may be left for an hour */
            name[n++] = strdup(e->d_name);
    if (d != NULL)
        closedir(d);
    qsort(name, n, sizeof *name, by_name);
    for (size_t i = 0; i < n; i++) {
        char file[600];
        snprintf(file, sizeof file, "%s/%s", path, name[i]);
        char *content = text ? slurp(file, NULL) : NULL;
        buf_printf(b, "%s\n%s", name[i], content != NULL ? content : "");
        free(content);
        free(name[i]);
    }
}

static inline void add_large_bodies(struct buf *b, const struct temp *t)
{
    char *places =
        strdup(sql_rows(t, "SELECT s.uid, m.body_offset, m.body_length FROM messages m JOIN "
                           "sessions s ON s.id = m.session_id WHERE body_offset IS NOT NULL "
                           "ORDER BY m.id"));
    for (char *save, *p = strtok_r(places, ";", &save); p != NULL; p = strtok_r(NULL, ";", &save)) {
        char uid[40], path[300];
        long long offset, length;
        assert_int_equal(sscanf(p, "%39[^|]|%lld|%lld", uid, &offset, &length), 3);
        snprintf(path, sizeof path, "%s/Bodies/%s", t->vault, uid);
        size_t n;
        char *all = slurp(path, &n);
        assert_true((size_t)(offset + length) < n && all[offset + length] == '\n');
        buf_add(b, all + offset, (size_t)length);
        buf_addc(b, '\n');
        free(all);
    }
    free(places);
}

/* Everything but row ids, offsets, uids and what depends on the time of storing. free() it. */
static inline MI_UNUSED char *vault_text(const struct temp *t)
{
    struct buf b = {0};
    add_answer(&b, t,
               "SELECT name, command, client_name, server_name, ended_at_us - started_at_us, "
               "end_reason, exit_status, pid, host, record_level FROM sessions ORDER BY id");
    add_answer(&b, t,
               "SELECT session_id, seq, t_us, direction, origin, kind, rpc_id, method, "
               "target, body, body_length, size, redactions, action, finding "
               "FROM messages ORDER BY id");
    add_answer(&b, t, "SELECT session_id, t_us, kind, detail FROM events ORDER BY id");
    add_answer(&b, t, "SELECT * FROM calls ORDER BY id");
    add_answer(&b, t, "SELECT session_id FROM running");
    add_answer(&b, t, "SELECT * FROM journals");
    add_answer(&b, t,
               "SELECT cause, server, tool, method, file, count FROM escalations ORDER BY id");
    add_large_bodies(&b, t);
    add_folder(&b, t, "Logs/MCP_Actions", true);
    add_folder(&b, t, "Escalations", true);
    assert_false(b.failed);
    buf_str(&b); /* ends it with a NUL */
    return b.p;
}

#endif
