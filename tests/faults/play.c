#include "tests/faults/play.h"

#include "base/log.h"
#include "proxy/session/final_answers.h"
#include "proxy/session/stray.h"
#include "record/state.h"
#include "tests/faults/fault.h"
#include "tests/faults/meant.h"
#include "tests/faults/recording.h"
#include "wire/json/text.h"

#include <ftw.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct playback play;
static const char *vault; /* borrowed: the vault of the current session */

#define MESSAGE_MAX ((size_t)4 << 20)

#define INIT                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"clientInfo\":{"         \
    "\"name\":\"c\"}}}"
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"
#define CALL(id, tool)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":{\"a\":\"b\"}}}"
#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"

/* Sender: C the client, S the server, E the server's stderr. `pad` bytes replace %. A line with `times` is
 * repeated in one loop turn, with ids from 1000 on in place of #. */
static const struct step {
    char who;
    const char *text;
    size_t pad, times;
} steps[] = {
    {'C', INIT, 0, 0},
    {'C', "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 0, 0},
    {'C', CALL("1", "plain"), 0, 0},
    {'C', CALL("3", "bad"), 0, 0}, /* the first answer of the interposer */
    {'C', "this is no JSON", 0, 0},
    {'C', CALL("\"\\u0065\"", "error"), 0, 0},
    {'E', "a line on stderr \xff", 0, 0},
    {'C', CALL("4", "glued"), 0, 0},
    {'C', "\xef\xbb\xbf" NOTE "\r", 0, 0},
    {'C', "[" PING("5") "," NOTE "," CALL("6", "plain") "]", 0, 0},
    {'C', CALL("7", "none"), 0, 0},
    {'C',
     "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}", 0,
     0},
    {'S', "Server ready", 0, 0},
    {'S', "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"roots/list\"}", 0, 0},
    {'C', "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, 0},
    {'C', CALL("8", "%"), 90000, 0},
    {'C', PING("#"), 0, 40},
    {'C', CALL("9", "big"), 0, 0},
    {'C', CALL("10", "none"), 0, 0},
    {'C', CALL("11", "last"), 0, 0},
};

static void deliver(enum row_direction dir, struct line *line, bool too_long)
{
    if (too_long)
        traffic_handle_long_line(&play.traffic, dir, line);
    else
        traffic_handle_line(&play.traffic, dir, line);
}

static void take_lines(enum row_direction dir)
{
    struct line line;
    enum line_result got;
    while ((got = line_next(&play.side[dir].lines, &line)) != LINE_NEED_MORE)
        deliver(dir, &line, got == LINE_TOO_LONG);
}

/* As relay.c reads: without memory a long line is abandoned, and unread bytes wait. Here a peer stops
 * after three tries, and the bytes count as never sent. */
static void feed(enum row_direction dir, const char *p, size_t n)
{
    struct line_reader *r = &play.side[dir].lines;
    int tries = 0;
    while (n > 0 && tries < 3) {
        size_t room;
        struct line line;
        char *at = line_room(r, &room);
        if (at == NULL && line_end_too_long_line(r, &line) == LINE_TOO_LONG)
            deliver(dir, &line, true);
        if (at == NULL) {
            play.cut = true;
            tries++;
            continue;
        }
        size_t some = size_min(n, room);
        memcpy(at, p, some);
        line_add_filled(r, some);
        p += some;
        n -= some;
        take_lines(dir);
    }
    if (n > 0 && line_count_partial_bytes(r) > 0) { /* a partial line: finish it */
        size_t room;
        char *at = line_room(r, &room);
        if (at != NULL) {
            *at = '\n';
            line_add_filled(r, 1);
            take_lines(dir);
        }
    }
}

static void feed_line(enum row_direction dir, struct slice text)
{
    static char line[400000];
    if (text.n + 1 > sizeof line)
        abort();
    memcpy(line, text.p, text.n);
    line[text.n] = '\n';
    feed(dir, line, text.n + 1);
}

static void flush_to(enum row_direction dir)
{
    struct stream to = stream_take_over_fd(play.side[dir].fd);
    struct side *side = &play.side[dir];
    if (outbox_flush(&play.traffic.out[dir], &to) != 0)
        abort();
    bool was = fault_pause();
    off_t n = lseek(play.side[dir].fd, 0, SEEK_END);
    if (side->got_n + (size_t)n > PLAY_GOT_MAX ||
        syscall(SYS_pread64, play.side[dir].fd, side->got + side->got_n, n, 0) != n)
        abort();
    side->got_n += (size_t)n;
    if (syscall(SYS_ftruncate, play.side[dir].fd, 0) != 0 ||
        lseek(play.side[dir].fd, 0, SEEK_SET) != 0)
        abort();
    fault_resume(was);
}

#define LOOKS_MAX 3
#define RETRY_US 250000

/* The number of message rows that another process sees. */
static uint64_t rows_now(void)
{
    bool was = fault_pause();
    char path[300];
    sqlite3 *db = NULL;
    sqlite3_stmt *q = NULL;
    uint64_t n = 0;
    snprintf(path, sizeof path, "%s/interposer.db", vault);
    if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(db, "SELECT count(*) FROM messages", -1, &q, NULL) == SQLITE_OK &&
        sqlite3_step(q) == SQLITE_ROW)
        n = (uint64_t)sqlite3_column_int64(q, 0);
    sqlite3_finalize(q);
    sqlite3_close(db);
    fault_resume(was);
    return n;
}

static void release(enum row_direction dir)
{
    for (uint64_t i = 1; i <= meant_n; i++)
        meant[i].released |= meant[i].direction == dir;
    outbox_release_staged_bytes(&play.traffic.out[dir]);
    flush_to(dir);
}

/* As in proxy/turn.c. */
static void stop_recording(void)
{
    const char *why = "cannot record";
    outbox_discard_after_error(&play.traffic.out[ROW_C2S]);
    if (!recorder_has_stored_all_entries(play.recorder))
        final_answers_drop_unrecorded(&play.traffic, "record-error", why);
    else
        for (uint64_t i = 1; i <= meant_n; i++)
            meant[i].released |= meant[i].direction == ROW_S2C;
    final_answers_send_record_errors(&play.traffic, "record-error", why);
    outbox_release_staged_bytes(&play.traffic.out[ROW_S2C]);
    flush_to(ROW_S2C);
    play.over = true;
}

static void look_at_release(long hits_before)
{
    if (!play.stop || !play.sync_full)
        return;
    if (fault.count >= fault.at && play.looks++ < LOOKS_MAX && rows_now() != meant_n)
        play.early = true;
    if (fault.calls == CALLS_SYNC && fault.hits != hits_before)
        play.early = true;
}

/* The end of a loop turn, as in proxy/turn.c. */
static void end_turn(void)
{
    meant_wait(30000);
    long hits = fault.hits;
    enum recorder_result result = recorder_publish(play.recorder);
    for (int i = 0; result == RECORDER_HOLD && i < 2000; i++) {
        meant_wait(RETRY_US);
        recording_turn();
        result = recorder_publish(play.recorder);
    }
    if (result == RECORDER_HOLD)
        abort();
    if (result == RECORDER_FAILED) {
        stop_recording();
        return;
    }
    look_at_release(hits);
    for (int i = 0; i < 2; i++)
        release((enum row_direction)i);
    recording_turn();
}

static uint64_t append(void *owner, const struct row *row)
{
    const struct journal *j = recorder_get_journal(play.recorder);
    uint64_t seq = meant_n + 1;
    (void)owner;
    meant_add(seq, row);
    if (j->append(j->owner, row) != seq)
        abort();
    return seq;
}

static uint64_t answer(void *owner, const struct row *row, const struct invocation *x)
{
    const struct journal *j = recorder_get_journal(play.recorder);
    uint64_t seq = meant_n + 1;
    (void)owner;
    meant_add(seq, row);
    if (j->answer(j->owner, row, x) != seq)
        abort();
    return seq;
}

/* ---- the server ------------------------------------------------------------------------------- */

static void add_filler(struct buf *b, size_t n)
{
    static char filler[150000];
    if (n > sizeof filler)
        abort();
    memset(filler, 't', n);
    buf_add(b, filler, n);
}

static void answer_to(struct buf *b, const struct rpc *m)
{
    struct slice tool = json_string_raw(m->name);
    if (tool.p != NULL && slice_is(tool, "none"))
        return;
    if (tool.p != NULL && slice_is(tool, "glued"))
        buf_adds(b, "debug: ");
    buf_adds(b, "{\"jsonrpc\":\"2.0\",\"id\":");
    buf_slice_add(b, m->id.text);
    if (rpc_method_is(m, "initialize"))
        buf_adds(
            b, ",\"result\":{\"protocolVersion\":\"2025-03-26\",\"serverInfo\":{\"name\":\"s\"}}}");
    else if (tool.p != NULL && slice_is(tool, "bad"))
        buf_adds(b, ",\"result\":{},\"error\":{}}");
    else if (tool.p != NULL && slice_is(tool, "error"))
        buf_adds(b, ",\"error\":{\"code\":-5,\"message\":\"no\"}}");
    else {
        buf_adds(b, ",\"result\":{\"content\":[{\"text\":\"");
        if (tool.p != NULL && slice_is(tool, "big"))
            add_filler(b, 150000);
        buf_adds(b, "\"}]}}");
    }
}

/* Answers every complete line that it has not read yet; a batch with a batch. */
static void server_answers(void)
{
    struct side *side = &play.side[ROW_C2S];
    while (side->read_n < side->got_n) {
        bool was = fault_pause();
        const char *p = side->got + side->read_n;
        const char *nl = memchr(p, '\n', side->got_n - side->read_n);
        struct slice line = {p, nl != NULL ? (size_t)(nl - p) : 0};
        struct rpc m;
        struct buf b = {0};
        if (nl == NULL || rpc_read(line, &m) != 0)
            abort(); /* an incomplete line, or not a message */
        side->read_n += line.n + 1;
        if (m.kind == RPC_REQUEST)
            answer_to(&b, &m);
        struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, m.text});
        struct slice key;
        struct json_value v;
        while (m.kind == RPC_BATCH && json_walk_next(&w, &key, &v)) {
            struct rpc one;
            if (rpc_read(v.text, &one) == 0 && one.kind == RPC_REQUEST) {
                buf_addc(&b, b.n == 0 ? '[' : ',');
                answer_to(&b, &one);
            }
        }
        if (m.kind == RPC_BATCH && b.n > 0)
            buf_addc(&b, ']');
        fault_resume(was);
        if (b.n > 0)
            feed_line(ROW_S2C, buf_slice(&b));
        was = fault_pause();
        buf_close(&b);
        fault_resume(was);
    }
}

