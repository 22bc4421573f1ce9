#include "vault/cassette/cassette_file.h"

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

#define TYPE_NUMBER JSON_NUMBER
#define TYPE_TIME JSON_NUMBER
#define TYPE_TEXT JSON_STRING
#define TYPE_JSON JSON_OBJECT
#define MEMBER_NO(name, type)
#define MEMBER_YES(name, type) {#name, TYPE_##type, false, 1},
#define MEMBER_NEEDED(name, type) {#name, TYPE_##type, true, 1},
#define MEMBER_V2(name, type) {#name, TYPE_##type, false, 2},
#define HEADER_MEMBER(name, type, null, since, evidence, cassette, ...)                            \
    MEMBER_##cassette(name, type)

/* Members of the header: format and version, then those fields of a session that a cassette has. */
enum { H_FORMAT, H_VERSION, H_FIELDS };
static const struct cassette_member header_members[] = {{"format", JSON_STRING, true, 0},
                                                        {"version", JSON_NUMBER, true, 0},
                                                        SESSION_FIELDS(HEADER_MEMBER)};
#define H_COUNT MI_COUNT(header_members)

/* *ret_ours: whether the line is the header of a cassette. MI_EINVAL: an unknown version. */
static int check_format(struct cassette_reader *r, struct slice line, bool *ret_ours)
{
    struct json_value v[H_FIELDS];
    int64_t version = 0;
    *ret_ours =
        cassette_read_members(line, header_members, H_FIELDS, CASSETTE_ANY, v, &r->why) == 0 &&
        json_key_is(json_string_raw(v[H_FORMAT]), CASSETTE_FORMAT);
    if (!*ret_ours)
        return 0;
    if (json_int(v[H_VERSION], &version) && version >= 1 && version <= CASSETTE_VERSION) {
        r->version = (int)version;
        return 0;
    }
    return cassette_reject(r, "unknown version of the format", "use a newer mcp-interposer");
}

/* Sets the fields of the session. v: values of the header's members after `version`. */
static int read_header_fields(struct cassette_reader *r, const struct json_value *v,
                              struct query_session *s)
{
    for (const struct record_field *f = fields_of_session.list;
         f < fields_of_session.list + fields_of_session.n; f++) {
        struct cell c = {.type = CELL_INT};
        if (f->cassette == 0)
            continue;
        int st = 0;
        if (f->type == VALUE_TEXT)
            st = cassette_read_string(*v, f->name, &r->texts, &c.text, &r->why);
        else if (f->type == VALUE_JSON)
            c.text = v->text;
        else
            st = cassette_read_unsigned_number(*v, f->name, &c.number, &r->why);
        if (st < 0)
            return st;
        c.type = field_is_text(f) ? CELL_TEXT : CELL_INT;
        if (v->type != JSON_NONE)
            field_set(f, s, c);
        v++;
    }
    return 0;
}

static int read_header(struct cassette_reader *r, struct slice line)
{
    struct query_session s = {.command = slice_of("[]"),
                              .record_level = slice_of("full"),
                              .has_revisions = r->version >= CASSETTE_REVISIONS};
    struct json_value v[H_COUNT];
    buf_clear(&r->texts);
    if (!buf_reserve(&r->texts, line.n + 1))
        return cassette_set_no_memory_error(r);
    int st = cassette_read_members(line, header_members, H_COUNT, r->version, v, &r->why);
    if (st == 0)
        st = read_header_fields(r, v + H_FIELDS, &s);
    if (st == 0 && (s.started_at_us > CLOCK_MAX_US || s.ended_at_us > CLOCK_MAX_US)) {
        buf_adds(&r->why, "the session's time is after the year 9999");
        st = MI_EPROTO;
    } else if (st == 0 && s.ended_at_us != 0 && s.ended_at_us < s.started_at_us) {
        buf_adds(&r->why, "`ended_at_us` is before `started_at_us`");
        st = MI_EPROTO;
    }
    if (st < 0)
        return cassette_reject(r, buf_str(&r->why), NULL);
    r->started_us = s.started_at_us;
    if (r->on_session != NULL)
        r->stopped = !r->on_session(r->ctx, &s);
    return 0;
}

/* ---- the file ---- */

static int read_end_line(struct cassette_reader *r, struct slice line)
{
    static const struct cassette_member members[] = {{"end", JSON_TRUE, true, 0},
                                                     {"messages", JSON_NUMBER, false, 0}};
    struct json_value v[2];
    int64_t n = r->seq;
    if (cassette_read_members(line, members, 2, r->version, v, &r->why) < 0 ||
        cassette_read_unsigned_number(v[1], "messages", &n, &r->why) < 0)
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

static int cassette_file_read_lines(struct cassette_reader *r)
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
        if (slice_begins(line, "{\"end\"") || slice_begins(line, "{ \"end\""))
            return read_end_line(r, line);
        st = cassette_read_message(r, line);
        if (st < 0)
            return st;
    }
    return 0;
}

static int cassette_file_read_all(struct cassette_reader *r)
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
        return cassette_file_read_lines(r);
    r->foreign = true;
    server_side_open(r);
    st = cassette_read_other_format(r, line, &known);
    if (st < 0 || known)
        return st;
    return cassette_reject(r,
                           "this is not the first line of a cassette or of another known "
                           "recording format",
                           "see: mcp-interposer help import");
}

static int cassette_file_read_and_free(struct cassette_reader *r)
{
    int st = cassette_file_read_all(r);
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
    return cassette_file_read_and_free(&r);
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
    /* O_NONBLOCK: otherwise, opening a FIFO that has no writer would block. */
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
        st = cassette_file_read_and_free(&r);
    }
    close(r.fd);
    return st;
}
