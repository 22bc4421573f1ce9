/* Reading a vault, on databases created from the schema. */
#include "vault/query/connection.h"
#include "vault/query/page.h"

#include "journal/uid.h"
#include "vault/store/columns.h"
#include "vault/store/dir.h"
#include "vault/store/schema.h"

#include "tests/support/vault_unit.h"

#include <sys/stat.h>
#include <unistd.h>

struct vault {
    struct temp temp;
    sqlite3 *db; /* owned; a second connection, for writing */
    int64_t next_event;
};

static int set_up(void **state)
{
    struct vault *v = calloc(1, sizeof *v);
    assert_non_null(v);
    temp_make(&v->temp);
    v->db = sql_vault(&v->temp);
    *state = v;
    return 0;
}

static int tear_down(void **state)
{
    struct vault *v = *state;
    sqlite3_close(v->db);
    temp_remove(&v->temp);
    free(v);
    return 0;
}

/* uid: the first characters; the rest is padding. */
static void add_session(struct vault *v, int64_t id, const char *uid)
{
    char text[512], whole[UID_LEN + 1];
    memset(whole, 'Z', UID_LEN);
    whole[UID_LEN] = '\0';
    memcpy(whole, uid, strlen(uid));
    snprintf(text, sizeof text,
             "INSERT INTO sessions (id, uid, name, command, started_at_us, pid, host, record_level,"
             " interposer_version) VALUES (%lld, '%s', 'name%lld', '[\"x\"]', %lld, 4, 'h', "
             "'full', '0')",
             (long long)id, whole, (long long)id, (long long)(1000000 * id));
    sql_run(v->db, text);
}

struct message {
    int64_t seq, t_us;
    const char *direction, *origin, *kind, *action;
    const char *rpc_id, *method, *target;
    const char *body;
    int64_t request_seq;
    const char *finding;
};

static void add_message(struct vault *v, int64_t session_id, const struct message *m)
{
    static const char insert[] =
        "INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind, rpc_id, method,"
        " target, body, size, redactions, action, request_seq, finding)"
        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, 7, 0, ?12, ?13, ?14)";
    sqlite3_stmt *st;
    assert_int_equal(sqlite3_prepare_v2(v->db, insert, -1, &st, NULL), SQLITE_OK);
    sqlite3_bind_int64(st, 1, schema_message_id(session_id, (uint64_t)m->seq));
    sqlite3_bind_int64(st, 2, session_id);
    sqlite3_bind_int64(st, 3, m->seq);
    sqlite3_bind_int64(st, 4, m->t_us);
    const char *const texts[] = {m->direction != NULL ? m->direction : "c2s",
                                 m->origin != NULL ? m->origin : "peer",
                                 m->kind != NULL ? m->kind : "notification",
                                 m->rpc_id,
                                 m->method,
                                 m->target,
                                 m->body,
                                 m->action != NULL ? m->action : "forwarded"};
    for (int i = 0; i < 8; i++)
        sqlite3_bind_text(st, 5 + i, texts[i], -1, SQLITE_STATIC);
    if (m->request_seq != 0)
        sqlite3_bind_int64(st, 13, m->request_seq);
    sqlite3_bind_text(st, 14, m->finding, -1, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(st), SQLITE_DONE);
    sqlite3_finalize(st);
}

static void add_event(struct vault *v, int64_t session_id, int64_t t_us, const char *kind)
{
    char text[256];
    snprintf(text, sizeof text,
             "INSERT INTO events (session_id, t_us, kind, detail) VALUES (%lld, %lld, '%s', '{}')",
             (long long)session_id, (long long)t_us, kind);
    sql_run(v->db, text);
}

static struct query *open_it(struct vault *v)
{
    struct query *q = NULL;
    struct buf error = {0};
    if (query_open(&q, v->temp.vault, &error) < 0)
        fail_msg("%s", buf_str(&error));
    buf_close(&error);
    return q;
}

static void open_fails(const char *dir, int status, const char *part)
{
    struct query *q = NULL;
    struct buf error = {0};
    assert_int_equal(query_open(&q, dir, &error), status);
    if (strstr(buf_str(&error), part) == NULL)
        fail_msg("'%s' is not in: %s", part, buf_str(&error));
    buf_close(&error);
}

/* ---- opening ---- */

static void test_query_open_empty_is_a_vault_without_sessions(void **state)
{
    (void)state;
    struct query *q;
    int64_t newest = -1;
    assert_int_equal(query_open_empty_vault(&q, "/nonexistent/vault"), 0);
    assert_false(query_is_stored(q));
    assert_int_equal(query_dir_fd(q), -1);
    assert_string_equal(query_vault(q), "/nonexistent/vault");
    assert_int_equal(query_newest_session(q, &newest), 0);
    assert_int_equal(newest, 0);
    struct query_session session;
    assert_int_equal(query_session(q, NULL, &session), MI_ENOENT);
    assert_non_null(strstr(query_error(q), "nothing is recorded in /nonexistent/vault yet"));
    query_close(q);
}

