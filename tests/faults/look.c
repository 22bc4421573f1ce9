#include "tests/faults/look.h"

#include "base/clock.h"
#include "base/text.h"
#include "tests/faults/fault.h"
#include "tests/faults/meant.h"
#include "tests/faults/play.h"
#include "vault/audit/audit.h"
#include "wire/json/text.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char look_verdict[1000];
static const char *vault; /* borrowed: the vault being checked */

bool look_bad(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(look_verdict, sizeof look_verdict, fmt, ap);
    va_end(ap);
    return false;
}

static struct slice text_of(sqlite3_stmt *q, int i)
{
    const void *p = sqlite3_column_blob(q, i);
    return (struct slice){p != NULL ? p : "", (size_t)sqlite3_column_bytes(q, i)};
}

static struct slice body_outside(int64_t at, int64_t n)
{
    static char text[PLAY_GOT_MAX];
    char path[300];
    snprintf(path, sizeof path, "%s/Bodies/" MEANT_UID, vault);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (size_t)n > sizeof text || pread(fd, text, (size_t)n, at) != n)
        n = 0;
    if (fd >= 0)
        close(fd);
    return (struct slice){text, (size_t)n};
}

static bool row_is_right(sqlite3_stmt *q)
{
    uint64_t seq = (uint64_t)sqlite3_column_int64(q, 0);
    if (seq == 0 || seq > meant_n)
        return look_bad("a row with seq %llu of %llu", (unsigned long long)seq,
                        (unsigned long long)meant_n);
    struct meant *m = &meant[seq];
    bool outside = sqlite3_column_type(q, 4) == SQLITE_NULL;
    struct slice finding = text_of(q, 7);
    struct slice body = text_of(q, 4);
    if (outside && finding.n > 0 && memmem(finding.p, finding.n, "body-lost", 9) != NULL) {
        if (play.stop)
            return look_bad("seq %llu was stored without its text", (unsigned long long)seq);
        m->seen = true;
        return true;
    }
    if (outside)
        body = body_outside(sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 6));
    if (m->seen || body.n != m->n || meant_hash(body) != m->hash ||
        value_find_by_word(&row_kinds, text_of(q, 1)) != m->kind ||
        !slice_is(text_of(q, 2), m->direction == ROW_C2S ? "c2s" : "s2c"))
        return look_bad("seq %llu differs from the row that was added", (unsigned long long)seq);
    m->seen = true;
    return true;
}

static bool ask(sqlite3 *db, const char *sql, bool (*row)(sqlite3_stmt *q))
{
    sqlite3_stmt *q = NULL;
    int rc = sqlite3_prepare_v2(db, sql, -1, &q, NULL);
    bool good = rc == SQLITE_OK;
    while (good && (rc = sqlite3_step(q)) == SQLITE_ROW)
        good = row(q);
    if (good && rc != SQLITE_DONE)
        good = look_bad("%s: %s", sql, sqlite3_errmsg(db));
    else if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        look_bad("%s: %s", sql, sqlite3_errmsg(db));
    sqlite3_finalize(q);
    return good;
}

static uint64_t lost;

static bool add_lost(sqlite3_stmt *q)
{
    lost += (uint64_t)sqlite3_column_int64(q, 0);
    return true;
}

static bool has_no_session(sqlite3_stmt *q)
{
    return look_bad("row %lld belongs to no session", sqlite3_column_int64(q, 0));
}

static bool is_ok(sqlite3_stmt *q)
{
    return slice_is(text_of(q, 0), "ok") ||
           look_bad("integrity_check: %s", sqlite3_column_text(q, 0));
}

static struct slice next_line(struct slice *rest)
{
    const char *nl = memchr(rest->p, '\n', rest->n);
    struct slice line = {rest->p, nl != NULL ? (size_t)(nl - rest->p) : rest->n};
    rest->p += line.n + (nl != NULL);
    rest->n -= line.n + (nl != NULL);
    return line;
}

static bool is_ours(const struct rpc *m)
{
    struct json_value source = json_get(json_get(m->error, "data"), "source");
    return m->kind == RPC_ERROR && source.type == JSON_STRING &&
           slice_is(source.text, "\"mcp-interposer\"");
}

/* Each line that a peer received is in the database, except perhaps the last errors of the interposer. */
static bool lines_are_recorded(enum row_direction dir)
{
    struct slice got = play_got(dir);
    while (got.n > 0) {
        struct slice line = next_line(&got);
        struct rpc m;
        uint64_t hash = meant_hash(line), i = 1;
        if (dir == ROW_S2C && rpc_read(line, &m) == 0 && is_ours(&m))
            continue;
        while (i <= meant_n && (meant[i].got || !meant[i].seen || meant[i].direction != dir ||
                                meant[i].n != line.n || meant[i].hash != hash))
            i++;
        if (i > meant_n)
            return look_bad("the %s received a line that is not in the database: %.*s",
                            dir == ROW_C2S ? "server" : "client", (int)size_min(line.n, 200),
                            line.p);
        meant[i].got = true;
    }
    return true;
}

