/* A valid answer with one to three edits (a byte, a cut, an insertion, a range twice, a swap), as the server's line to a
 * session with a pending request: what is forwarded passes the strict scan, a request whose id is readable gets an
 * answer, its server is not silent, so not killed, and no secret is stored that would be replaced in the answer without
 * edits.
 * The input: the number of the answer and of the edits, then five bytes for each edit. */
#include "proxy/session/expire.h"
#include "proxy/session/invalid_line.h"
#include "proxy/session/traffic.h"
#include "vault/store/sanitize.h"

#include "base/log.h"
#include "tests/fuzz/fuzz.h"

#define BEGIN "{\"jsonrpc\":\"2.0\",\"id\":7,"
#define TOKEN "ghp_16C7e42F292c6912E7710c838347Ae178B4a"
#define PASSWORD "\"password\":\"hunter2Xy\""
#define LINE_MAX_N 4096

static const char *const answers[] = {
    BEGIN "\"result\":{}}",
    BEGIN
    "\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"caf\xC3\xA9 \\\"x\\\" \\u00e9\\n\"}]}}",
    BEGIN "\"result\":{\"structuredContent\":{\"a\":[1,-2.5e3,true,null,{\"b\":[[],{}]}]," PASSWORD
          ",\"c\":\"d\"},\"content\":[]}}",
    BEGIN "\"error\":{\"code\":-32000,\"message\":\"no: " TOKEN "\",\"data\":{\"k\":\"v\"}}}",
    BEGIN
    "\"error\":null,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"a\\\":1}\"}]}}",
    BEGIN "\"result\":null}",
    "{\"result\":{\"x\":{\"id\":8},\"t\":\"\xF0\x9F\x98\x80\"," PASSWORD
    "},\"id\":7,\"jsonrpc\":\"2.0\"}",
    "{\"result\":{\"env\":[\"A=b\",\"" TOKEN
    "\"],\"list\":[{\"id\":8},{\"id\":9}]},\"jsonrpc\":\"2.0\",\"id\":7}",
    "[" BEGIN "\"error\":null,\"result\":{\"t\":\"x\"}}," BEGIN "\"result\":null}]",
    "log: " BEGIN "\"result\":{}} done",
    "[INFO] " BEGIN "\"result\":{\"t\":NaN," PASSWORD "}}",
};

/* The secrets that an answer may have, with what they are recognized by. */
static const struct {
    const char *whole, *secret;
} secrets[] = {{"," PASSWORD, "hunter2Xy"}, {" " TOKEN "\"", TOKEN}, {"\"" TOKEN "\"", TOKEN}};

/* ---- edits ---------------------------------------------------------------------------------- */

struct text {
    char p[LINE_MAX_N];
    size_t n;
};

static void insert(struct text *t, size_t at, const char *p, size_t n)
{
    char copy[LINE_MAX_N];
    if (t->n + n > sizeof t->p)
        return;
    memcpy(copy, p, n);
    memmove(t->p + at + n, t->p + at, t->n - at);
    memcpy(t->p + at, copy, n);
    t->n += n;
}

static void edit(struct text *t, const uint8_t *e)
{
    static const char marks[] = "{}[]\",:\\' \t\x01\xE9\xC3\n0N";
    if (t->n == 0)
        return;
    size_t at = (size_t)(e[1] << 8 | e[2]) % t->n;
    size_t n = size_min(1 + e[3] % 24, t->n - at), to = (size_t)e[4] * 7 % t->n;
    switch (e[0] % 6) {
    case 0:
        t->p[at] = (char)e[3];
        break;
    case 1:
        t->p[at] = marks[e[3] % (sizeof marks - 1)];
        break;
    case 2: /* cut out, or off */
        if (e[4] % 4 == 0)
            n = t->n - at;
        memmove(t->p + at, t->p + at + n, t->n - at - n);
        t->n -= n;
        break;
    case 3:
        insert(t, at, &marks[e[3] % (sizeof marks - 1)], 1);
        break;
    case 4:
        insert(t, to, t->p + at, n);
        break;
    default: {
        char c = t->p[at];
        t->p[at] = t->p[to];
        t->p[to] = c;
    }
    }
}

/* ---- the session ---------------------------------------------------------------------------- */

struct session {
    struct journal journal;
    struct traffic traffic;
    struct row_sanitizer sanitizer;
    int64_t now_us;
    uint64_t seq;
    const char *secret; /* must not be stored; NULL: none */
};

static void check_stored(const struct session *s, struct slice stored)
{
    MUST(s->secret == NULL || stored.p == NULL ||
         memmem(stored.p, stored.n, s->secret, strlen(s->secret)) == NULL);
}

static int64_t now_us(void *owner)
{
    const struct session *s = owner;
    return s->now_us;
}

static uint64_t append(void *owner, const struct row *row)
{
    struct session *s = owner;
    struct sanitized_row stored;
    MUST(sanitize_row(&s->sanitizer, row, &stored) == 0);
    check_stored(s, stored.body);
    check_stored(s, stored.method);
    check_stored(s, stored.target);
    return ++s->seq;
}