static void test_query_open_reports_why_a_vault_cannot_be_read(void **state)
{
    struct vault *v = *state;
    char path[256], other[256];
    snprintf(path, sizeof path, "%s/" VAULT_DB, v->temp.vault);
    snprintf(other, sizeof other, "%s/other", v->temp.vault);
    open_fails("/nonexistent/vault", MI_ENOENT,
               "nothing has been recorded in /nonexistent/vault; choose");
    open_fails(path, MI_EIO, "Not a directory; choose another with --vault");
    sql_run(v->db, "PRAGMA user_version = 99");
    open_fails(v->temp.vault, MI_ESTORE, "created by a newer mcp-interposer");
    sql_run(v->db, "PRAGMA user_version = -1");
    open_fails(v->temp.vault, MI_ESTORE, "created by a newer mcp-interposer");
    sql_run(v->db, "PRAGMA user_version = 0");
    open_fails(v->temp.vault, MI_ESTORE, "states no version of its schema");
    sql_run(v->db, "PRAGMA user_version = 2");
    sqlite3_close(v->db);
    v->db = NULL;

    assert_int_equal(rename(path, other), 0);
    open_fails(v->temp.vault, MI_ENOENT, "nothing has been recorded");
    assert_int_equal(symlink(other, path), 0);
    open_fails(v->temp.vault, MI_ESTORE, "cannot read"); /* a link is not followed */
    assert_int_equal(unlink(path), 0);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("this is no database, whatever its name says; it is long enough for a header of one of "
          "them\n",
          f);
    assert_int_equal(fclose(f), 0);
    open_fails(v->temp.vault, MI_ESTORE, "not a database");
}

static void test_query_cannot_write_to_the_database(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "AAAA");
    struct query *q = open_it(v);
    assert_int_equal(sqlite3_exec(q->d.db, "DELETE FROM sessions", NULL, NULL, NULL),
                     SQLITE_READONLY);
    query_close(q);
}

/* ---- sessions ---- */

struct seen {
    int64_t ids[512];
    size_t n, stop_after;
};

static bool see_session(void *ctx, const struct query_session *s)
{
    struct seen *seen = ctx;
    assert_true(seen->n < MI_COUNT(seen->ids));
    seen->ids[seen->n++] = s->id;
    return seen->n != seen->stop_after;
}

static void test_query_sessions_are_newest_first_and_limited(void **state)
{
    struct vault *v = *state;
    char uid[32];
    sql_run(v->db, "BEGIN");
    for (int64_t id = 1; id <= 200; id++) { /* several pages */
        snprintf(uid, sizeof uid, "A%03lld", (long long)id);
        add_session(v, id, uid);
    }
    sql_run(v->db, "COMMIT");
    struct query *q = open_it(v);
    static const int64_t limits[] = {0, 1, 63, 64, 65, 128, 199, 200, 201};
    for (size_t i = 0; i < MI_COUNT(limits); i++) {
        struct seen seen = {0};
        assert_int_equal(query_sessions(q, limits[i], see_session, &seen), 0);
        assert_int_equal(seen.n, limits[i] == 0 || limits[i] > 200 ? 200 : limits[i]);
        for (size_t k = 0; k < seen.n; k++)
            assert_int_equal(seen.ids[k], 200 - (int64_t)k);
    }
    struct seen few = {.stop_after = 70};
    assert_int_equal(query_sessions(q, 0, see_session, &few), 0);
    assert_int_equal(few.n, 70);
    query_close(q);
}

static int64_t find(struct query *q, const char *ref)
{
    struct query_session s;
    int st = query_session(q, ref, &s);
    return st < 0 ? st : s.id;
}

static void test_query_session_is_found_by_id_and_by_uid_prefix(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "01ABC");
    add_session(v, 2, "01ABD");
    add_session(v, 3, "22");
    add_session(v, 22, "7XYZ");
    struct query *q = open_it(v);
    assert_int_equal(find(q, "1"), 1);
    assert_int_equal(find(q, "22"), 22); /* an id takes precedence over a UID */
    assert_int_equal(find(q, "22Z"), 3);
    assert_int_equal(find(q, "01ABC"), 1);
    assert_int_equal(find(q, "01abd"), 2);
    assert_int_equal(find(q, "7"), 22); /* no session 7, so it is a UID prefix */
    assert_int_equal(find(q, "01ABCZZZZZZZZZZZZZZZZZZZZZ"), 1);
    assert_int_equal(find(q, "01AB"), MI_EINVAL);
    assert_non_null(strstr(query_error(q), "several sessions begin with 01AB"));
    static const char *const nobody[] = {
        "",       "4",  "01ABE", "01ABCZZZZZZZZZZZZZZZZZZZZZZ", "%", "_", "0",
        "' OR 1", "-1", "../x",  "99999999999999999999999",     "1 "};
    for (size_t i = 0; i < MI_COUNT(nobody); i++) {
        if (find(q, nobody[i]) != (strcmp(nobody[i], "0") == 0 ? MI_EINVAL : MI_ENOENT))
            fail_msg("'%s' is somebody", nobody[i]);
    }
    query_close(q);
}

static void test_query_session_is_found_by_the_name_of_its_server(void **state)
{
    struct vault *v = *state;
    static const char *const names[] = {"files", "git", "files", "last", "2", "BBBB"};
    bool named;
    add_session(v, 1, "AA");
    add_session(v, 2, "BB");
    add_session(v, 3, "CC");
    add_session(v, 4, "BBBB");
    add_session(v, 5, "EE");
    add_session(v, 6, "FF");
    for (int i = 0; i < 6; i++) {
        char text[100];
        snprintf(text, sizeof text, "UPDATE sessions SET name = '%s' WHERE id = %d", names[i],
                 i + 1);
        sql_run(v->db, text);
    }
    add_message(v, 5, &(struct message){.seq = 1});
    struct query *q = open_it(v);
    assert_int_equal(find(q, "files"), 3);
    add_message(v, 1, &(struct message){.seq = 1}); /* one with messages is preferred */
    assert_int_equal(find(q, "files"), 1);
    assert_int_equal(find(q, "git"), 2);
    assert_int_equal(find(q, "last"), 5); /* also if a server has this name */
    assert_int_equal(find(q, "2"), 2);
    assert_int_equal(find(q, "BBBB"), 6); /* before a UID */
    assert_int_equal(find(q, "bbbb"), 4);
    assert_int_equal(find(q, "file"), MI_ENOENT);
    assert_int_equal(query_reference_is_server_name(q, "git", &named), 0);
    assert_true(named);
    for (size_t i = 0; i < 4; i++) {
        static const char *const others[] = {"last", "2", "AA", "gi"};
        assert_int_equal(query_reference_is_server_name(q, others[i], &named), 0);
        assert_false(named);
    }
    query_close(q);
}