/* Checks the database if the session created one. */
static bool look_at_database(void)
{
    static const char rows[] =
        "SELECT seq, kind, direction, action, body, body_offset, body_length, finding"
        " FROM messages ORDER BY id";
    static const char strangers[] =
        "SELECT id FROM messages WHERE session_id NOT IN (SELECT id FROM sessions) UNION ALL"
        " SELECT id FROM events WHERE session_id NOT IN (SELECT id FROM sessions)";
    static const char gaps[] =
        "SELECT coalesce(json_extract(detail, '$.lost'), 0) FROM events WHERE kind = 'gap'";
    char path[300];
    sqlite3 *db = NULL;
    struct stat st;
    snprintf(path, sizeof path, "%s/interposer.db", vault);
    if (stat(path, &st) != 0 || st.st_size == 0)
        return true;
    bool good = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK ||
                look_bad("the database cannot be opened: %s", sqlite3_errmsg(db));
    good = good && ask(db, "PRAGMA integrity_check", is_ok);
    if (good && sqlite3_table_column_metadata(db, NULL, "messages", NULL, NULL, NULL, NULL, NULL,
                                              NULL) == SQLITE_OK)
        good = ask(db, rows, row_is_right) && ask(db, strangers, has_no_session) &&
               ask(db, gaps, add_lost);
    sqlite3_close(db);
    return good;
}

/* A row that is missing in the database was not released, or its loss is counted and logged. */
static bool losses_are_told(void)
{
    uint64_t missing = 0;
    for (uint64_t i = 1; i <= meant_n; i++) {
        missing += !meant[i].seen;
        if (!meant[i].seen && meant[i].released && play.stop)
            return look_bad("seq %llu was released but is not in the database",
                            (unsigned long long)i);
    }
    bool told = meant_said("continuing without recording") ||
                (fault.how == HOW_EVER && meant_said("some messages were not recorded"));
    bool may_lose = fault.calls == CALLS_MEMORY || fault.calls == CALLS_WRITE;
    if (missing > 0 && !may_lose && !told && !play.over)
        return look_bad("%llu rows are missing although the journal took them",
                        (unsigned long long)missing);
    if (!play.over && missing != lost && !told)
        return look_bad("%llu rows are missing, the gap events say %llu, the log nothing",
                        (unsigned long long)missing, (unsigned long long)lost);
    if (!play.stop && missing > 0 && !meant_said("warn: ") && !told && lost == 0)
        return look_bad("%llu rows are missing, and neither gap events nor the log report it",
                        (unsigned long long)missing);
    return true;
}

/* ---- the log directory ---------------------------------------------------------------------------- */

static size_t log_lines, reference_log_lines;

static bool log_line_is_right(struct slice line)
{
    struct json_scan scan;
    if (json_scan(line, NULL, NULL, &scan) < 0)
        return look_bad("a line in the log directory is not JSON: %.*s", (int)size_min(line.n, 200),
                        line.p);
    if (memmem(line.p, line.n, "_bytes\":-", 9) != NULL)
        return look_bad("a line in the log directory has a negative size: %.*s",
                        (int)size_min(line.n, 200), line.p);
    log_lines++;
    return true;
}

/* Each line is complete; none is missing unless an allocation or the file failed. */
static bool look_at_log(void)
{
    static char text[PLAY_GOT_MAX];
    char path[400];
    char day[CLOCK_TEXT_MAX];
    clock_utc_day(clock_wall_us(), day);
    snprintf(path, sizeof path, "%s/Logs/MCP_Actions/%s.jsonl", vault, day);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? pread(fd, text, sizeof text, 0) : 0;
    if (fd >= 0)
        close(fd);
    struct slice all = {text, n > 0 ? (size_t)n : 0};
    log_lines = 0;
    if (all.n > 0 && all.p[all.n - 1] != '\n')
        return look_bad("the log directory ends with an incomplete line");
    while (all.n > 0)
        if (!log_line_is_right(next_line(&all)))
            return false;
    bool may_lack = fault.calls == CALLS_MEMORY || meant_said("cannot write the log directory") ||
                    meant_said("continuing without recording") || play.over;
    if (!may_lack && log_lines != reference_log_lines)
        return look_bad("%zu lines in the log directory, expected %zu", log_lines,
                        reference_log_lines);
    return true;
}

static void on_wrong(void *ctx, const struct audit_wrong *w)
{
    *(bool *)ctx = look_bad("evidence: %s %s", w->record, w->text);
}

static void on_session(void *ctx, const struct audit_session *s)
{
    if (s->status == AUDIT_TAMPERED)
        on_wrong(ctx, &s->wrong);
}

