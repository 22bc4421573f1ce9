/* path.c - time of each step of a call, from its line to its commit, and the minimum that SQLite needs.
 *
 * One call of 300 B and its answer, 64 messages per commit, in a vault named by the argument. Each step is
 * measured separately; the rest of the total is the row in SQLite and passing it there. Then the same rows with
 * SQLite alone, and a long body with write() alone. */
#include "redact/sanitizer.h"
#include "tests/bench/parts/measure.h"
#include "tests/bench/parts/store.h"
#include "vault/store/schema.h"
#include "wire/json/text.h"
#include "wire/mcp/protocol.h"
#include "wire/schema/tools.h"

#include <fcntl.h>
#include <unistd.h>

#define MESSAGE 300
#define BODY ((size_t)16 << 20)
#define BODIES 16

static const char list[] =
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"tools\":[{\"name\":\"search\",\"inputSchema\":{"
    "\"type\":\"object\",\"properties\":{\"query\":{\"type\":\"string\",\"minLength\":1},\"limit\":"
    "{"
    "\"type\":\"integer\",\"minimum\":1},\"order\":{\"enum\":[\"newest\",\"oldest\"]}},"
    "\"required\":["
    "\"query\"],\"additionalProperties\":false}}]}}";

struct call {
    struct slice line[2]; /* the request, its answer */
    struct rpc m[2];
    struct protocol rules;
    struct tools tools;
    struct redact *redact;
    struct store store;
    unsigned waiting;
    sqlite3 *db; /* SQLite alone */
    sqlite3_stmt *insert;
    int64_t id;
};

static struct buf clean;

static void check(void *ctx, struct slice unused)
{
    struct call *c = ctx;
    (void)unused;
    for (int i = 0; i < 2; i++)
        if (rpc_read(c->line[i], &c->m[i]) < 0)
            die("a message that is none");
}

static void rules(void *ctx, struct slice unused)
{
    struct call *c = ctx;
    struct protocol_asked asked;
    (void)unused;
    (void)protocol_check_request(&c->rules, PARTY_CLIENT, &c->m[0], &asked);
    (void)protocol_check_answer(&c->rules, PARTY_SERVER, &c->m[1], &asked);
}

static void arguments(void *ctx, struct slice unused)
{
    struct call *c = ctx;
    struct schema_fault fault = {{0}, {0}};
    struct tool *tool = tools_find(&c->tools, json_string_raw(c->m[0].name));
    (void)unused;
    if (tool == NULL ||
        tools_check_arguments(&c->tools, tool, c->m[0].arguments, &fault) != SCHEMA_FITS)
        die("the arguments do not fit");
    schema_fault_close(&fault);
}

static void sanitize(void *ctx, struct slice unused)
{
    struct call *c = ctx;
    size_t n;
    (void)unused;
    for (int i = 0; i < 2; i++)
        if (redact_message(c->redact, c->line[i], REDACT_CONTENT, &clean, &n) < 0)
            die("no memory");
}

static void whole(void *ctx, struct slice unused)
{
    struct call *c = ctx;
    check(c, unused);
    rules(c, unused);
    arguments(c, unused);
    for (int i = 0; i < 2; i++)
        store_add(&c->store, &c->m[i], c->line[i]);
}

/* ---- SQLite alone ---- */

static void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(db));
}

