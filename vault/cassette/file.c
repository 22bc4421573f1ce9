#include "vault/cassette/file.h"

#include "base/clock.h"
#include "vault/cassette/foreign.h"
#include "vault/cassette/members.h"
#include "vault/cassette/message.h"
#include "vault/cassette/server_side.h"
#include "wire/json/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the header ---- */

enum {
    H_FORMAT,
    H_VERSION,
    H_NAME,
    H_CLIENT_NAME,
    H_CLIENT_VERSION,
    H_SERVER_NAME,
    H_SERVER_VERSION,
    H_PROTOCOL_VERSION,
    H_STARTED,
    H_ENDED,
    H_END_REASON,
    H_EXIT_STATUS,
    H_RECORD_LEVEL,
    H_REDACT_RULES,
    H_COUNT
};

static const struct cassette_member header_members[H_COUNT] = {
    [H_FORMAT] = {"format", JSON_STRING, true},
    [H_VERSION] = {"version", JSON_NUMBER, true},
    [H_NAME] = {"name", JSON_STRING, true},
    [H_CLIENT_NAME] = {"client_name", JSON_STRING, false},
    [H_CLIENT_VERSION] = {"client_version", JSON_STRING, false},
    [H_SERVER_NAME] = {"server_name", JSON_STRING, false},
    [H_SERVER_VERSION] = {"server_version", JSON_STRING, false},
    [H_PROTOCOL_VERSION] = {"protocol_version", JSON_STRING, false},
    [H_STARTED] = {"started_at_us", JSON_NUMBER, false},
    [H_ENDED] = {"ended_at_us", JSON_NUMBER, false},
    [H_END_REASON] = {"end_reason", JSON_STRING, false},
    [H_EXIT_STATUS] = {"exit_status", JSON_NUMBER, false},
    [H_RECORD_LEVEL] = {"record_level", JSON_STRING, false},
    [H_REDACT_RULES] = {"redact_rules", JSON_OBJECT, false},
};

/* *ret_ours: the line is the header of a cassette. 0, or MI_EINVAL: of an unknown version. */
static int check_format(struct cassette_reader *r, struct slice line, bool *ret_ours)
{
    struct json_value v[2];
    int64_t version = 0;
    *ret_ours = cassette_members(line, header_members, 2, false, v, &r->why) == 0 &&
                json_key_is(json_string_raw(v[H_FORMAT]), CASSETTE_FORMAT);
    if (!*ret_ours ||
        (json_int(v[H_VERSION], &version) && version >= 1 && version <= CASSETTE_VERSION))
        return 0;
    return cassette_reject(r, "unknown version of the format", "use a newer mcp-interposer");
}

static int header_numbers(struct cassette_reader *r, const struct json_value *v,
                          struct query_session *s)
{
    if (cassette_count(v[H_STARTED], "started_at_us", &s->started_at_us, &r->why) < 0 ||
        cassette_count(v[H_ENDED], "ended_at_us", &s->ended_at_us, &r->why) < 0 ||
        cassette_count(v[H_EXIT_STATUS], "exit_status", &s->exit_status, &r->why) < 0)
        return MI_EPROTO;
    s->has_exit_status = v[H_EXIT_STATUS].type != JSON_NONE;
    r->started_us = s->started_at_us;
    if (s->started_at_us > CLOCK_MAX_US || s->ended_at_us > CLOCK_MAX_US) {
        buf_adds(&r->why, "its time is after the year 9999");
        return MI_EPROTO;
    }
    if (s->ended_at_us == 0 || s->ended_at_us >= s->started_at_us)
        return 0;
    buf_adds(&r->why, "`ended_at_us` is before `started_at_us`");
    return MI_EPROTO;
}

static int read_header(struct cassette_reader *r, struct slice line)
{
    struct query_session s = {.command = slice_of("[]"), .record_level = slice_of("full")};
    struct slice format;
    struct slice *const texts[H_COUNT] = {
        [H_FORMAT] = &format,
        [H_NAME] = &s.name,
        [H_CLIENT_NAME] = &s.client_name,
        [H_CLIENT_VERSION] = &s.client_version,
        [H_SERVER_NAME] = &s.server_name,
        [H_SERVER_VERSION] = &s.server_version,
        [H_PROTOCOL_VERSION] = &s.protocol_version,
        [H_END_REASON] = &s.end_reason,
        [H_RECORD_LEVEL] = &s.record_level,
    };
    struct json_value v[H_COUNT];
    buf_clear(&r->texts);
    if (!buf_reserve(&r->texts, line.n + 1))
        return cassette_no_memory(r);
    int st = cassette_members(line, header_members, H_COUNT, true, v, &r->why);
    for (size_t i = 0; st == 0 && i < H_COUNT; i++)
        if (texts[i] != NULL)
            st = cassette_string(v[i], header_members[i].name, &r->texts, texts[i], &r->why);
    if (st == 0)
        st = header_numbers(r, v, &s);
    if (v[H_REDACT_RULES].type != JSON_NONE)
        s.redact_rules = v[H_REDACT_RULES].text;
    if (st < 0)
        return cassette_reject(r, buf_str(&r->why), NULL);
    if (r->on_session != NULL)
        r->stopped = !r->on_session(r->ctx, &s);
    return 0;
}

