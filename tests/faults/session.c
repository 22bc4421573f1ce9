/* session.c - a scripted session in which the N-th call fails, for N = 1, 2, ... until none is left.
 *
 *   session CALLS HOW POLICY [STRIDE]
 *
 * CALLS     what fails: memory (ours and SQLite's), write, io (write, with EIO), short (a write takes
 *           half), sync, open, other (truncation, mapping, reading)
 * HOW       once; on (from then until the session's end is near); ever
 * POLICY    pass or stop, as --on-record-error
 * STRIDE    try every STRIDE-th N only
 *
 * Lines go through the line reader, the traffic, the recorder and the outboxes, as the proxy has them,
 * with no process and no loop. Time is what the driver says. After each session:
 *   - nothing has crashed, leaked or left a descriptor open;
 *   - what the peers got is what they get without faults; where memory failed, or recording under
 *     `stop`, some of it may be missing, in order, and each request has its one answer all the same;
 *   - under `stop`, whatever was released was in the database before, and every line that a peer got is;
 *     under `pass`, what is not in there is counted in gap events (or, when the fault never ends, the
 *     log says that not everything is recorded);
 *   - every row that is there is the one that was meant, and PRAGMA integrity_check says ok.
 * Ends with one line, `ok - …` or `not ok - …`; exit status 0 or 1. */
#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "proxy/traffic.h"
#include "vault/uid.h"
#include "wire/json_text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- the faults ----------------------------------------------------------------------------- */

enum calls { MEMORY, WRITE, IO, SHORT, SYNC, OPEN, OTHER, CALLS_COUNT };
static const char *const calls_names[CALLS_COUNT] = {"memory", "write", "io",   "short",
                                                     "sync",   "open",  "other"};
enum how { ONCE, ON, EVER, HOW_COUNT };
static const char *const how_names[HOW_COUNT] = {"once", "on", "ever"};

static struct {
    enum calls calls;
    enum how how;
    bool armed;
    long at, count; /* the N-th call fails; so many have been made */
    long hits;      /* so many have failed */
} fault;

static bool fails(enum calls calls)
{
    if (!fault.armed || calls != fault.calls)
        return false;
    fault.count++;
    bool hit = fault.how == ONCE ? fault.count == fault.at : fault.count >= fault.at;
    fault.hits += hit;
    return hit;
}

/* The driver's own work in the middle of a session. */
static bool pause_faults(void)
{
    bool was = fault.armed;
    fault.armed = false;
    return was;
}

/* ---- memory: ours by --wrap, SQLite's by its own door ------------------------------------------ */

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
char *__real_strdup(const char *s);
void __real_free(void *p);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
char *__wrap_strdup(const char *s);
void __wrap_free(void *p);

/* Blocks that are ours and live; what libc allocated for us (realpath) is not in there. */
#define LIVE_MAX (1u << 17)
static void *live[LIVE_MAX];
static size_t live_count, sqlite_count;