static void test_query_session_default_is_the_newest_with_a_message(void **state)
{
    struct vault *v = *state;
    struct query *q = open_it(v);
    assert_int_equal(find(q, NULL), MI_ENOENT);
    assert_non_null(strstr(query_error(q), "nothing is recorded in "));
    add_session(v, 1, "AA");
    add_session(v, 2, "BB");
    assert_int_equal(find(q, NULL), 2);
    add_message(v, 1, &(struct message){.seq = 1});
    assert_int_equal(find(q, NULL), 1);
    add_session(v, 3, "CC");
    assert_int_equal(find(q, NULL), 1);
    add_message(v, 3, &(struct message){.seq = 1});
    assert_int_equal(find(q, NULL), 3);
    query_close(q);
}

static void test_query_session_has_the_length_of_its_unique_uid_prefix(void **state)
{
    struct vault *v = *state;
    struct query_session s;
    add_session(v, 1, "01ABC");
    struct query *q = open_it(v);
    assert_int_equal(query_session(q, "1", &s), 0);
    assert_int_equal(s.uid_unique, 1);
    add_session(v, 2, "01ABD");
    add_session(v, 3, "01B");
    assert_int_equal(query_session(q, "1", &s), 0);
    assert_int_equal(s.uid_unique, 5);
    assert_int_equal(query_session(q, "3", &s), 0);
    assert_int_equal(s.uid_unique, 3);
    query_close(q);
}

static void test_query_session_has_every_column(void **state)
{
    struct vault *v = *state;
    struct query_session s;
    add_session(v, 5, "AA");
    struct query *q = open_it(v);
    assert_int_equal(query_session(q, "5", &s), 0);
    assert_null(s.client_name.p);
    assert_null(s.end_reason.p);
    assert_false(s.has_exit_status);
    assert_int_equal(s.ended_at_us, 0);
    sql_run(v->db,
            "UPDATE sessions SET client_name = 'cn', client_version = 'cv', server_name = 'sn',"
            " server_version = 'sv', protocol_version = 'pv', ended_at_us = 9, end_reason = 'er',"
            " exit_status = 0");
    assert_int_equal(query_session(q, "5", &s), 0);
    assert_true(slice_is(s.name, "name5") && slice_is(s.command, "[\"x\"]") &&
                slice_is(s.host, "h"));
    assert_true(slice_is(s.client_name, "cn") && slice_is(s.client_version, "cv"));
    assert_true(slice_is(s.server_name, "sn") && slice_is(s.server_version, "sv"));
    assert_true(slice_is(s.protocol_version, "pv") && slice_is(s.end_reason, "er"));
    assert_true(slice_is(s.record_level, "full") && slice_is(s.interposer_version, "0"));
    assert_true(s.has_exit_status);
    assert_int_equal(s.exit_status, 0);
    assert_int_equal(s.ended_at_us, 9);
    assert_int_equal(s.started_at_us, 5000000);
    assert_int_equal(s.pid, 4);
    query_close(q);
}

/* ---- summary ---- */

static int64_t count_status(struct vault *v, int64_t session_id, const char *status)
{
    char text[160];
    snprintf(text, sizeof text,
             "SELECT count(*) FROM invocations WHERE session_id = %lld AND status = '%s'",
             (long long)session_id, status);
    return sql_number(v->db, text);
}

static void agrees_with_the_view(struct vault *v, struct query *q, int64_t id)
{
    struct query_summary s;
    assert_int_equal(query_summary(q, id, true, &s), 0);
    for (unsigned i = 0; i < CALL_UNKNOWN; i++)
        assert_int_equal(s.by_status[i], count_status(v, id, call_status_name(i)));
    char text[128];
    snprintf(text, sizeof text, "SELECT count(*) FROM invocations WHERE session_id = %lld",
             (long long)id);
    assert_int_equal(s.calls, sql_number(v->db, text));
    int64_t waiting = 0;
    for (int64_t seq = 0; seq <= s.last_seq + 70; seq++)
        waiting += query_summary_request_is_open(&s, seq);
    assert_int_equal(waiting, s.by_status[CALL_OPEN]);
    query_summary_close(&s);
}

/* A request that ends in a random way. Returns the next seq. */
static int64_t add_call(struct vault *v, int64_t session, int64_t seq, struct unit_random *r)
{
    size_t how = unit_random(r, 8);
    struct message request = {.seq = seq, .kind = "request", .rpc_id = "1", .method = "tools/call"};
    struct message answer = {
        .seq = seq + 1, .direction = "s2c", .kind = "result", .request_seq = seq};
    if (how == 1)
        request.action = "refused";
    if (how == 1 || how == 2)
        answer.origin = "interposer";
    if (how == 1 || how == 2 || how == 3)
        answer.kind = "error";
    if (how == 2)
        answer.finding = "server-gone";
    if (how == 4)
        answer.finding = "duplicate-key,tool-error";
    if (how == 5)
        answer = (struct message){
            .seq = seq + 1, .request_seq = seq, .method = "notifications/cancelled"};
    if (how == 6)
        answer.action = "swallowed"; /* late: it closes nothing */
    add_message(v, session, &request);
    add_message(v, session, &answer);
    if (how == 7) /* a request of the server and its answer are not an invocation */
        add_message(v, session,
                    &(struct message){.seq = seq + 2, .direction = "s2c", .kind = "request"});
    if (how == 7)
        add_message(v, session,
                    &(struct message){.seq = seq + 3, .kind = "result", .request_seq = seq + 2});
    return seq + (how == 7 ? 4 : 2);
}