static void note_request(const struct rpc *m)
{
    if (m->kind != RPC_REQUEST || slice_is(m->id.text, "7")) /* 7 is cancelled */
        return;
    char *to = play.asked[play.asked_n++];
    if (play.asked_n > MI_COUNT(play.asked) || m->id.text.n >= sizeof play.asked[0])
        abort();
    memcpy(to, m->id.text.p, m->id.text.n);
    to[m->id.text.n] = '\0';
}

static void note_requests(struct slice line)
{
    struct rpc m;
    if (rpc_read(line, &m) != 0)
        return;
    note_request(&m);
    struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, m.text});
    struct slice key;
    struct json_value v;
    while (m.kind == RPC_BATCH && json_walk_next(&w, &key, &v)) {
        struct rpc one;
        if (rpc_read(v.text, &one) == 0)
            note_request(&one);
    }
}

static void say(const struct step *x, size_t i)
{
    bool was = fault_pause();
    struct buf b = {0};
    for (const char *p = x->text; *p != '\0'; p++) {
        if (*p == '#')
            buf_int(&b, 1000 + (int64_t)i);
        else if (*p == '%')
            add_filler(&b, x->pad);
        else
            buf_addc(&b, *p);
    }
    fault_resume(was);
    if (x->who == 'E') {
        struct chunk *c = chunk_new(b.n + 1);
        if (c != NULL && b.n > 0) {
            memcpy(c->data, b.p, b.n);
            stray_record_stderr_line(&play.traffic, &(struct line){c->data, b.n, c}, 0);
        }
        chunk_release(c);
    } else {
        play.cut = false;
        feed_line(x->who == 'C' ? ROW_C2S : ROW_S2C, buf_slice(&b));
    }
    was = fault_pause();
    if (x->who == 'C' && !play.cut)
        note_requests(buf_slice(&b));
    buf_close(&b);
    fault_resume(was);
}