static void open_db(struct call *c, const char *dir)
{
    struct buf path = {0};
    buf_printf(&path, "%s/alone.db", dir);
    if (sqlite3_open(buf_str(&path), &c->db) != SQLITE_OK)
        die("cannot open a database");
    run(c->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
               "PRAGMA wal_autocheckpoint = 0");
    if (schema_make_ready(c->db) < 0 ||
        sqlite3_prepare_v3(
            c->db,
            "INSERT INTO messages (id, session_id, seq, t_us, direction, origin, kind,"
            " rpc_id, body, size, redactions, action)"
            " VALUES (?1, 1, ?1, ?1, 's2c', 'peer', ?2, '7', ?3, ?4, 0, 'forwarded')",
            -1, SQLITE_PREPARE_PERSISTENT, &c->insert, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(c->db));
    buf_close(&path);
}

static void rows(void *ctx, struct slice unused)
{
    struct call *c = ctx;
    (void)unused;
    if (c->waiting == 0)
        run(c->db, "BEGIN IMMEDIATE");
    for (int i = 0; i < 2; i++) {
        sqlite3_bind_int64(c->insert, 1, ++c->id);
        sqlite3_bind_text(c->insert, 2, i == 0 ? "request" : "result", -1, SQLITE_STATIC);
        sqlite3_bind_text(c->insert, 3, c->line[i].p, (int)c->line[i].n, SQLITE_STATIC);
        sqlite3_bind_int64(c->insert, 4, (int64_t)c->line[i].n);
        if (sqlite3_step(c->insert) != SQLITE_DONE)
            die(sqlite3_errmsg(c->db));
        sqlite3_reset(c->insert);
    }
    if ((c->waiting += 2) < COMMIT_EVERY)
        return;
    c->waiting = 0;
    run(c->db, "COMMIT");
}

static void close_db(struct call *c)
{
    if (c->waiting > 0)
        run(c->db, "COMMIT");
    sqlite3_finalize(c->insert);
    sqlite3_close(c->db);
}

/* MB/s in elapsed time, because the kernel allocates the memory. */
static double bodies(const char *dir)
{
    struct buf path = {0}, body = {0};
    struct timespec from, to;
    buf_printf(&path, "%s/bodies", dir);
    fill(&body, words, BODY);
    int fd = open(buf_str(&path), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    clock_gettime(CLOCK_MONOTONIC, &from);
    for (int i = 0; i < BODIES; i++)
        for (size_t at = 0; at < BODY;) {
            ssize_t n = write(fd, body.p + at, BODY - at);
            if (n <= 0)
                die("cannot write a body");
            at += (size_t)n;
        }
    clock_gettime(CLOCK_MONOTONIC, &to);
    close(fd);
    buf_close(&body);
    buf_close(&path);
    double us = (double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3;
    return (double)BODY * BODIES / us;
}

/* ---- the table ---- */

static void line(const char *name, double us, double all)
{
    printf("%-30s %6.2f us %4.0f %%\n", name, us, 100 * us / all);
}

int main(int argc, char **argv)
{
    struct call c = {.redact = redact_get_current_sanitizer()};
    struct buf text[2] = {{0}, {0}};
    struct rpc tools;
    if (argc != 2 || c.redact == NULL)
        die("name a directory for its vault");
    request(&text[0], MESSAGE);
    answer(&text[1], words, MESSAGE - 40);
    for (int i = 0; i < 2; i++)
        c.line[i] = buf_slice(&text[i]);
    protocol_open(&c.rules);
    if (rpc_read(slice_of(list), &tools) < 0)
        die("a message that is none");
    store_open(&c.store, argv[1]);
    tools_add_page(&c.tools, &tools, 0);

    static const struct {
        const char *name;
        once_fn once;
    } parts[] = {{"JSON, JSON-RPC", check},
                 {"rules of MCP", rules},
                 {"arguments against their schema", arguments},
                 {"sanitizer", sanitize}};
    struct slice none = {0};
    double us[MI_COUNT(parts)], sum = 0;
    double all = measure(whole, &c, none) / 1000;
    printf("a call of %d B and its answer, %d messages a commit\n", MESSAGE, COMMIT_EVERY);
    for (size_t i = 0; i < MI_COUNT(parts); i++) {
        us[i] = measure(parts[i].once, &c, none) / 1000;
        line(parts[i].name, us[i], all);
        sum += us[i];
    }
    line("rows and commit", all - sum, all);
    line("all", all, all);
    store_close(&c.store);
    protocol_close(&c.rules);
    tools_close(&c.tools);

    c.waiting = 0;
    open_db(&c, argv[1]);
    printf("\nwhat it cannot do without\n");
    printf("%-30s %6.2f us\n", "its two rows, SQLite alone", measure(rows, &c, none) / 1000);
    close_db(&c);
    printf("%-30s %6.0f MB/s\n", "16 MiB into a new file", bodies(argv[1]));
    for (int i = 0; i < 2; i++)
        buf_close(&text[i]);
    buf_close(&clean);
    redact_set_current_rules(NULL);
    return 0;
}