/* Whatever failed: nobody is accused of a change. */
static bool look_at_evidence(void)
{
    bool good = true;
    struct audit_calls calls = {.on_wrong = on_wrong, .on_session = on_session, .ctx = &good};
    struct audit *a = NULL;
    struct buf error = {0};
    char path[300];
    struct stat file;
    snprintf(path, sizeof path, "%s/interposer.db", vault);
    if (stat(path, &file) != 0 || file.st_size == 0)
        return true;
    int st = audit_open(&a, vault, &calls, &error);
    if (st == 0)
        st = audit_check_log(a, NULL);
    if (st == 0)
        st = audit_check_sessions(a);
    if (st < 0 && st != MI_ENOENT)
        good = look_bad("evidence cannot be verified: %s",
                        a != NULL ? audit_error(a) : buf_str(&error));
    audit_close(a);
    buf_close(&error);
    return good;
}

bool look_at_vault(const char *where)
{
    vault = where;
    lost = 0;
    if (!look_at_database() || !losses_are_told() || !look_at_log() || !look_at_evidence())
        return false;
    if (play.early)
        return look_bad("a message was released before it was in the database, with --sync full");
    return !play.stop || (lines_are_recorded(ROW_C2S) && lines_are_recorded(ROW_S2C));
}

/* ---- the peers -------------------------------------------------------------------------------------- */

/* What the peers receive without faults, and which of it may be missing with faults. */
static char reference[2][PLAY_GOT_MAX];
static size_t reference_n[2];

void look_is_reference(const char *where)
{
    vault = where;
    for (int i = 0; i < 2; i++) {
        reference_n[i] = play.side[i].got_n;
        memcpy(reference[i], play.side[i].got, play.side[i].got_n);
    }
    (void)look_at_log(); /* counts its lines */
    reference_log_lines = log_lines;
}

/* Every line is one of the reference, in order, or an error of the interposer. */
static bool is_part(enum row_direction dir)
{
    struct slice got = play_got(dir);
    struct slice all = {reference[dir], reference_n[dir]};
    if (got.n > 0 && got.p[got.n - 1] != '\n')
        return look_bad("an incomplete line was sent to the %s",
                        dir == ROW_C2S ? "server" : "client");
    while (got.n > 0) {
        struct slice line = next_line(&got);
        struct rpc m;
        if (rpc_read(line, &m) != 0)
            return look_bad("an invalid message was sent to the %s: %.*s",
                            dir == ROW_C2S ? "server" : "client", (int)size_min(line.n, 200),
                            line.p);
        if (dir == ROW_S2C && is_ours(&m))
            continue;
        bool found = false;
        while (!found && all.n > 0)
            found = slice_eq(next_line(&all), line);
        if (!found)
            return look_bad("the %s received an unexpected line, or received it too early: %.*s",
                            dir == ROW_C2S ? "server" : "client", (int)size_min(line.n, 200),
                            line.p);
    }
    return true;
}

/* The ids of all answers that the client received; borrowed from what it received. */
static struct slice answered[1000];
static size_t answered_n;

static void note_answer(const struct rpc *m)
{
    if (m->kind != RPC_RESULT && m->kind != RPC_ERROR)
        return;
    if (answered_n == MI_COUNT(answered))
        abort();
    answered[answered_n++] = m->id.text;
}

static void note_answers(void)
{
    struct slice got = play_got(ROW_S2C);
    answered_n = 0;
    while (got.n > 0) {
        struct rpc m, one;
        if (rpc_read(next_line(&got), &m) != 0)
            continue;
        note_answer(&m);
        struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, m.text});
        struct slice key;
        struct json_value v;
        while (m.kind == RPC_BATCH && json_walk_next(&w, &key, &v))
            if (rpc_read(v.text, &one) == 0)
                note_answer(&one);
    }
}

static size_t answers_to(struct slice id)
{
    size_t n = 0;
    for (size_t i = 0; i < answered_n; i++)
        n += slice_eq(answered[i], id);
    return n;
}

/* Each request that was read has one answer: the server's, or an error of the interposer. If the client's
 * stream was closed because memory ran out, this is logged, and answers may be missing. */
static bool all_answered(bool closed)
{
    note_answers();
    for (size_t i = 0; i < play.asked_n; i++) {
        size_t n = answers_to(slice_of(play.asked[i]));
        if (n > 1)
            return look_bad("request %s has %zu answers", play.asked[i], n);
        if (n == 0 && !(closed && meant_said("out of memory")))
            return look_bad("request %s has no answer", play.asked[i]);
    }
    return answers_to(slice_of("7")) <= 1 || look_bad("a cancelled request has several answers");
}

bool look_at_peers(bool closed)
{
    for (int i = 0; i < 2; i++) {
        bool same = play.side[i].got_n == reference_n[i] &&
                    memcmp(play.side[i].got, reference[i], reference_n[i]) == 0;
        if (same)
            continue;
        if (fault.calls != CALLS_MEMORY && !play.over)
            return look_bad("the %s received other bytes than without faults",
                            i == ROW_C2S ? "server" : "client");
        if (!is_part((enum row_direction)i))
            return false;
    }
    return all_answered(closed);
}