static size_t live_slot(const void *p)
{
    size_t i = ((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15u >> 40;
    for (i &= LIVE_MAX - 1; live[i] != NULL && live[i] != p; i = (i + 1) & (LIVE_MAX - 1))
        continue;
    return i;
}

static void *born(void *p)
{
    if (p != NULL) {
        live[live_slot(p)] = p;
        live_count++;
    }
    return p;
}

static void died(void *p)
{
    size_t hole = live_slot(p);
    if (p == NULL || live[hole] == NULL)
        return;
    live_count--;
    live[hole] = NULL;
    for (size_t i = (hole + 1) & (LIVE_MAX - 1); live[i] != NULL; i = (i + 1) & (LIVE_MAX - 1)) {
        void *moved = live[i];
        live[i] = NULL;
        live[live_slot(moved)] = moved;
    }
}

void *__wrap_malloc(size_t n)
{
    return fails(MEMORY) ? NULL : born(__real_malloc(n));
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails(MEMORY) ? NULL : born(__real_calloc(n, size));
}

void *__wrap_realloc(void *p, size_t n)
{
    if (fails(MEMORY))
        return NULL;
    died(p);
    return born(__real_realloc(p, n));
}

char *__wrap_strdup(const char *s)
{
    return fails(MEMORY) ? NULL : born(__real_strdup(s));
}

void __wrap_free(void *p)
{
    died(p);
    __real_free(p);
}

/* A block of SQLite's has its size in front. */
union head {
    int n;
    max_align_t align;
};

static void *sql_malloc(int n)
{
    union head *h = fails(MEMORY) ? NULL : __real_malloc(sizeof *h + (size_t)n);
    if (h == NULL)
        return NULL;
    h->n = n;
    sqlite_count++;
    return h + 1;
}

static void sql_free(void *p)
{
    if (p == NULL)
        return;
    sqlite_count--;
    __real_free((union head *)p - 1);
}

static void *sql_realloc(void *p, int n)
{
    if (fails(MEMORY))
        return NULL;
    union head *h = __real_realloc((union head *)p - 1, sizeof *h + (size_t)n);
    if (h == NULL)
        return NULL;
    h->n = n;
    return h + 1;
}

static int sql_size(void *p)
{
    return p != NULL ? ((union head *)p - 1)->n : 0;
}

static int sql_roundup(int n)
{
    return (n + 7) & ~7;
}

static int sql_init(void *arg)
{
    (void)arg;
    return SQLITE_OK;
}

static void sql_shutdown(void *arg)
{
    (void)arg;
}

/* ---- system calls: these names come before libc's, for us and for libsqlite3 -------------------- */

static int peer_fd[2] = {-1, -1}; /* what the peers get never fails */

static bool is_peer(int fd)
{
    return fd == peer_fd[0] || fd == peer_fd[1] || fd == STDOUT_FILENO || fd == STDERR_FILENO;
}

/* 0: let it be done; else the errno to fail with. *n may become smaller. */
static int write_fault(int fd, size_t *n)
{
    if (is_peer(fd))
        return 0;
    if (fails(WRITE))
        return ENOSPC;
    if (fails(IO))
        return EIO;
    if (*n > 1 && fails(SHORT))
        *n /= 2;
    return 0;
}

static ssize_t failed(int e)
{
    errno = e;
    return -1;
}

ssize_t write(int fd, const void *p, size_t n)
{
    int e = write_fault(fd, &n);
    return e != 0 ? failed(e) : syscall(SYS_write, fd, p, n);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t at)
{
    int e = write_fault(fd, &n);
    return e != 0 ? failed(e) : syscall(SYS_pwrite64, fd, p, n, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int n, off_t at)
{
    size_t len = v[0].iov_len;
    int e = write_fault(fd, &len);
    if (e != 0)
        return failed(e);
    if (len < v[0].iov_len)
        return syscall(SYS_pwrite64, fd, v[0].iov_base, len, at);
    return syscall(SYS_pwritev, fd, v, n, at, 0);
}

int fsync(int fd)
{
    return fails(SYNC) ? (int)failed(EIO) : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fails(SYNC) ? (int)failed(EIO) : (int)syscall(SYS_fdatasync, fd);
}

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
    static const int errors[] = {EMFILE, EACCES, EIO, ENOSPC};
    if (fails(OPEN))
        return (int)failed(errors[fault.count % 4]);
    return (int)syscall(SYS_openat, dir, path, flags, mode);
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_at(dir, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_at(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list ap;
    va_start(ap, flags);
    mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
    va_end(ap);
    return open_at(AT_FDCWD, path, flags, mode);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
    return fails(OPEN) ? (int)failed(ENOSPC) : (int)syscall(SYS_mkdirat, dir, path, mode);
}

int ftruncate64(int fd, off64_t n)
{
    return !is_peer(fd) && fails(OTHER) ? (int)failed(EIO) : (int)syscall(SYS_ftruncate, fd, n);
}

ssize_t pread64(int fd, void *p, size_t n, off64_t at)
{
    return fails(OTHER) ? failed(EIO) : syscall(SYS_pread64, fd, p, n, at);
}

void *mmap64(void *p, size_t n, int prot, int flags, int fd, off64_t at)
{
    if (fd >= 0 && fails(OTHER)) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, p, n, prot, flags, fd, at);
}

/* ---- time, names, and what was meant to be recorded ---------------------------------------------- */

static int64_t now_us;
int64_t __wrap_clock_mono_us(void);
int64_t __wrap_clock_mono_us(void)
{
    return now_us += 10;
}

int __wrap_uid_make(int64_t wall_us, char *ret);
int __wrap_uid_make(int64_t wall_us, char *ret)
{
    (void)wall_us;
    memcpy(ret, "01ARZ3NDEKTSV4RRFFQ69G5FAV", UID_LEN + 1);
    return 0;
}

#define ROWS_MAX 1000
struct meant {
    const char *kind;
    enum row_direction direction;
    enum row_action action;
    uint64_t hash; /* of the body, as it is stored */
    size_t n;
    bool released; /* the bytes of its turn have gone on */
    bool seen;     /* in the database */
    bool got;      /* a peer got its line */
};
static struct meant meant[ROWS_MAX];
static uint64_t meant_n;

static uint64_t hash_of(struct slice s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (size_t i = 0; i < s.n; i++)
        h = (h ^ (unsigned char)s.p[i]) * 0x100000001B3u;
    return h;
}

uint64_t __real_recorder_add(struct recorder *r, const struct row *row);
uint64_t __wrap_recorder_add(struct recorder *r, const struct row *row);
uint64_t __wrap_recorder_add(struct recorder *r, const struct row *row)
{
    uint64_t seq = __real_recorder_add(r, row);
    bool was = pause_faults();
    struct buf text = {0};
    if (row->not_json)
        text_utf8(&text, row->body);
    else
        buf_slice_add(&text, row->body);
    if (seq != meant_n + 1 || seq >= ROWS_MAX)
        abort();
    meant[seq] = (struct meant){.kind = row->kind,
                                .direction = row->direction,
                                .action = row->action,
                                .hash = hash_of(buf_slice(&text)),
                                .n = text.n};
    meant_n = seq;
    buf_close(&text);
    fault.armed = was;
    return seq;
}

static char said[1 << 16];
static size_t said_n;

static void on_said(void *ctx, struct slice line)
{
    (void)ctx;
    size_t n = size_min(line.n, sizeof said - 1 - said_n);
    memcpy(said + said_n, line.p, n);
    said_n += n;
    said[said_n] = '\0';
}

/* ---- the session ------------------------------------------------------------------------------ */

#define GOT_MAX ((size_t)1 << 20)
struct side {
    struct line_reader lines; /* of what this side says */
    char *got;                /* what it was sent */
    size_t got_n, read_n;     /* so far; and looked at by the server */
};

static struct session {
    struct recorder *recorder;
    struct traffic traffic;
    struct side side[2]; /* [ROW_C2S]: the client says, the server gets; [ROW_S2C]: the other way */
    bool stop, over;     /* policy; nothing more is served */
    bool closed;         /* the client's stream was closed for want of memory */
    bool cut;            /* there was no memory to read what is being said */
    char asked[100][16]; /* ids of the requests that were read whole, as JSON */
    size_t asked_n;
    int looks;  /* releases after the fault at which the database was looked at */
    bool early; /* something was released that was not in the database */
} s;

static char vault[200];

#define INIT                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{\"clientInfo\":{"         \
    "\"name\":\"c\"}}}"
#define NOTE "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/x\"}"
#define CALL(id, tool)                                                                             \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"tools/call\",\"params\":{\"name\":\"" tool    \
    "\",\"arguments\":{\"a\":\"b\"}}}"
#define PING(id) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"ping\"}"

/* C: the client says it, S: the server, E: on its stderr. `pad`: so many bytes go where % is. `times`:
 * with ids from 1000 on where # is, all in one turn. */
static const struct step {
    char who;
    const char *text;
    size_t pad, times;
} steps[] = {
    {'C', INIT, 0, 0},
    {'C', "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", 0, 0},
    {'C', CALL("1", "plain"), 0, 0},
    {'C', "this is no JSON", 0, 0},
    {'C', CALL("\"\\u0065\"", "error"), 0, 0},
    {'E', "a line on stderr \xff", 0, 0},
    {'C', CALL("3", "bad"), 0, 0},
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
        traffic_too_long(&s.traffic, dir, line);
    else
        traffic_line(&s.traffic, dir, line);
}

static void take_lines(enum row_direction dir)
{
    struct line line;
    enum line_result got;
    while ((got = line_next(&s.side[dir].lines, &line)) != LINE_NEED_MORE)
        deliver(dir, &line, got == LINE_TOO_LONG);
}

/* As relay.c reads: without memory a long line is given up, and what cannot be read waits. For how long a
 * peer waits is not told here: after three tries the bytes count as never sent. */
static void feed(enum row_direction dir, const char *p, size_t n)
{
    struct line_reader *r = &s.side[dir].lines;
    int tries = 0;
    while (n > 0 && tries < 3) {
        size_t room;
        struct line line;
        char *at = line_room(r, &room);
        if (at == NULL && line_give_up(r, &line) == LINE_TOO_LONG)
            deliver(dir, &line, true);
        if (at == NULL) {
            s.cut = true;
            tries++;
            continue;
        }
        size_t some = size_min(n, room);
        memcpy(at, p, some);
        line_filled(r, some);
        p += some;
        n -= some;
        take_lines(dir);
    }
    if (n > 0 && line_partial(r) > 0) { /* the beginning of a line without its end: end it */
        size_t room;
        char *at = line_room(r, &room);
        if (at != NULL) {
            *at = '\n';
            line_filled(r, 1);
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
    struct stream to = stream_own(peer_fd[dir]);
    struct side *side = &s.side[dir];
    if (outbox_flush(&s.traffic.out[dir], &to) != 0)
        abort();
    bool was = pause_faults();
    off_t n = lseek(peer_fd[dir], 0, SEEK_END);
    if (side->got_n + (size_t)n > GOT_MAX ||
        syscall(SYS_pread64, peer_fd[dir], side->got + side->got_n, n, 0) != n)
        abort();
    side->got_n += (size_t)n;
    if (syscall(SYS_ftruncate, peer_fd[dir], 0) != 0 || lseek(peer_fd[dir], 0, SEEK_SET) != 0)
        abort();
    fault.armed = was;
}

#define LOOKS_MAX 3

/* Rows of messages that another process would see. */
static uint64_t rows_now(void)
{
    bool was = pause_faults();
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
    fault.armed = was;
    return n;
}

/* As proxy.c ends a turn. */
static void end_turn(void)
{
    now_us += 30000;
    long hits = fault.hits;
    enum recorder_result result = recorder_commit(s.recorder);
    for (int i = 0; result == RECORDER_HOLD && i < 2000; i++) {
        now_us += RECORDER_RETRY_US;
        result = recorder_commit(s.recorder);
    }
    if (result == RECORDER_HOLD)
        abort();
    if (result == RECORDER_FAILED) {
        outbox_break(&s.traffic.out[ROW_C2S]);
        traffic_drop_unrecorded(&s.traffic, "record-error", "cannot record");
        flush_to(ROW_S2C);
        s.over = true;
        return;
    }
    for (uint64_t i = 1; i <= meant_n; i++)
        meant[i].released = true;
    if (s.stop && fault.count >= fault.at && s.looks++ < LOOKS_MAX && rows_now() != meant_n)
        s.early = true;
    if (s.stop && fault.calls == SYNC && fault.hits != hits)
        s.early = true;
    for (int i = 0; i < 2; i++) {
        outbox_release(&s.traffic.out[i]);
        flush_to(i);
    }
    actions_flush(&s.traffic.actions, recorder_dir_fd(s.recorder));
}

/* ---- the server ------------------------------------------------------------------------------- */

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
        for (int i = 0; tool.p != NULL && slice_is(tool, "big") && i < 150000; i++)
            buf_addc(b, 't');
        buf_adds(b, "\"}]}}");
    }
}

/* Answers every whole line that it has got and not looked at; a batch by a batch. */
static void server_answers(void)
{
    struct side *side = &s.side[ROW_C2S];
    while (side->read_n < side->got_n) {
        bool was = pause_faults();
        const char *p = side->got + side->read_n;
        const char *nl = memchr(p, '\n', side->got_n - side->read_n);
        struct slice line = {p, nl != NULL ? (size_t)(nl - p) : 0};
        struct rpc m;
        struct buf b = {0};
        if (nl == NULL || rpc_read(line, &m) != 0)
            abort(); /* half a line, or no message at all */
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
        fault.armed = was;
        if (b.n > 0)
            feed_line(ROW_S2C, buf_slice(&b));
        was = pause_faults();
        buf_close(&b);
        fault.armed = was;
    }
}

static void note_request(const struct rpc *m)
{
    if (m->kind != RPC_REQUEST || slice_is(m->id.text, "7")) /* which is cancelled */
        return;
    char *to = s.asked[s.asked_n++];
    if (s.asked_n > MI_COUNT(s.asked) || m->id.text.n >= sizeof s.asked[0])
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
    bool was = pause_faults();
    struct buf b = {0};
    for (const char *p = x->text; *p != '\0'; p++) {
        if (*p == '#')
            buf_int(&b, 1000 + (int64_t)i);
        else if (*p == '%')
            for (size_t k = 0; k < x->pad; k++)
                buf_addc(&b, 'p');
        else
            buf_addc(&b, *p);
    }
    fault.armed = was;
    if (x->who == 'E') {
        struct chunk *c = chunk_new(b.n + 1);
        if (c != NULL) {
            memcpy(c->data, b.p, b.n);
            traffic_stderr(&s.traffic, &(struct line){c->data, b.n, c}, 0);
        }
        chunk_drop(c);
    } else {
        s.cut = false;
        feed_line(x->who == 'C' ? ROW_C2S : ROW_S2C, buf_slice(&b));
    }
    was = pause_faults();
    if (x->who == 'C' && !s.cut)
        note_requests(buf_slice(&b));
    buf_close(&b);
    fault.armed = was;
}

static void play(void)
{
    for (size_t i = 0; i < MI_COUNT(steps) && !s.over; i++) {
        for (size_t k = 0; k < (steps[i].times > 0 ? steps[i].times : 1); k++)
            say(&steps[i], k);
        end_turn();
        if (s.over)
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

/* One session. False: it did not begin. */
static bool run(bool stop)
{
    nftw(vault, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    for (int i = 0; i < 2; i++)
        s.side[i].got_n = s.side[i].read_n = 0;
    s.over = s.early = false;
    s.looks = 0;
    s.asked_n = 0;
    s.stop = stop;
    meant_n = 0;
    said_n = 0;
    said[0] = '\0';
    now_us = 1000000000;
    struct recorder_config cfg = {.vault = vault,
                                  .name = "srv",
                                  .command = "[]",
                                  .sync_full = fault.calls == SYNC,
                                  .stop_on_error = stop};
    fault.count = fault.hits = 0;
    fault.armed = true;
    if (recorder_open(&s.recorder, &cfg) < 0) {
        fault.armed = false;
        return false;
    }
    traffic_open(&s.traffic, s.recorder, "srv", VALIDATE_WIRE, (size_t)4 << 20);
    for (int i = 0; i < 2; i++)
        line_open(&s.side[i].lines, (size_t)4 << 20);
    play();
    if (fault.how != EVER)
        fault.armed = false;
    now_us += 1000000; /* past whatever it waits for between two tries */
    if (!s.over) {
        end_turn(); /* what waits is recorded before anything else, if it can be */
        traffic_server_gone(&s.traffic, "server-exited", "the server is gone");
    }
    if (!s.over)
        end_turn();
    s.closed = s.traffic.out[ROW_S2C].broken;
    struct store_update u = {.end_reason = slice_of("client-closed"), .ended_at_us = 5};
    recorder_learn(s.recorder, &u);
    actions_flush(&s.traffic.actions, recorder_dir_fd(s.recorder));
    recorder_close(s.recorder);
    traffic_close(&s.traffic);
    for (int i = 0; i < 2; i++)
        line_close(&s.side[i].lines);
    fault.armed = false;
    return true;
}

/* ---- looking at what is left ------------------------------------------------------------------- */

static char verdict[1000];

static bool bad(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static bool bad(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(verdict, sizeof verdict, fmt, ap);
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
    static char *text;
    char path[300];
    if (text == NULL)
        text = __real_malloc(GOT_MAX);
    snprintf(path, sizeof path, "%s/Bodies/01ARZ3NDEKTSV4RRFFQ69G5FAV", vault);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || (size_t)n > GOT_MAX || syscall(SYS_pread64, fd, text, n, at) != n)
        n = 0;
    if (fd >= 0)
        close(fd);
    return (struct slice){text, (size_t)n};
}

static bool row_is_right(sqlite3_stmt *q)
{
    uint64_t seq = (uint64_t)sqlite3_column_int64(q, 0);
    if (seq == 0 || seq > meant_n)
        return bad("a row with seq %llu of %llu", (unsigned long long)seq,
                   (unsigned long long)meant_n);
    struct meant *m = &meant[seq];
    bool outside = sqlite3_column_type(q, 4) == SQLITE_NULL;
    struct slice finding = text_of(q, 7);
    struct slice body = text_of(q, 4);
    if (outside && finding.n > 0 && memmem(finding.p, finding.n, "body-lost", 9) != NULL) {
        if (s.stop)
            return bad("seq %llu was stored without its text", (unsigned long long)seq);
        m->seen = true;
        return true;
    }
    if (outside)
        body = body_outside(sqlite3_column_int64(q, 5), sqlite3_column_int64(q, 6));
    if (m->seen || body.n != m->n || hash_of(body) != m->hash ||
        !slice_is(text_of(q, 1), m->kind) ||
        !slice_is(text_of(q, 2), m->direction == ROW_C2S ? "c2s" : "s2c"))
        return bad("seq %llu is not what it was meant to be", (unsigned long long)seq);
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
        good = bad("%s: %s", sql, sqlite3_errmsg(db));
    else if (rc != SQLITE_DONE && rc != SQLITE_ROW)
        bad("%s: %s", sql, sqlite3_errmsg(db));
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
    return bad("row %lld belongs to no session", sqlite3_column_int64(q, 0));
}

static bool is_ok(sqlite3_stmt *q)
{
    return slice_is(text_of(q, 0), "ok") || bad("integrity_check: %s", sqlite3_column_text(q, 0));
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

/* Each line that a peer got stands in the database; of errors of ours the last ones need not. */
static bool lines_are_recorded(enum row_direction dir)
{
    struct slice got = {s.side[dir].got, s.side[dir].got_n};
    while (got.n > 0) {
        struct slice line = next_line(&got);
        struct rpc m;
        uint64_t hash = hash_of(line), i = 1;
        if (dir == ROW_S2C && rpc_read(line, &m) == 0 && is_ours(&m))
            continue;
        while (i <= meant_n && (meant[i].got || !meant[i].seen || meant[i].direction != dir ||
                                meant[i].n != line.n || meant[i].hash != hash))
            i++;
        if (i > meant_n)
            return bad("the %s got what is not in the database: %.*s",
                       dir == ROW_C2S ? "server" : "client", (int)size_min(line.n, 200), line.p);
        meant[i].got = true;
    }
    return true;
}

static bool look_at_database(void)
{
    char path[300];
    sqlite3 *db = NULL;
    struct stat st;
    snprintf(path, sizeof path, "%s/interposer.db", vault);
    lost = 0;
    bool good = true;
    if (stat(path, &st) == 0 && st.st_size > 0) {
        good = sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK ||
               bad("the database cannot be opened: %s", sqlite3_errmsg(db));
        bool has_tables =
            good && sqlite3_table_column_metadata(db, NULL, "messages", NULL, NULL, NULL, NULL,
                                                  NULL, NULL) == SQLITE_OK;
        good = good && ask(db, "PRAGMA integrity_check", is_ok);
        if (good && has_tables)
            good =
                ask(db,
                    "SELECT seq, kind, direction, action, body, body_offset, body_length, finding"
                    " FROM messages ORDER BY id",
                    row_is_right) &&
                ask(db,
                    "SELECT id FROM messages WHERE session_id NOT IN (SELECT id FROM sessions)"
                    " UNION ALL SELECT id FROM events"
                    " WHERE session_id NOT IN (SELECT id FROM sessions)",
                    has_no_session) &&
                ask(db,
                    "SELECT coalesce(json_extract(detail, '$.lost'), 0) FROM events WHERE kind = "
                    "'gap'",
                    add_lost);
        sqlite3_close(db);
    }
    if (!good)
        return false;
    uint64_t missing = 0;
    for (uint64_t i = 1; i <= meant_n; i++) {
        missing += !meant[i].seen;
        if (!meant[i].seen && meant[i].released && s.stop)
            return bad("seq %llu went on and is not in the database", (unsigned long long)i);
    }
    if (s.early)
        return bad("something went on before it was in the database");
    if (s.stop && !(lines_are_recorded(ROW_C2S) && lines_are_recorded(ROW_S2C)))
        return false;
    bool told = fault.how == EVER && strstr(said, "not everything is recorded") != NULL;
    if (!s.over && missing != lost && !told)
        return bad("%llu rows are missing, the gap events say %llu, the log nothing",
                   (unsigned long long)missing, (unsigned long long)lost);
    if (!s.stop && missing > 0 && strstr(said, "warn: ") == NULL && !told && lost == 0)
        return bad("%llu rows are missing and nobody says so", (unsigned long long)missing);
    return true;
}

/* What the peers get without faults, and what of it may be missing with them. */
static char *reference[2];
static size_t reference_n[2];

/* Every line is one of the reference, in order, or an error of ours. */
static bool is_part(enum row_direction dir)
{
    struct slice got = {s.side[dir].got, s.side[dir].got_n};
    struct slice all = {reference[dir], reference_n[dir]};
    if (got.n > 0 && got.p[got.n - 1] != '\n')
        return bad("half a line went to the %s", dir == ROW_C2S ? "server" : "client");
    while (got.n > 0) {
        struct slice line = next_line(&got);
        struct rpc m;
        if (rpc_read(line, &m) != 0)
            return bad("no message went to the %s: %.*s", dir == ROW_C2S ? "server" : "client",
                       (int)size_min(line.n, 200), line.p);
        if (dir == ROW_S2C && is_ours(&m))
            continue;
        bool found = false;
        while (!found && all.n > 0)
            found = slice_eq(next_line(&all), line);
        if (!found)
            return bad("the %s got what it should not, or too early: %.*s",
                       dir == ROW_C2S ? "server" : "client", (int)size_min(line.n, 200), line.p);
    }
    return true;
}

static size_t answers_to(struct slice id)
{
    struct slice got = {s.side[ROW_S2C].got, s.side[ROW_S2C].got_n};
    size_t n = 0;
    while (got.n > 0) {
        struct slice line = next_line(&got);
        struct rpc m;
        if (rpc_read(line, &m) != 0)
            continue;
        n += (m.kind == RPC_RESULT || m.kind == RPC_ERROR) && slice_eq(m.id.text, id);
        struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, m.text});
        struct slice key;
        struct json_value v;
        while (m.kind == RPC_BATCH && json_walk_next(&w, &key, &v)) {
            struct rpc one;
            n += rpc_read(v.text, &one) == 0 && slice_eq(one.id.text, id);
        }
    }
    return n;
}

/* Each request that was read has one answer: the server's, or an error of ours. Where the client's
 * stream had to be closed for want of memory, that is said, and nobody waits. */
static bool all_answered(bool closed)
{
    for (size_t i = 0; i < s.asked_n; i++) {
        size_t n = answers_to(slice_of(s.asked[i]));
        if (n > 1)
            return bad("request %s has %zu answers", s.asked[i], n);
        if (n == 0 && !(closed && strstr(said, "out of memory") != NULL))
            return bad("request %s has no answer", s.asked[i]);
    }
    return answers_to(slice_of("7")) <= 1 || bad("a cancelled request has several answers");
}

static bool look_at_peers(bool closed)
{
    for (int i = 0; i < 2; i++) {
        bool same = s.side[i].got_n == reference_n[i] &&
                    memcmp(s.side[i].got, reference[i], reference_n[i]) == 0;
        if (same)
            continue;
        if (fault.calls != MEMORY && !s.over)
            return bad("the %s got other bytes than without faults",
                       i == ROW_C2S ? "server" : "client");
        if (!is_part(i))
            return false;
    }
    return all_answered(closed);
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    if (d == NULL)
        abort();
    while (readdir(d) != NULL)
        n++;
    closedir(d);
    return n;
}

/* ---- one N after the other ---------------------------------------------------------------------- */

static struct shared {
    long n;    /* the N that is being tried, for whoever finds us dead */
    long runs; /* sessions so far */
    bool good;
    char why[sizeof verdict + 3000];
} * shared;

static bool one(long n, bool stop, size_t blocks, size_t sql_blocks, size_t descriptors)
{
    verdict[0] = '\0';
    fault.at = n;
    bool began = run(stop);
    bool closed = began && s.closed;
    bool good =
        !began ? (s.side[0].got_n == 0 && s.side[1].got_n == 0) || bad("bytes without a session")
               : look_at_peers(closed) && look_at_database();
    if (good && live_count != blocks)
        good = bad("%zu blocks of memory were left", live_count - blocks);
    if (good && sqlite_count != sql_blocks)
        good = bad("%zu blocks of memory were left to SQLite", sqlite_count - sql_blocks);
    if (good && open_descriptors() != descriptors)
        good = bad("%zu descriptors before, %zu after", descriptors, open_descriptors());
    if (!good)
        snprintf(shared->why, sizeof shared->why, "N = %ld: %s\n# the log:\n# %.2500s", n, verdict,
                 said);
    return good;
}

static void worker(bool stop, long stride)
{
    static char live_until[2];
    static const sqlite3_mem_methods methods = {sql_malloc,  sql_free, sql_realloc,  sql_size,
                                                sql_roundup, sql_init, sql_shutdown, NULL};
    (void)live_until;
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_MALLOC, &methods);
    log_set_sink(on_said, NULL);
    for (int i = 0; i < 2; i++) {
        peer_fd[i] = memfd_create("peer", MFD_CLOEXEC);
        s.side[i].got = __real_malloc(GOT_MAX);
        reference[i] = __real_malloc(GOT_MAX);
        if (peer_fd[i] < 0 || s.side[i].got == NULL || reference[i] == NULL)
            abort();
    }
    fault.at = 1L << 60; /* without a fault, twice: the first time SQLite takes what it keeps */
    for (int i = 0; i < 2; i++)
        if (!run(stop))
            abort();
    for (int i = 0; i < 2; i++) {
        reference_n[i] = s.side[i].got_n;
        memcpy(reference[i], s.side[i].got, s.side[i].got_n);
    }
    long last = fault.count;
    if (!look_at_peers(false) || !look_at_database() || lost != 0 || said_n == 0) {
        snprintf(shared->why, sizeof shared->why, "without a fault: %s\n# %.2500s", verdict, said);
        return;
    }
    size_t blocks = live_count, sql_blocks = sqlite_count, descriptors = open_descriptors();
    for (long n = 1; n <= last; n += stride) {
        shared->n = n;
        if (!one(n, stop, blocks, sql_blocks, descriptors))
            return;
        shared->runs++;
    }
    shared->n = last;
    shared->good = last > 0;
    if (last == 0)
        snprintf(shared->why, sizeof shared->why, "no such call is made");
}

static int index_of(const char *const *names, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    fprintf(stderr, "session: what is %s?\n", name);
    exit(2);
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: session CALLS HOW pass|stop [STRIDE]\n");
        return 2;
    }
    fault.calls = (enum calls)index_of(calls_names, CALLS_COUNT, argv[1]);
    fault.how = (enum how)index_of(how_names, HOW_COUNT, argv[2]);
    bool stop = strcmp(argv[3], "stop") == 0;
    long stride = argc > 4 ? strtol(argv[4], NULL, 10) : 1;
    const char *tmp = getenv("TMPDIR");
    char root[100];
    snprintf(root, sizeof root, "%s/mi-faults-XXXXXX", tmp != NULL ? tmp : "/tmp");
    if (stride < 1 || mkdtemp(root) == NULL) {
        perror("session");
        return 2;
    }
    snprintf(vault, sizeof vault, "%s/vault", root);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0) {
        worker(stop, stride);
        exit(0);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    bool good = status == 0 && shared->good;
    printf("%s - %s fails %s, %s: %ld sessions, the last with N = %ld\n", good ? "ok" : "not ok",
           argv[1], argv[2], argv[3], shared->runs, shared->n);
    if (WIFSIGNALED(status))
        printf("# killed by signal %d at N = %ld\n", WTERMSIG(status), shared->n);
    else if (status != 0)
        printf("# exit status %d at N = %ld\n", WEXITSTATUS(status), shared->n);
    if (!shared->good && shared->why[0] != '\0')
        printf("# %s\n", shared->why);
    return good ? 0 : 1;
}