static void test_query_summary_agrees_with_the_view_invocations(void **state)
{
    struct vault *v = *state;
    struct unit_random r = {.s = 20261121};
    char uid[32];
    sql_run(v->db, "BEGIN");
    for (int64_t id = 1; id <= 12; id++) {
        snprintf(uid, sizeof uid, "A%02lld", (long long)id);
        add_session(v, id, uid);
        int64_t seq = 1;
        for (size_t calls = unit_random(&r, 60); calls > 0; calls--)
            seq = add_call(v, id, seq, &r);
    }
    sql_run(v->db, "COMMIT");
    struct query *q = open_it(v);
    for (int64_t id = 1; id <= 12; id++)
        agrees_with_the_view(v, q, id);
    query_close(q);
}

static void test_query_summary_of_invalid_sequence_numbers_stays_in_bounds(void **state)
{
    struct vault *v = *state;
    struct query_summary s;
    add_session(v, 1, "AA");
    struct query *q = open_it(v);
    assert_int_equal(query_summary(q, 1, true, &s), 0);
    assert_int_equal(s.last_seq, 0);
    assert_false(query_summary_request_is_open(&s, 0));
    query_summary_close(&s);
    add_message(v, 1, &(struct message){.seq = 64, .kind = "request"});
    add_message(
        v, 1,
        &(struct message){.seq = 65, .kind = "result", .direction = "s2c", .request_seq = -5});
    add_message(v, 1,
                &(struct message){
                    .seq = 66, .kind = "result", .direction = "s2c", .request_seq = INT64_MAX});
    assert_int_equal(query_summary(q, 1, true, &s), 0);
    assert_int_equal(s.by_status[CALL_OPEN], 1);
    assert_true(query_summary_request_is_open(&s, 64));
    assert_false(query_summary_request_is_open(&s, 63));
    assert_false(query_summary_request_is_open(&s, -64));
    assert_false(query_summary_request_is_open(&s, INT64_MAX));
    query_summary_close(&s);
    add_message(v, 1, &(struct message){.seq = SCHEMA_SEQ_MAX, .kind = "request"});
    assert_int_equal(query_summary(q, 1, true, &s), 0); /* every number from 66 on is not tried */
    assert_int_equal(s.by_status[CALL_OPEN], 2);
    assert_true(s.waiting_n <= (1 << 24) + 1);
    query_summary_close(&s);
    query_close(q);
}

static void signs_are(struct query *q, int64_t id, bool changed, bool unfinished)
{
    struct query_summary s;
    assert_int_equal(query_summary(q, id, false, &s), 0);
    if (s.tools_changed != changed || s.unfinished != unfinished)
        fail_msg("session %lld: %d %d", (long long)id, s.tools_changed, s.unfinished);
}

/* An import adds no events. */
static void test_query_summary_signs_are_events_or_findings_of_an_imported_session(void **state)
{
    struct vault *v = *state;
    for (int64_t id = 1; id <= 4; id++) {
        char uid[] = {'A', (char)('0' + id), '\0'};
        struct message m = {.seq = 1, .direction = "s2c", .kind = "result"};
        add_session(v, id, uid);
        m.finding = id == 3 ? "crlf,tool-changed" : id == 4 ? "unfinished-line" : NULL;
        add_message(v, id, &m);
    }
    add_event(v, 1, 5, "tool-changed");
    sql_run(v->db, "UPDATE sessions SET pid = 0 WHERE id >= 3; UPDATE sessions SET calls = 1;"
                   "INSERT INTO events (session_id, t_us, kind, detail) VALUES"
                   " (1, 6, 'unfinished-line', '{\"from\":\"client\",\"bytes\":3}'),"
                   " (2, 6, 'unfinished-line', '{\"from\":\"server\",\"bytes\":3}')");
    struct query *q = open_it(v);
    signs_are(q, 1, true, false);
    signs_are(q, 2, false, true);
    signs_are(q, 3, true, false);
    signs_are(q, 4, false, true);
    query_close(q);
}

/* ---- messages and events ---- */

struct story {
    struct vault *v;
    int64_t at, messages, events, stop_at;
    char order[64]; /* m and e */
    size_t order_n;
    bool checkpoint;
    const char *big; /* the expected body */
};

static void note(struct story *s, char c)
{
    if (s->order_n + 1 < sizeof s->order)
        s->order[s->order_n++] = c;
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct story *s = ctx;
    note(s, 'm');
    assert_true(m->seq > s->at);
    s->at = m->seq;
    s->messages++;
    if (s->big != NULL)
        assert_true(slice_is(m->body, s->big));
    if (s->checkpoint) /* the whole log is checkpointed: no reader holds it */
        assert_int_equal(sql_number(s->v->db, "PRAGMA wal_checkpoint(TRUNCATE)"), 0);
    return s->messages != s->stop_at;
}

static bool on_event(void *ctx, const struct query_event *e)
{
    struct story *s = ctx;
    assert_true(slice_is(e->detail, "{}"));
    note(s, 'e');
    s->events++;
    return true;
}