static uint64_t answer(void *owner, const struct row *row, const struct invocation *x)
{
    (void)x;
    return append(owner, row);
}

static void event(void *owner, const char *kind, const char *detail)
{
    struct session *s = owner;
    struct slice stored;
    (void)kind;
    if (detail == NULL)
        return;
    MUST(sanitize_json(&s->sanitizer, slice_of(detail), &stored) == 0);
    check_stored(s, stored);
}

static void add_rules(void *owner, uint64_t seq, breaches rules)
{
    (void)owner, (void)seq, (void)rules;
}

static void update(void *owner, const struct session_update *u)
{
    (void)owner, (void)u;
}

static void log_call(void *owner, const struct invocation *x)
{
    (void)owner, (void)x;
}

static void want_previous_tools(void *owner)
{
    (void)owner;
}

static void feed(struct session *s, enum row_direction dir, struct slice text)
{
    struct chunk *c = chunk_new(text.n + 1);
    MUST(c != NULL);
    memcpy(c->data, text.p, text.n);
    struct line line = {c->data, text.n, c};
    traffic_handle_line(&s->traffic, dir, &line);
    chunk_release(c);
}

static void check_forwarded(struct session *s)
{
    struct slice piece;
    for (size_t at = 0; outbox_next_staged_piece(&s->traffic.out[ROW_S2C], &at, &piece);)
        while (piece.n > 0) {
            const char *nl = memchr(piece.p, '\n', piece.n);
            struct rpc m;
            MUST(nl != NULL);
            struct slice line = {piece.p, (size_t)(nl - piece.p)};
            MUST(rpc_read(line, &m) == 0 && m.kind != RPC_INVALID);
            piece = (struct slice){nl + 1, piece.n - line.n - 1};
        }
}

static void play(struct session *s, struct slice text, bool readable)
{
    s->journal = (struct journal){.owner = s,
                                  .uid = "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                                  .now_us = now_us,
                                  .append = append,
                                  .answer = answer,
                                  .event = event,
                                  .add_rules = add_rules,
                                  .update = update,
                                  .log = log_call,
                                  .want_previous_tools = want_previous_tools};
    traffic_open(&s->traffic, &s->journal, "srv", VALIDATE_WIRE, (size_t)1 << 20);
    feed(s, ROW_C2S,
         slice_of("{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":"
                  "{\"name\":\"a\"}}"));
    if (text.n > 0 && text.p[0] == '[') /* of the revision that has batches */
        strcpy(s->traffic.version, "2025-03-26");
    while (text.n > 0) {
        const char *nl = memchr(text.p, '\n', text.n);
        size_t n = nl != NULL ? (size_t)(nl - text.p) : text.n;
        feed(s, ROW_S2C, (struct slice){text.p, n});
        n += nl != NULL;
        text = (struct slice){text.p + n, text.n - n};
    }
    s->now_us += SERVER_LINES_WAIT_MAX_US;
    expire_due_requests(&s->traffic);
    MUST(!s->traffic.invalid_lines.lines.waits);
    check_forwarded(s);
    MUST(!readable || s->traffic.open[ROW_C2S].open.count == 0);
    MUST(!readable || s->traffic.timers.server_messages > 0);
    outbox_discard_staged_bytes(&s->traffic.out[ROW_S2C]);
    outbox_discard_staged_bytes(&s->traffic.out[ROW_C2S]);
    traffic_close(&s->traffic);
    sanitize_close(&s->sanitizer);
}

static void no_log(void *ctx, struct slice line)
{
    (void)ctx, (void)line;
}

static size_t occurrences(const struct text *t, const char *what)
{
    size_t count = 0, n = strlen(what);
    for (size_t at = 0; at + n <= t->n; at++)
        count += memcmp(t->p + at, what, n) == 0;
    return count;
}

/* The secret is as it was: whole, and once. */
static const char *secret_of(const struct text *t)
{
    for (size_t i = 0; i < MI_COUNT(secrets); i++) {
        const char *at = memmem(t->p, t->n, secrets[i].whole, strlen(secrets[i].whole));
        if (at == NULL || occurrences(t, secrets[i].secret) != 1)
            continue;
        return secrets[i].secret;
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct session s = {.now_us = 1, .sanitizer.level = RECORD_FULL};
    struct text t = {.n = 0};
    log_set_sink(no_log, NULL);
    if (size < 2)
        return 0;
    const char *line = answers[data[0] % MI_COUNT(answers)];
    t.n = strlen(line);
    memcpy(t.p, line, t.n);
    data += 2;
    size -= 2;
    for (size_t edits = 1 + data[-1] % 3; edits > 0 && size >= 5; edits--, data += 5, size -= 5)
        edit(&t, data);
    bool readable = t.n >= sizeof BEGIN - 1 && memcmp(t.p, BEGIN, sizeof BEGIN - 1) == 0;
    s.secret = secret_of(&t);
    play(&s, (struct slice){t.p, t.n}, readable);
    return 0;
}
