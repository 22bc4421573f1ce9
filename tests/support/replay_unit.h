/* replay_unit.h - shared by the unit tests of replay/: a recording written as a few lines, and a conversation
 * that replays it, with a clock set by the test and its output captured.
 *
 * A recording is text: a line starts with `>` (the client), `<` (the server), `!` (the interposer in place of
 * the server), `#` (a comment) or `E` (the server's stderr). Each line is one millisecond later than the
 * previous one, or N milliseconds with `+N ` in front. */
#ifndef MI_TESTS_REPLAY_UNIT_H
#define MI_TESTS_REPLAY_UNIT_H

#include "tests/support/vault_unit.h"

#include "replay/mock/conversation.h"

#define NOW 1000000 /* when a replay starts */

/* A line of a recording. */
#define CLIENT(message) ">" message "\n"
#define SERVER(message) "<" message "\n"
/* Requests, results and other messages for recordings. */
#define REQUEST(id, method, params)                                                                \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params "}"
#define CALL(id, tool, args)                                                                       \
    REQUEST(id, "tools/call", "{\"name\":\"" tool "\",\"arguments\":" args "}")
#define CALL_TOKEN(id, tool, args, token)                                                          \
    REQUEST(id, "tools/call",                                                                      \
            "{\"name\":\"" tool "\",\"arguments\":" args ",\"_meta\":{\"progressToken\":" token    \
            "}}")
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define NOTE(method, params) "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"
#define PROGRESS(token, n)                                                                         \
    NOTE("notifications/progress", "{\"progressToken\":" token ",\"progress\":" n "}")
#define CANCEL(id) NOTE("notifications/cancelled", "{\"requestId\":" id "}")
#define LEGACY                                                                                     \
    CLIENT(REQUEST("0", "initialize", "{\"protocolVersion\":\"2025-03-26\"}"))                     \
    SERVER(RESULT("0", "{\"protocolVersion\":\"2025-03-26\"}"))                                    \
    CLIENT(NOTE("notifications/initialized", "{}"))
#define INITIALIZE REQUEST("0", "initialize", "{\"protocolVersion\":\"2025-03-26\"}")

struct play_test {
    struct temp temp;
    struct conversation_rules rules;
    struct faults faults;
    struct misses misses;
    struct source *source;
    struct conversation *conversation;
    struct buf said, heard; /* lines sent by the conversation; its stderr */
    int64_t now_us;
    bool no_memory; /* the next line fails for lack of memory */
};

static inline int on_send(void *ctx, struct slice line)
{
    struct play_test *t = ctx;
    buf_slice_add(&t->said, line);
    return t->no_memory ? MI_ENOMEM : 0;
}

static inline void on_server_stderr(void *ctx, struct slice line)
{
    struct play_test *t = ctx;
    buf_slice_add(&t->heard, line);
    buf_addc(&t->heard, '\n');
}

static inline void put_line(struct buf *b, const char *line, size_t n, long t_us)
{
    if (line[0] == 'E') {
        buf_printf(b, "{\"t\":%ld,\"dir\":\"s2c\",\"kind\":\"stderr\",\"text\":\"%.*s\"}\n", t_us,
                   (int)n - 1, line + 1);
        return;
    }
    buf_printf(b, "{\"t\":%ld,\"dir\":\"%s\",%s\"msg\":%.*s}\n", t_us,
               line[0] == '>' ? "c2s" : "s2c", line[0] == '!' ? "\"origin\":\"interposer\"," : "",
               (int)n - 1, line + 1);
}

