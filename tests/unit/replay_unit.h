/* replay_unit.h - what the unit tests of replay/ share: a recording written as a few lines, and a stage
 * that plays it, with a clock that the test sets and ears on what is said.
 *
 * A recording is text: a line begins with `>` (the client), `<` (the server), `!` (the interposer in the
 * server's place), `#` (a note for the reader) or `E` (the server's standard error). The next line is a
 * millisecond later; `+N ` in front of it: N milliseconds. */
#ifndef MI_TESTS_REPLAY_UNIT_H
#define MI_TESTS_REPLAY_UNIT_H

#include "tests/unit/vault_unit.h"

#include "replay/stage.h"

#define NOW 1000000 /* when a play begins */

/* A line of a recording. */
#define CLIENT(message) ">" message "\n"
#define SERVER(message) "<" message "\n"
/* A request, a result and the like, to be put together into recordings. */
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
    struct stage_rules rules;
    struct faults faults;
    struct report report;
    struct source *source;
    struct stage *stage;
    struct buf said, heard; /* what the stage said, in lines; its standard error */
    int64_t now_us;
    bool no_memory; /* the next line is not taken */
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

/* The recording as a cassette. `header` has more members of its first line, each with a comma in front. */
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
    assert_int_equal(stage_open(&t->stage, &t->rules, &t->faults, t->source, &t->report, on_send,
                                on_server_stderr, t),
                     0);
    assert_int_equal(stage_begin(t->stage, t->now_us), 0);
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
    stage_close(t->stage);
    source_close(t->source);
    pointers_close(&t->rules.canon.ignore);
    faults_close(&t->faults);
    report_close(&t->report);
    buf_close(&t->said);
    buf_close(&t->heard);
    said_end();
    temp_remove(&t->temp);
    free(t);
    return 0;
}

/* The client says this. */
static inline void client(struct play_test *t, const char *line)
{
    assert_int_equal(stage_line(t->stage, slice_of(line), t->now_us), 0);
}

/* Time goes on. */
static inline void pass_us(struct play_test *t, int64_t us)
{
    t->now_us += us;
    assert_int_equal(stage_advance(t->stage, t->now_us), 0);
}

/* Until nothing is due any more, or an hour has passed. */
static inline void pass_all(struct play_test *t)
{
    for (int64_t end = t->now_us + INT64_C(3600000000);;) {
        int64_t due = stage_due(t->stage);
        if (due == STAGE_NEVER || due > end)
            return;
        pass_us(t, due > t->now_us ? due - t->now_us : 0);
    }
}

/* What was said since the last look is this, and nothing else. */
static inline void server_said(struct play_test *t, const char *lines)
{
    assert_string_equal(buf_str(&t->said), lines);
    buf_clear(&t->said);
}

static inline void server_forget(struct play_test *t)
{
    buf_clear(&t->said);
}

/* An error with this code and these words in it. */
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