/* ---- the file ---- */

static int read_end(struct cassette_reader *r, struct slice line)
{
    static const struct cassette_member members[] = {{"end", JSON_TRUE, true},
                                                     {"messages", JSON_NUMBER, false}};
    struct json_value v[2];
    int64_t n = r->seq;
    if (cassette_members(line, members, 2, true, v, &r->why) < 0 ||
        cassette_count(v[1], "messages", &n, &r->why) < 0)
        return cassette_reject(r, buf_str(&r->why), NULL);
    if (n != r->seq) {
        buf_printf(&r->why, "the end line says %lld messages, but there are %lld", (long long)n,
                   (long long)r->seq);
        return cassette_reject(r, buf_str(&r->why),
                               "if you added or removed lines on purpose, correct the number");
    }
    bool more;
    int st = cassette_next_line(r, &line, &more);
    if (st == 0 && more)
        return cassette_reject(r, "unexpected line after the end line", NULL);
    return st;
}

static bool is_end(struct slice line)
{
    return slice_begins(line, "{\"end\"") || slice_begins(line, "{ \"end\"");
}

static int read_lines(struct cassette_reader *r)
{
    struct slice line;
    bool more = true;
    while (!r->stopped) {
        int st = cassette_next_line(r, &line, &more);
        if (st < 0)
            return st;
        if (!more)
            return cassette_reject(r, "the end line is missing: the file is truncated",
                                   "export the session again");
        if (is_end(line))
            return read_end(r, line);
        st = cassette_message(r, line);
        if (st < 0)
            return st;
    }
    return 0;
}

static int read_all(struct cassette_reader *r)
{
    struct slice line = {0};
    bool more, known = false;
    int st = cassette_next_line(r, &line, &more);
    if (st < 0)
        return st;
    if (!more) {
        r->line_no = 1;
        return cassette_reject(r, "the file is empty", "name a cassette");
    }
    st = check_format(r, line, &known);
    if (st == 0 && known)
        st = read_header(r, line);
    if (st < 0)
        return st;
    if (known)
        return read_lines(r);
    r->foreign = true;
    server_side_open(r);
    st = cassette_foreign(r, line, &known);
    if (st < 0 || known)
        return st;
    return cassette_reject(r,
                           "this is not the first line of a cassette or of another known "
                           "recording format",
                           "see: mcp-interposer help import");
}

static int run(struct cassette_reader *r)
{
    int st = read_all(r);
    pairing_close(&r->pairing);
    line_close(&r->lines);
    buf_close(&r->texts);
    buf_close(&r->scratch);
    buf_close(&r->entry);
    server_side_close(r);
    buf_close(&r->why);
    if (r->error->failed)
        st = st < 0 ? st : MI_ENOMEM;
    return st;
}

int cassette_read_text(const char *name, struct slice text, query_session_fn on_session,
                       query_message_fn on_message, void *ctx, struct buf *error)
{
    struct cassette_reader r = {.name = name,
                                .error = error,
                                .on_session = on_session,
                                .on_message = on_message,
                                .ctx = ctx,
                                .fd = -1,
                                .text = text};
    line_open(&r.lines, CASSETTE_LINE_MAX);
    return run(&r);
}

int cassette_read(const char *path, query_session_fn on_session, query_message_fn on_message,
                  void *ctx, struct buf *error)
{
    struct cassette_reader r = {.name = path,
                                .error = error,
                                .on_session = on_session,
                                .on_message = on_message,
                                .ctx = ctx};
    struct stat s;
    /* O_NONBLOCK: opening a fifo without a writer would block */
    r.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (r.fd < 0)
        return cassette_fail_io(&r, strerror(errno));
    int st;
    if (fstat(r.fd, &s) != 0) {
        st = cassette_fail_io(&r, strerror(errno));
    } else if (!S_ISREG(s.st_mode)) {
        st = cassette_fail_io(&r, "it is not a regular file");
    } else {
        line_open(&r.lines, CASSETTE_LINE_MAX);
        st = run(&r);
    }
    close(r.fd);
    return st;
}