/* The recording as a cassette. `header`: additional members of its first line, each preceded by a comma. */
static inline const char *write_recording(struct temp *temp, const char *header,
                                          const char *recording)
{
    struct buf b = {0};
    long t_us = 0;
    buf_printf(&b, "{\"format\":\"mcp-interposer-cassette\",\"version\":1,\"name\":\"test\"%s}\n",
               header);
    for (const char *p = recording; *p != '\0';) {
        size_t n = strcspn(p, "\n");
        if (*p == '+') {
            char *end;
            t_us += strtol(p + 1, &end, 10) * 1000;
            n -= (size_t)(end + 1 - p);
            p = end + 1;
        } else {
            t_us += 1000;
        }
        if (n > 0 && *p != '#')
            put_line(&b, p, n, t_us);
        p += n + (p[n] == '\n');
    }
    buf_adds(&b, "{\"end\":true}\n");
    const char *path = temp_path(temp, "recording.jsonl");
    FILE *f = fopen(path, "we");
    assert_non_null(f);
    assert_int_equal(fwrite(b.p, 1, b.n, f), b.n);
    assert_int_equal(fclose(f), 0);
    buf_close(&b);
    return path;
}

static inline struct source *open_recording(struct temp *temp, const char *header,
                                            const char *recording)
{
    struct source *s = NULL;
    struct buf error = {0};
    int st = source_open_cassette(&s, write_recording(temp, header, recording), &error);
    if (st < 0)
        fail_msg("the recording is wrong: %s", buf_str(&error));
    buf_close(&error);
    return s;
}

static inline void play_begin(struct play_test *t, const char *header, const char *recording)
{
    t->source = open_recording(&t->temp, header, recording);
    t->now_us = NOW;
    assert_int_equal(conversation_open(&t->conversation, &t->rules, &t->faults, t->source,
                                       &t->misses, on_send, on_server_stderr, t),
                     0);
    assert_int_equal(conversation_begin(t->conversation, t->now_us), 0);
}

static inline int play_setup(void **state)
{
    struct play_test *t = calloc(1, sizeof *t);
    assert_non_null(t);
    temp_make(&t->temp);
    said_begin();
    *state = t;
    return 0;
}

static inline int play_teardown(void **state)
{
    struct play_test *t = *state;
    conversation_close(t->conversation);
    source_close(t->source);
    pointers_close(&t->rules.canon.ignore);
    faults_close(&t->faults);
    misses_close(&t->misses);
    buf_close(&t->said);
    buf_close(&t->heard);
    said_end();
    temp_remove(&t->temp);
    free(t);
    return 0;
}

/* The client sends this line. */
static inline void client(struct play_test *t, const char *line)
{
    assert_int_equal(conversation_handle_line(t->conversation, slice_of(line), t->now_us), 0);
}

/* Advances the clock. */
static inline void pass_us(struct play_test *t, int64_t us)
{
    t->now_us += us;
    assert_int_equal(conversation_send_due_messages(t->conversation, t->now_us), 0);
}

/* Advances the clock until nothing is due, or an hour has passed. */
static inline void pass_all(struct play_test *t)
{
    for (int64_t end = t->now_us + INT64_C(3600000000);;) {
        int64_t due = conversation_next_event_us(t->conversation);
        if (due == CONVERSATION_NEVER || due > end)
            return;
        pass_us(t, due > t->now_us ? due - t->now_us : 0);
    }
}

/* Exactly these lines were sent since the last check. */
static inline void server_said(struct play_test *t, const char *lines)
{
    assert_string_equal(buf_str(&t->said), lines);
    buf_clear(&t->said);
}

static inline void server_forget(struct play_test *t)
{
    buf_clear(&t->said);
}

/* Expects an error with this code that contains these words. */
static inline void server_refused(struct play_test *t, const char *id, int code, const char *words)
{
    char head[128];
    snprintf(head, sizeof head, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,", id, code);
    if (strstr(buf_str(&t->said), head) == NULL || strstr(buf_str(&t->said), words) == NULL)
        fail_msg("no error %d for %s with '%s': %s", code, id, words, buf_str(&t->said));
    buf_clear(&t->said);
}

#define play_test(f) cmocka_unit_test_setup_teardown(f, play_setup, play_teardown)

#endif