static void test_query_timeline_reads_a_range_in_order_over_many_pages(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "AA");
    add_session(v, 2, "BB");
    add_session(v, 3, "CC");
    sql_run(v->db, "BEGIN");
    for (int64_t id = 1; id <= 3; id++)
        for (int64_t seq = 1; seq <= 1500; seq++)
            add_message(v, id, &(struct message){.seq = seq, .t_us = seq});
    sql_run(v->db, "COMMIT");
    struct query *q = open_it(v);
    static const struct {
        int64_t from, to, n;
    } rows[] = {{0, INT64_MAX, 1500}, {1, 1500, 1500}, {-5, 3, 3},      {512, 513, 2},
                {513, 1024, 512},     {1500, 1500, 1}, {1501, 9999, 0}, {7, 6, 0}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct story s = {.v = v};
        assert_int_equal(query_timeline(q, 2, rows[i].from, rows[i].to, on_message, NULL, &s), 0);
        assert_int_equal(s.messages, rows[i].n);
    }
    struct story few = {.v = v, .stop_at = 700};
    assert_int_equal(query_timeline(q, 2, 0, INT64_MAX, on_message, NULL, &few), 0);
    assert_int_equal(few.messages, 700);
    query_close(q);
}

static void test_query_timeline_pages_are_bounded_by_bytes(void **state)
{
    struct vault *v = *state;
    static char big[60001];
    memset(big, 'b', sizeof big - 1);
    add_session(v, 1, "AA");
    sql_run(v->db, "BEGIN");
    for (int64_t seq = 1; seq <= 100; seq++)
        add_message(v, 1, &(struct message){.seq = seq, .body = big});
    sql_run(v->db, "COMMIT");
    struct query *q = open_it(v);
    struct page_row *page = NULL;
    assert_int_equal(page_read_messages(q, NULL, 1, 0, 100, &page), 0);
    size_t rows = 0;
    for (struct page_row *h = page; h != NULL; h = h->next)
        rows++;
    page_free(page);
    assert_in_range(rows, 1, QUERY_PAGE_BYTES / (sizeof big - 1) + 1);
    struct story s = {.v = v, .big = big};
    assert_int_equal(query_timeline(q, 1, 0, INT64_MAX, on_message, NULL, &s), 0);
    assert_int_equal(s.messages, 100);
    query_close(q);
}

static void test_query_timeline_places_events_by_time(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "AA");
    add_session(v, 2, "BB");
    add_event(v, 1, 0, "spawn");
    add_event(v, 2, 0, "spawn"); /* of another session */
    add_event(v, 1, 15, "gap");
    add_event(v, 1, 20, "gap"); /* at the same time as a message: before it */
    add_event(v, 1, 40, "exit");
    add_event(v, 1, 41, "kill");
    for (int64_t seq = 1; seq <= 3; seq++)
        add_message(v, 1, &(struct message){.seq = seq, .t_us = 10 * seq});
    struct query *q = open_it(v);
    struct story s = {.v = v};
    assert_int_equal(query_timeline(q, 1, 0, INT64_MAX, on_message, on_event, &s), 0);
    assert_string_equal(s.order, "emeemmee");
    struct story only_events = {.v = v};
    assert_int_equal(query_timeline(q, 2, 0, INT64_MAX, on_message, on_event, &only_events), 0);
    assert_string_equal(only_events.order, "e");
    query_close(q);
}

static void test_query_timeline_reads_more_events_than_a_page(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "AA");
    sql_run(v->db, "BEGIN");
    for (int i = 0; i < 1300; i++)
        add_event(v, 1, i, "gap");
    sql_run(v->db, "COMMIT");
    struct query *q = open_it(v);
    struct story s = {.v = v};
    assert_int_equal(query_timeline(q, 1, 0, INT64_MAX, on_message, on_event, &s), 0);
    assert_int_equal(s.events, 1300);
    query_close(q);
}

struct backwards {
    int64_t n, last, stop_at;
};

static bool seq_falls(void *ctx, const struct query_message *m)
{
    struct backwards *b = ctx;
    assert_true(m->seq < b->last);
    b->last = m->seq;
    return ++b->n != b->stop_at;
}

static bool id_falls(void *ctx, const struct query_event *e)
{
    struct backwards *b = ctx;
    assert_true(e->id < b->last);
    b->last = e->id;
    return ++b->n != b->stop_at;
}

static void test_query_facts_and_events_backwards(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "AA");
    add_session(v, 2, "BB");
    sql_run(v->db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4500)"
                   " INSERT INTO messages SELECT (1 << 36) + i, 1, i, i, 's2c', 'peer',"
                   " iif(i % 1000 = 0, 'error', 'notification'), NULL, 'x', NULL, 'x', NULL, NULL,"
                   " 2, 0, iif(i = 7, 'refused', 'forwarded'), NULL, NULL, NULL, NULL, NULL, NULL, "
                   "NULL FROM n");
    add_message(v, 2, &(struct message){.seq = 1});
    sql_run(v->db, "BEGIN");
    for (int i = 0; i < 1300; i++)
        add_event(v, 1, i, "gap");
    sql_run(v->db, "COMMIT");
    struct query *q = open_it(v);
    static const struct {
        int64_t to, stop_at, n, last;
        bool failed;
    } rows[] = {{INT64_MAX, 0, 4500, 1, false},  {4500, 0, 4500, 1, false},
                {2001, 0, 2001, 1, false},       {2000, 0, 2000, 1, false},
                {4400, 2300, 2300, 2101, false}, {INT64_MAX, 0, 5, 7, true},
                {3999, 2, 2, 2000, true},        {0, 0, 0, INT64_MAX, false}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct backwards b = {.last = INT64_MAX, .stop_at = rows[i].stop_at};
        struct filter f = FILTER_ANY;
        struct message_question x = {&f, 1, 0, 1, rows[i].to};
        f.failed = rows[i].failed;
        assert_int_equal(query_messages_without_bodies(q, &x, QUERY_BACKWARD, seq_falls, &b), 0);
        assert_int_equal(b.n, rows[i].n);
        assert_int_equal(b.last, rows[i].last);
    }
    struct backwards all = {.last = INT64_MAX}, some = {.last = 1201, .stop_at = 700};
    assert_int_equal(query_events_newest_first(q, 1, INT64_MAX, id_falls, &all), 0);
    assert_int_equal(all.n, 1300);
    assert_int_equal(query_events_newest_first(q, 1, 1200, id_falls, &some), 0);
    assert_int_equal(some.last, 501);
    query_close(q);
}