static void play_script(void)
{
    for (size_t i = 0; i < MI_COUNT(steps) && !play.over; i++) {
        for (size_t k = 0; k < (steps[i].times > 0 ? steps[i].times : 1); k++)
            say(&steps[i], k);
        end_turn();
        if (play.over)
            return;
        server_answers();
        end_turn();
    }
}

static int remove_one(const char *path, const struct stat *st, int what, struct FTW *f)
{
    (void)st, (void)what, (void)f;
    return remove(path);
}

void play_remove(const char *path)
{
    nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

void play_open(void)
{
    for (int i = 0; i < 2; i++) {
        struct side *side = &play.side[i];
        side->got = malloc(PLAY_GOT_MAX);
        side->fd = memfd_create("peer", MFD_CLOEXEC);
        if (side->got == NULL || side->fd < 0)
            abort();
        calls_spare(side->fd);
    }
}

static void begin(bool stop)
{
    play_remove(vault);
    for (int i = 0; i < 2; i++)
        play.side[i].got_n = play.side[i].read_n = 0;
    play.stop = stop;
    play.over = play.early = play.closed = false;
    play.sync_full = fault.calls == CALLS_SYNC;
    play.looks = 0;
    play.asked_n = 0;
    meant_begin();
    recording_begin();
    fault.count = fault.hits = 0;
    fault.armed = true;
}

/* The end of the script, or recording has failed: the end of a session as in proxy/proxy_run.c. */
static void end(void)
{
    if (fault.how != HOW_EVER)
        fault.armed = false;
    meant_wait(1000000); /* longer than the delay between two retries */
    recording_turn();
    if (!play.over) {
        end_turn(); /* queued rows are recorded first, if possible */
        final_answers_send_errors(&play.traffic, CALL_SERVER_GONE, "server-exited",
                                  "the server is gone", 0);
    }
    if (!play.over)
        end_turn();
    play.closed = play.traffic.out[ROW_S2C].broken;
    struct session_update u = {.end_reason = slice_of("client-closed"), .ended_at_us = 5};
    journal_append_session_update(&play.journal, &u);
    recorder_close(play.recorder);
    traffic_close(&play.traffic);
    for (int i = 0; i < 2; i++)
        line_close(&play.side[i].lines);
    fault.armed = false;
}

bool play_session(const char *where, bool stop)
{
    vault = where;
    begin(stop);
    struct recorder_config cfg = {.vault = vault,
                                  .name = "srv",
                                  .command = "[]",
                                  .sync_full = play.sync_full,
                                  .stop_on_error = stop};
    int st = recorder_open(&play.recorder, &cfg);
    if (st == 0 && play.recorder->has_ring &&
        recorder_pid(play.recorder) == 0 && /* as the loop does */
        worker_start(&play.recorder->worker) < 0)
        log_debug("no process: recorder_close() tries again");
    if (st < 0) {
        fault.armed = false;
        return false;
    }
    play.journal = *recorder_get_journal(play.recorder);
    play.journal.append = append;
    play.journal.answer = answer;
    traffic_open(&play.traffic, &play.journal, "srv", VALIDATE_WIRE, MESSAGE_MAX);
    for (int i = 0; i < 2; i++)
        line_open(&play.side[i].lines, MESSAGE_MAX);
    play_script();
    end();
    return true;
}
