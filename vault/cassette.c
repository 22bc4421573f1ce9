#include "vault/cassette.h"

#include "base/text.h"
#include "vault/cassette_inner.h"
#include "wire/json_text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- lines ---- */

int cassette_refuse(struct cassette_reader *r, const char *reason, const char *remedy)
{
    buf_clear(r->error);
    text_visible(r->error, slice_of(r->name));
    buf_printf(r->error, ":%zu: %s; %s", r->line_no, reason,
               remedy != NULL ? remedy : "repair the line, or export the session again");
    return MI_EINVAL;
}

int cassette_no_memory(struct cassette_reader *r)
{
    buf_clear(r->error);
    buf_adds(r->error, "no memory");
    return MI_ENOMEM;
}

static int fail_io(struct cassette_reader *r, const char *why)
{
    buf_clear(r->error);
    buf_adds(r->error, "cannot read ");
    text_visible(r->error, slice_of(r->name));
    buf_printf(r->error, ": %s; name another file", why);
    return MI_EIO;
}

/* Reads once into the line reader. 0, MI_EIO or MI_ENOMEM. */
static int fill(struct cassette_reader *r)
{
    size_t n;
    char *to = line_room(&r->lines, &n);
    if (to == NULL)
        return cassette_no_memory(r);
    ssize_t got;
    do
        got = read(r->fd, to, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fail_io(r, strerror(errno));
    r->eof = got == 0;
    line_filled(&r->lines, (size_t)got);
    return 0;
}

static int file_line(struct cassette_reader *r, struct slice *ret, bool *ret_more)
{
    struct line line;
    enum line_result got;
    while ((got = line_next(&r->lines, &line)) == LINE_NEED_MORE && !r->eof) {
        int st = fill(r);
        if (st < 0)
            return st;
    }
    if (got == LINE_NEED_MORE)
        got = line_last(&r->lines, &line);
    *ret_more = got != LINE_NEED_MORE;
    r->line_no += *ret_more;
    if (got == LINE_TOO_LONG)
        return cassette_refuse(r, "the line is longer than 1 GiB", NULL);
    if (got == LINE_READY)
        *ret = (struct slice){line.p, line.n};
    return 0;
}

int cassette_next_line(struct cassette_reader *r, struct slice *ret, bool *ret_more)
{
    if (r->fd >= 0)
        return file_line(r, ret, ret_more);
    *ret_more = r->text.n > 0;
    if (!*ret_more)
        return 0;
    const char *end = memchr(r->text.p, '\n', r->text.n);
    size_t n = end != NULL ? (size_t)(end - r->text.p) : r->text.n;
    *ret = (struct slice){r->text.p, n};
    n += end != NULL;
    r->text = (struct slice){r->text.p + n, r->text.n - n};
    r->line_no++;
    return 0;
}

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

/* Is this the header of a cassette, and of one that this program can read? */
static int check_format(struct cassette_reader *r, struct slice line, bool *ret_ours)
{
    struct json_value v[2];
    int64_t version = 0;
    *ret_ours = cassette_members(line, header_members, 2, false, v, &r->why) == 0 &&
                json_key_is(json_string_raw(v[H_FORMAT]), CASSETTE_FORMAT);
    if (!*ret_ours ||
        (json_int(v[H_VERSION], &version) && version >= 1 && version <= CASSETTE_VERSION))
        return 0;
    return cassette_refuse(r, "this version of the format is not known here",
                           "use a newer mcp-interposer");
}

static int header_numbers(struct cassette_reader *r, const struct json_value *v,
                          struct query_session *s)
{
    if (cassette_count(v[H_STARTED], "started_at_us", &s->started_at_us, &r->why) < 0 ||
        cassette_count(v[H_ENDED], "ended_at_us", &s->ended_at_us, &r->why) < 0 ||
        cassette_count(v[H_EXIT_STATUS], "exit_status", &s->exit_status, &r->why) < 0)
        return MI_EPROTO;
    s->has_exit_status = v[H_EXIT_STATUS].type != JSON_NONE;
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
    buf_clear(&r->room);
    if (!buf_room(&r->room, line.n + 1))
        return cassette_no_memory(r);
    int st = cassette_members(line, header_members, H_COUNT, true, v, &r->why);
    for (size_t i = 0; st == 0 && i < H_COUNT; i++)
        if (texts[i] != NULL)
            st = cassette_string(v[i], header_members[i].name, &r->room, texts[i], &r->why);
    if (st == 0)
        st = header_numbers(r, v, &s);
    if (v[H_REDACT_RULES].type != JSON_NONE)
        s.redact_rules = v[H_REDACT_RULES].text;
    if (st < 0)
        return cassette_refuse(r, buf_str(&r->why), NULL);
    if (r->on_session != NULL)
        r->stopped = !r->on_session(r->ctx, &s);
    return 0;
}

/* ---- the whole ---- */

static int read_end(struct cassette_reader *r, struct slice line)
{
    static const struct cassette_member members[] = {{"end", JSON_TRUE, true},
                                                     {"messages", JSON_NUMBER, false}};
    struct json_value v[2];
    int64_t n = r->seq;
    if (cassette_members(line, members, 2, true, v, &r->why) < 0 ||
        cassette_count(v[1], "messages", &n, &r->why) < 0)
        return cassette_refuse(r, buf_str(&r->why), NULL);
    if (n != r->seq) {
        buf_printf(&r->why, "the end line counts %lld messages, and there are %lld", (long long)n,
                   (long long)r->seq);
        return cassette_refuse(r, buf_str(&r->why),
                               "if lines were added or taken away on purpose, correct it");
    }
    bool more;
    int st = cassette_next_line(r, &line, &more);
    if (st == 0 && more)
        return cassette_refuse(r, "something follows the end line", NULL);
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
            return cassette_refuse(r, "the file ends without an end line: it was cut off",
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
        return cassette_refuse(r, "the file is empty", "name a cassette");
    }
    st = check_format(r, line, &known);
    if (st == 0 && known)
        st = read_header(r, line);
    if (st < 0)
        return st;
    if (known)
        return read_lines(r);
    st = cassette_foreign(r, line, &known);
    if (st < 0 || known)
        return st;
    return cassette_refuse(r,
                           "this is not the first line of a cassette, nor of a recording that "
                           "is known here",
                           "see: mcp-interposer help import");
}

static int run(struct cassette_reader *r)
{
    int st = read_all(r);
    pairing_close(&r->pairing);
    line_close(&r->lines);
    buf_close(&r->room);
    buf_close(&r->scratch);
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
    /* O_NONBLOCK: a fifo without a writer must not hold us up before we see that it is one */
    r.fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (r.fd < 0)
        return fail_io(&r, strerror(errno));
    int st;
    if (fstat(r.fd, &s) != 0) {
        st = fail_io(&r, strerror(errno));
    } else if (!S_ISREG(s.st_mode)) {
        st = fail_io(&r, "it is no plain file");
    } else {
        line_open(&r.lines, CASSETTE_LINE_MAX);
        st = run(&r);
    }
    close(r.fd);
    return st;
}