struct rows_seen {
    int64_t n, last, step;
    bool bodies;
};

static bool see_row(void *ctx, const struct query_message *m)
{
    struct rows_seen *r = ctx;
    assert_true(r->last == 0 || m->seq == r->last + r->step);
    assert_int_equal(m->body.p != NULL, r->bodies);
    assert_int_equal(m->request_seq, m->seq > 1 ? m->seq - 1 : 0);
    assert_int_equal(m->has_request, m->seq > 1);
    assert_true(m->seq == 1 || slice_is(m->request_target, "t"));
    assert_true(slice_is(m->finding, "f"));
    r->last = m->seq;
    r->n++;
    return true;
}

static void test_query_rows_in_both_orders_with_and_without_bodies(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "AA");
    add_session(v, 2, "BB");
    sql_run(v->db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 4500)"
                   " INSERT INTO messages SELECT (1 << 36) + i, 1, i, i, 's2c', 'peer', 'result', "
                   "NULL, 'm', 't',"
                   " 'x', NULL, NULL, 2, 0, 'forwarded', iif(i > 1, i - 1, NULL), NULL, NULL, 'f', "
                   "NULL, NULL, NULL FROM n");
    add_message(v, 2, &(struct message){.seq = 1});
    struct query *q = open_it(v);
    static const struct {
        int64_t from, to, n, last;
        enum query_order order;
    } rows[] = {{1, INT64_MAX, 4500, 4500, QUERY_FORWARD},
                {-5, 2001, 2001, 2001, QUERY_FORWARD},
                {7, 7, 1, 7, QUERY_FORWARD},
                {4500, 9000, 1, 4500, QUERY_FORWARD},
                {4501, 9000, 0, 0, QUERY_FORWARD},
                {1, INT64_MAX, 4500, 1, QUERY_BACKWARD},
                {300, 4400, 4101, 300, QUERY_BACKWARD},
                {1, 0, 0, 0, QUERY_BACKWARD}};
    for (size_t i = 0; i < 2 * MI_COUNT(rows); i++) {
        bool bodies = i % 2 != 0;
        struct rows_seen r = {.step = rows[i / 2].order == QUERY_FORWARD ? 1 : -1,
                              .bodies = bodies};
        assert_int_equal(query_message_rows(q, 1, rows[i / 2].from, rows[i / 2].to,
                                            rows[i / 2].order, bodies, see_row, &r),
                         0);
        assert_int_equal(r.n, rows[i / 2].n);
        assert_int_equal(r.last, rows[i / 2].last);
    }
    query_close(q);
}

static void test_query_timeline_holds_no_transaction_while_the_reader_waits(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "AA");
    for (int64_t seq = 1; seq <= 3; seq++)
        add_message(v, 1, &(struct message){.seq = seq});
    struct query *q = open_it(v);
    struct story s = {.v = v, .checkpoint = true};
    assert_int_equal(query_timeline(q, 1, 0, INT64_MAX, on_message, NULL, &s), 0);
    assert_int_equal(s.messages, 3);
    query_close(q);
}

static bool see_answer(void *ctx, const struct query_message *m)
{
    int *seen = ctx;
    if (m->seq == 2) {
        assert_true(m->has_request);
        assert_int_equal(m->request_seq, 1);
        assert_int_equal(m->request_t_us, 100);
        assert_true(slice_is(m->request_method, "tools/call") &&
                    slice_is(m->request_target, "echo"));
        assert_true(slice_is(m->finding, "crlf") && slice_is(m->rpc_id, "7") &&
                    slice_is(m->body, "{}"));
        assert_null(m->method.p);
        assert_false(m->is_large);
    } else if (m->seq == 3) {
        assert_false(m->has_request); /* request_seq names a message that is not recorded */
        assert_int_equal(m->request_seq, 99);
        assert_null(m->body.p);
    }
    ++*seen;
    return true;
}

static void test_query_timeline_finds_the_request_of_an_answer(void **state)
{
    struct vault *v = *state;
    add_session(v, 1, "AA");
    add_message(
        v, 1,
        &(struct message){
            .seq = 1, .t_us = 100, .kind = "request", .method = "tools/call", .target = "echo"});
    add_message(v, 1,
                &(struct message){.seq = 2,
                                  .t_us = 250,
                                  .direction = "s2c",
                                  .kind = "result",
                                  .rpc_id = "7",
                                  .body = "{}",
                                  .request_seq = 1,
                                  .finding = "crlf"});
    add_message(v, 1, &(struct message){.seq = 3, .request_seq = 99});
    struct query *q = open_it(v);
    int seen = 0;
    assert_int_equal(query_timeline(q, 1, 0, INT64_MAX, see_answer, NULL, &seen), 0);
    assert_int_equal(seen, 3);
    query_close(q);
}

