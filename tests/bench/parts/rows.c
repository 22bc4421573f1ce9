/* rows.c - time to store a row, in transactions of 1 to 1000 rows, in a vault named by the argument.
 *
 * Rows are calls of 300 B and their answers. "row": writer_add_row(), with its share of begin and commit. "sanitizer":
 * sanitize_row() alone. "bare": an INSERT of the same bytes into a table of two columns, in the same SQLite. Checkpoints
 * are measured separately. Figures are the smallest of many rounds: a busy machine makes all of them longer. */
#include "redact/sanitizer.h"
#include "tests/bench/parts/measure.h"
#include "vault/store/connect.h"
#include "vault/store/writer.h"

#define MESSAGE 300
#define ROWS_MOST 1000
#define TIMED_ROWS 64  /* least rows between two readings of the clock */
#define LOG_ROWS 20000 /* rows between checkpoints */
#define UID "01ARZ3NDEKTSV4RRFFQ69G5FAV"

struct target {
    struct writer *writer;
    struct row_sanitizer sanitizer;
    sqlite3 *bare;
    sqlite3_stmt *insert;
    struct slice line[2]; /* the request, its answer */
    int64_t session;
    uint64_t seq;
};

static struct row next_row(struct target *t)
{
    uint64_t seq = ++t->seq;
    bool call = seq % 2 == 1;
    return (struct row){
        .kind = call ? KIND_REQUEST : KIND_RESULT,
        .seq = seq,
        .t_us = (int64_t)seq * 20,
        .direction = call ? ROW_C2S : ROW_S2C,
        .action = ROW_FORWARDED,
        .rpc_id = {"7", 1},
        .method = call ? slice_of("tools/call") : (struct slice){0},
        .target = call ? slice_of("search") : (struct slice){0},
        .body = t->line[!call],
        .size = t->line[!call].n,
        .request_seq = call ? 0 : seq - 1,
    };
}

static void write_rows(struct target *t, int n)
{
    if (writer_begin(t->writer, 0) < 0)
        die(writer_error(t->writer));
    for (int i = 0; i < n; i++) {
        struct row r = next_row(t);
        if (writer_add_row(t->writer, t->session, UID, &r) < 0)
            die(writer_error(t->writer));
    }
    if (writer_commit(t->writer) < 0)
        die(writer_error(t->writer));
}

static void sanitize_rows(struct target *t, int n)
{
    for (int i = 0; i < n; i++) {
        struct row r = next_row(t);
        struct sanitized_row clean;
        if (sanitize_row(&t->sanitizer, &r, &clean) < 0)
            die("no memory");
    }
}

/* ---- SQLite alone ---- */

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
}

static void open_bare(struct target *t, const char *dir)
{
    struct buf path = {0};
    buf_printf(&path, "%s/bare.db", dir);
    if (sqlite3_open(buf_str(&path), &t->bare) != SQLITE_OK)
        die("cannot open a database");
    run(t->bare, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                 "PRAGMA wal_autocheckpoint = 0; CREATE TABLE bare (id INTEGER PRIMARY KEY, body)");
    if (sqlite3_prepare_v3(t->bare, "INSERT INTO bare VALUES (?1, ?2)", -1,
                           SQLITE_PREPARE_PERSISTENT, &t->insert, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(t->bare));
    buf_close(&path);
}

static void bare_rows(struct target *t, int n)
{
    run(t->bare, "BEGIN IMMEDIATE");
    for (int i = 0; i < n; i++) {
        struct row r = next_row(t);
        sqlite3_bind_int64(t->insert, 1, (int64_t)r.seq);
        connect_bind(t->insert, 2, r.body);
        if (sqlite3_step(t->insert) != SQLITE_DONE)
            die(sqlite3_errmsg(t->bare));
        sqlite3_reset(t->insert);
    }
    run(t->bare, "COMMIT");
}

static void checkpoint(struct target *t)
{
    if (writer_checkpoint_wal(t->writer) < 0 ||
        sqlite3_wal_checkpoint_v2(t->bare, NULL, SQLITE_CHECKPOINT_PASSIVE, NULL, NULL) !=
            SQLITE_OK)
        die("cannot checkpoint");
}

/* ---- the table ---- */

/* Microseconds for each row, the smallest of the rounds. */
static double smallest(struct target *t, void (*store)(struct target *t, int n), int n)
{
    double least = 1e9;
    int since = 0, times = n < TIMED_ROWS ? TIMED_ROWS / n : 1;
    double until = cpu_us() + ROUND_US * 2;
    for (int i = 0; i < ROUNDS || cpu_us() < until; i++) {
        if ((since += n * times) > LOG_ROWS) {
            since = 0;
            checkpoint(t);
        }
        double start = cpu_us();
        for (int k = 0; k < times; k++)
            store(t, n);
        double us = (cpu_us() - start) / (n * times);
        least = us < least ? us : least;
    }
    return least;
}

int main(int argc, char **argv)
{
    static const int batches[] = {1, 8, 64, 256, ROWS_MOST};
    struct target t = {.sanitizer = {.level = RECORD_STANDARD}};
    struct vault_dir dir;
    struct buf text[2] = {{0}, {0}}, error = {0};
    if (argc != 2 || redact_get_current_sanitizer() == NULL)
        die("name a directory for its vault");
    request(&text[0], MESSAGE);
    answer(&text[1], words, MESSAGE - 40);
    for (int i = 0; i < 2; i++)
        t.line[i] = buf_slice(&text[i]);
    if (vault_dir_open(&dir, argv[1], true, &error) < 0 ||
        writer_open(&t.writer, &dir, false, &error) < 0)
        die(buf_str(&error));
    writer_set_record_level(t.writer, RECORD_STANDARD);
    struct session_record session = {.uid = slice_of(UID),
                                     .name = slice_of("rows"),
                                     .command = slice_of("[]"),
                                     .host = slice_of("here"),
                                     .record_level = slice_of("standard")};
    if (writer_add_session(t.writer, &session, &t.session) < 0)
        die(writer_error(t.writer));
    open_bare(&t, argv[1]);
    printf("a row of %d B: us, and of it\n", MESSAGE);
    printf("%-20s %8s %10s %12s %10s\n", "rows in a commit", "row", "sanitizer", "SQLite", "bare");
    for (size_t i = 0; i < MI_COUNT(batches); i++) {
        double row = smallest(&t, write_rows, batches[i]);
        double clean = smallest(&t, sanitize_rows, batches[i]);
        double bare = smallest(&t, bare_rows, batches[i]);
        printf("%-20d %8.2f %10.2f %12.2f %10.2f\n", batches[i], row, clean, row - clean, bare);
    }
    sqlite3_finalize(t.insert);
    sqlite3_close(t.bare);
    writer_close(t.writer);
    vault_dir_close(&dir);
    sanitize_close(&t.sanitizer);
    buf_close(&text[0]);
    buf_close(&text[1]);
    buf_close(&error);
    redact_set_current_rules(NULL);
    return 0;
}