static void test_query_statements_never_scan_messages(void **state)
{
    struct vault *v = *state;
    struct query *q = open_it(v);
    for (int i = 0; i < Q_COUNT; i++) {
        struct buf sql = {0};
        sqlite3_stmt *st;
        if (i >= Q_DERIVED && i <= Q_DERIVE_DONE) /* of temporary tables */
            continue;
        buf_adds(&sql, "EXPLAIN QUERY PLAN ");
        columns_expand_statement(query_sql[i], SCHEMA_VERSION, false, &sql);
        assert_int_equal(sqlite3_prepare_v2(v->db, buf_str(&sql), -1, &st, NULL), SQLITE_OK);
        while (sqlite3_step(st) == SQLITE_ROW) {
            const char *plan = (const char *)sqlite3_column_text(st, 3);
            /* The plan has the table's name or alias; m and r are messages, e is events. */
            if (strncmp(plan, "SCAN m", 6) == 0 || strncmp(plan, "SCAN r", 6) == 0 ||
                strncmp(plan, "SCAN e", 6) == 0)
                fail_msg("%s: %s", buf_str(&sql), plan);
        }
        sqlite3_finalize(st);
        buf_close(&sql);
    }
    query_close(q);
}

/* ---- newer versions ---- */

static bool see_unknown(void *ctx, const struct query_message *m)
{
    struct query_message *seen = ctx;
    *seen = *m;
    return true;
}

static void test_query_values_of_a_newer_version_are_unknown(void **state)
{
    struct vault *v = *state;
    struct query_message m = {0};
    add_session(v, 1, "AA");
    add_message(v, 1,
                &(struct message){.seq = 1,
                                  .direction = "both",
                                  .origin = "cache",
                                  .kind = "frame",
                                  .action = "delayed"});
    struct query *q = open_it(v);
    assert_int_equal(query_timeline(q, 1, 1, 1, see_unknown, NULL, &m), 0);
    assert_int_equal(m.direction, ROW_DIRECTION_UNKNOWN);
    assert_int_equal(m.origin, ROW_ORIGIN_UNKNOWN);
    assert_int_equal(m.kind, KIND_UNKNOWN);
    assert_int_equal(m.action, ROW_ACTION_UNKNOWN);
    assert_string_equal(row_kind_name(m.kind), "unknown");
    query_close(q);
}

/* ---- short transactions ---- */

struct meanwhile {
    struct vault *v;
    int64_t n, changed;
};

/* On the first call, changes rows that have not been read yet. */
static void write_ahead(struct meanwhile *m)
{
    if (m->n++ == 0)
        sql_run(m->v->db,
                "UPDATE messages SET method = 'changed', body = 'changed' WHERE seq > 2000");
}

static bool changed_call(void *ctx, const struct query_call *c)
{
    struct meanwhile *m = ctx;
    write_ahead(m);
    m->changed += slice_is(c->method, "changed");
    return true;
}

static bool changed_message(void *ctx, const struct query_message *m)
{
    struct meanwhile *w = ctx;
    write_ahead(w);
    w->changed += slice_is(m->body.p != NULL ? m->body : m->method, "changed");
    return true;
}

/* A long read transaction would prevent checkpoints. */
static void test_query_long_read_uses_many_short_transactions(void **state)
{
    struct vault *v = *state;
    struct query *q = open_it(v);
    add_session(v, 1, "A");
    sql_run(v->db, "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000)"
                   " INSERT INTO messages SELECT (1 << 36) + i, 1, i, 0, 'c2s', 'peer', 'request', "
                   "'1', 'x', NULL, 'x',"
                   " NULL, NULL, 2, 0, 'refused', NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM n");
    static const char reset[] = "UPDATE messages SET method = 'x', body = 'x'";
    struct meanwhile m = {.v = v};
    assert_int_equal(query_read_message_bodies(q, 1, 0, INT64_MAX, changed_message, &m), 0);
    assert_int_equal(m.n, 5000);
    assert_int_equal(m.changed, 3000);
    sql_run(v->db, reset);
    m = (struct meanwhile){.v = v};
    struct filter requests = FILTER_ANY;
    requests.kinds = 1u << KIND_REQUEST;
    struct message_question x = {&requests, 1, 0, 1, INT64_MAX};
    assert_int_equal(query_messages_without_bodies(q, &x, QUERY_FORWARD, changed_message, &m), 0);
    assert_int_equal(m.n, 5000);
    assert_int_equal(m.changed, 3000);
    m = (struct meanwhile){.v = v, .n = 1};
    assert_int_equal(query_read_message_bodies(q, 1, 2500, 2200, changed_message, &m),
                     0); /* beyond the end of a part */
    assert_int_equal(m.n, 1 + 2200);
    assert_int_equal(m.changed, 2200);
    sql_run(v->db, reset);
    m = (struct meanwhile){.v = v};
    sql_run(v->db,
            "INSERT INTO messages SELECT id + 5000, 1, seq + 5000, 0, 's2c', 'peer', 'error', "
            "'1', NULL, NULL, 'x',"
            " NULL, NULL, 2, 0, 'forwarded', seq, -1, NULL, NULL, NULL, NULL, NULL FROM messages "
            "WHERE seq <= 1");
    struct filter one = FILTER_ANY;
    one.session_id = 1;
    assert_int_equal(query_calls_of(q, &(struct call_question){.filter = &one}, changed_call, &m),
                     0);
    assert_int_equal(m.n, 5000);
    query_close(q);
}

/* ---- large bodies ---- */

static struct query_message large(int64_t offset, int64_t length)
{
    return (struct query_message){.is_large = true, .body_offset = offset, .body_length = length};
}

static void body_fails(struct query *q, const char *uid, struct query_message m, const char *part)
{
    struct buf b = {0};
    assert_int_equal(query_body(q, slice_of(uid), &m, SIZE_MAX, &b), MI_EIO);
    if (strstr(query_error(q), part) == NULL)
        fail_msg("'%s' is not in: %s", part, query_error(q));
    buf_close(&b);
}

static const char uid_1[] = "01ABCDEFGHJKMNPQRSTVWXYZ01";
static const char uid_2[] = "01ABCDEFGHJKMNPQRSTVWXYZ02";
static const char uid_3[] = "01ABCDEFGHJKMNPQRSTVWXYZ03";

static void make_bodies(struct vault *v)
{
    char path[256], link[256];
    snprintf(path, sizeof path, "%s/" VAULT_BODIES, v->temp.vault);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/" VAULT_BODIES "/%s", v->temp.vault, uid_1);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("first\nsecond\n", f);
    assert_int_equal(fclose(f), 0);
    snprintf(link, sizeof link, "%s/" VAULT_BODIES "/%s", v->temp.vault, uid_2);
    assert_int_equal(symlink(path, link), 0);
    snprintf(link, sizeof link, "%s/" VAULT_BODIES "/%s", v->temp.vault, uid_3);
    assert_int_equal(mkfifo(link, 0600), 0);
}

static void test_query_body_reads_its_part_of_the_file(void **state)
{
    struct vault *v = *state;
    make_bodies(v);
    struct query *q = open_it(v);
    static const struct {
        int64_t offset, length;
        size_t max;
        const char *text;
    } rows[] = {{0, 5, SIZE_MAX, "first"},
                {6, 6, SIZE_MAX, "second"},
                {6, 6, 3, "sec"},
                {6, 7, SIZE_MAX, "second\n"},
                {13, 0, SIZE_MAX, ""}};
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        struct query_message m = large(rows[i].offset, rows[i].length);
        assert_int_equal(query_body(q, slice_of(uid_1), &m, rows[i].max, &b), 0);
        assert_string_equal(buf_str(&b), rows[i].text);
        buf_close(&b);
    }
    query_close(q);
}

static void test_query_body_unreadable_is_reported_with_the_reason(void **state)
{
    struct vault *v = *state;
    struct query *q = open_it(v);
    body_fails(q, uid_1, large(0, 5), "No such file");
    make_bodies(v);
    body_fails(q, "01ABCDEFGHJKMNPQRSTVWXYZ04", large(0, 5), "No such file");
    body_fails(q, uid_1, large(6, 8), "too short");
    body_fails(q, uid_1, large(14, 0), "too short");
    body_fails(q, uid_1, large(-1, 2), "too short");
    body_fails(q, uid_1, large(1, -1), "too short");
    body_fails(q, uid_1, large(6, INT64_MAX), "too short");
    body_fails(q, uid_2, large(0, 5), "symbolic links"); /* ELOOP */
    body_fails(q, uid_3, large(0, 5),
               "not a regular file"); /* a FIFO: it does not wait for a writer */
    body_fails(q, "../../../../../../etc/pass", large(0, 5), "not a session UID");
    body_fails(q, "", large(0, 5), "not a session UID");
    query_close(q);
}

/* The column was added in version 2; a vault of version 1 is readable as well. */
static void test_query_session_has_its_redaction_rules_if_recorded(void **state)
{
    struct vault *v = *state;
    struct query_session s;
    add_session(v, 1, "AAAA");
    add_session(v, 2, "BBBB");
    sql_run(v->db, "UPDATE sessions SET redact_rules = '{\"version\":1}' WHERE id = 2");
    struct query *q = open_it(v);
    assert_int_equal(query_session(q, "1", &s), 0);
    assert_null(s.redact_rules.p);
    assert_int_equal(query_session(q, "2", &s), 0);
    assert_true(slice_is(s.redact_rules, "{\"version\":1}"));
    assert_int_equal(s.uid_unique, 1);
    query_close(q);
    sql_run(v->db, "ALTER TABLE sessions DROP COLUMN redact_rules; PRAGMA user_version = 1");
    q = open_it(v);
    assert_int_equal(query_session(q, "2", &s), 0);
    assert_null(s.redact_rules.p);
    assert_int_equal(s.uid_unique, 1);
    query_close(q);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_query_open_empty_is_a_vault_without_sessions),
        TEST(test_query_open_reports_why_a_vault_cannot_be_read),
        TEST(test_query_cannot_write_to_the_database),
        TEST(test_query_sessions_are_newest_first_and_limited),
        TEST(test_query_session_is_found_by_id_and_by_uid_prefix),
        TEST(test_query_session_is_found_by_the_name_of_its_server),
        TEST(test_query_session_default_is_the_newest_with_a_message),
        TEST(test_query_session_has_the_length_of_its_unique_uid_prefix),
        TEST(test_query_session_has_every_column),
        TEST(test_query_session_has_its_redaction_rules_if_recorded),
        TEST(test_query_summary_agrees_with_the_view_invocations),
        TEST(test_query_summary_of_invalid_sequence_numbers_stays_in_bounds),
        TEST(test_query_summary_signs_are_events_or_findings_of_an_imported_session),
        TEST(test_query_timeline_reads_a_range_in_order_over_many_pages),
        TEST(test_query_timeline_pages_are_bounded_by_bytes),
        TEST(test_query_timeline_places_events_by_time),
        TEST(test_query_timeline_reads_more_events_than_a_page),
        TEST(test_query_rows_in_both_orders_with_and_without_bodies),
        TEST(test_query_facts_and_events_backwards),
        TEST(test_query_timeline_holds_no_transaction_while_the_reader_waits),
        TEST(test_query_timeline_finds_the_request_of_an_answer),
        TEST(test_query_statements_never_scan_messages),
        TEST(test_query_values_of_a_newer_version_are_unknown),
        TEST(test_query_long_read_uses_many_short_transactions),
        TEST(test_query_body_reads_its_part_of_the_file),
        TEST(test_query_body_unreadable_is_reported_with_the_reason),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
