#include "vault/cassette/foreign.h"

#include "vault/cassette/members.h"
#include "vault/cassette/message.h"
#include "vault/cassette/server_side.h"
#include "wire/json/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define REMEDY "repair the line, or remove it"

/* ---- times ---- */

/* Reads "2026-05-12T23:00:00.123Z" as microseconds since the Unix epoch. */
static bool parse_utc_timestamp(struct json_value v, int64_t *ret)
{
    struct tm tm = {0};
    char text[32];
    int frac_at = 0, year, month;
    struct slice raw = json_string_raw(v);
    if (raw.p == NULL || raw.n >= sizeof text)
        return false;
    memcpy(text, raw.p, raw.n);
    text[raw.n] = '\0';
    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d:%2d%n", &year, &month, &tm.tm_mday, &tm.tm_hour,
               &tm.tm_min, &tm.tm_sec, &frac_at) != 6 ||
        year < 1970 || month < 1 || tm.tm_mday < 1)
        return false;
    tm.tm_year = year - 1900;
    tm.tm_mon = month - 1;
    int64_t us = (int64_t)timegm(&tm) * 1000000;
    const char *p = text + frac_at;
    if (*p == '.') {
        p++;
        for (int64_t unit = 100000; *p >= '0' && *p <= '9'; p++, unit /= 10)
            us += unit * (*p - '0');
    }
    *ret = us;
    return strcmp(p, "Z") == 0;
}

/* Reads a time in units of unit_us microseconds; the number may have a fraction. *ret: the time in
 * microseconds. */
static bool read_time_number(struct json_value v, double unit_us, int64_t *ret)
{
    char text[40];
    if (v.type != JSON_NUMBER || v.text.n >= sizeof text)
        return false;
    memcpy(text, v.text.p, v.text.n);
    text[v.text.n] = '\0';
    double us = strtod(text, NULL) * unit_us + 0.5;
    if (!(us >= 0 && us < 9e18))
        return false;
    *ret = (int64_t)us;
    return true;
}

/* ---- the session and its messages ---- */

/* Returns "github" for the path "recordings/github.cassette.jsonl". */
static struct slice server_name_of_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    size_t n = strcspn(base, ".");
    return n > 0 ? (struct slice){base, n} : slice_of("recording");
}

static void foreign_begin_session(struct cassette_reader *r, struct slice name,
                                  struct json_value command, int64_t started_us)
{
    struct query_session s = {
        .name = name.n > 0 ? name : server_name_of_file(r->name),
        .command = command.type == JSON_ARRAY ? command.text : slice_of("[]"),
        .record_level = slice_of("full"),
        .started_at_us = started_us,
    };
    r->started_us = started_us;
    if (r->on_session != NULL)
        r->stopped = !r->on_session(r->ctx, &s);
}

/* Passes a message to the callback. is_text: body is a JSON string that contains the message as
 * text. Times in a recording may decrease, if the clock was set back; times of messages must
 * not. */
static int foreign_deliver_message(struct cassette_reader *r, enum row_direction direction,
                                   int64_t t_us, struct json_value body, bool is_text)
{
    struct query_message m = {.direction = direction,
                              .kind = KIND_UNKNOWN,
                              .t_us = t_us > r->last_t_us ? t_us : r->last_t_us,
                              .size = -1,
                              .body = body.text};
    if (is_text) {
        buf_clear(&r->texts);
        if (!buf_reserve(&r->texts, body.text.n + 1))
            return cassette_set_no_memory_error(r);
        json_unescape(&r->texts, json_string_raw(body));
        m.body = (struct slice){r->texts.p, r->texts.n};
    }
    if (direction != ROW_S2C)
        return server_side_read_client_message(r, &m);
    /* A text of the server may have several lines. */
    struct slice text = m.body;
    int st;
    do
        st = server_side_read_line(r, slice_take_line(&text), m.t_us, r->entry_found);
    while (st == 0 && text.n > 0);
    return st;
}

/* ---- lines of the file ---- */

/* Repairs a line of the recording that is not JSON, by the rules for lines of a server. If the line
 * is incomplete, also reads the next lines. */
static int repair_invalid_line(struct cassette_reader *r, struct slice *line)
{
    struct json_scan scan;
    struct json_repair m;
    bool more = true;
    int st = 0;
    size_t line_no = r->line_no;
    r->entry_found = 0;
    if (json_scan(*line, NULL, NULL, &scan) == 0)
        return 0;
    json_repair_open(&m, CASSETTE_LINE_MAX);
    enum json_repair_result result = json_repair_add_line(&m, *line);
    while (st == 0 && more && result == JSON_REPAIR_MORE) {
        st = cassette_next_line(r, line, &more);
        if (st == 0 && more)
            result = json_repair_add_line(&m, *line);
    }
    if (st == 0 && result != JSON_REPAIR_WHOLE) {
        r->line_no = line_no;
        buf_clear(&r->why);
        buf_printf(&r->why, "%s (byte %zu)", json_fault_text(scan.fault.kind), scan.fault.at + 1);
        st = cassette_reject(r, buf_str(&r->why), REMEDY);
    } else if (st == 0) {
        /* The message has the flaws that were found in the line. Flaws of line ends are left out,
         * because they come from the file, not from the message. */
        r->entry_found = repairs_get_findings(&m.repairs) &
                         ~(FINDING(FIND_SEVERAL_LINES) | FINDING(FIND_TRAILING_TEXT));
        buf_clear(&r->entry);
        buf_slice_add(&r->entry, buf_slice(&m.text));
        *line = buf_slice(&r->entry);
        st = r->entry.failed ? cassette_set_no_memory_error(r) : 0;
    }
    json_repair_close(&m);
    return st;
}

typedef int (*line_fn)(struct cassette_reader *r, struct slice line, int64_t started_us);

static int foreign_read_lines(struct cassette_reader *r, line_fn fn, int64_t started_us)
{
    struct slice line;
    bool more = true;
    int st = 0;
    while (st == 0 && !r->stopped && (st = cassette_next_line(r, &line, &more)) == 0 && more)
        if (!line_is_blank(line) && (st = repair_invalid_line(r, &line)) == 0)
            st = fn(r, line, started_us);
    return st < 0 || r->stopped ? st : server_side_flush_waiting_line(r);
}

/* ---- mcp-tape: {"v":1,"type":"meta",…}, {"t":UTC,"dir":"in","raw":{…}}, {"type":"end",…} ---- */

enum { TAPE_T, TAPE_DIR, TAPE_RAW, TAPE_TYPE, TAPE_COUNT };

static int read_mcp_tape_line(struct cassette_reader *r, struct slice line, int64_t started_us)
{
    static const struct cassette_member members[TAPE_COUNT] = {
        {"t", JSON_STRING, false},
        {"dir", JSON_STRING, false},
        {"raw", JSON_NONE, false},
        {"type", JSON_STRING, false},
    };
    struct json_value v[TAPE_COUNT];
    int64_t at_us;
    if (cassette_read_members(line, members, TAPE_COUNT, CASSETTE_ANY, v, &r->why) < 0)
        return cassette_reject(r, buf_str(&r->why), REMEDY);
    /* skip the line: it is the end of the recording, or an entry of a later version of the
     * format */
    if (v[TAPE_TYPE].type != JSON_NONE)
        return 0;
    if (!parse_utc_timestamp(v[TAPE_T], &at_us))
        return cassette_reject(r, "`t` must be a time like 2026-05-12T23:00:00.123Z", REMEDY);
    bool in = json_key_is(json_string_raw(v[TAPE_DIR]), "in");
    if (!in && !json_key_is(json_string_raw(v[TAPE_DIR]), "out"))
        return cassette_reject(r, "`dir` must be in or out", REMEDY);
    if (v[TAPE_RAW].type == JSON_NONE)
        return cassette_reject(r, "`raw` is missing", REMEDY);
    return foreign_deliver_message(r, in ? ROW_C2S : ROW_S2C, at_us - started_us, v[TAPE_RAW],
                                   v[TAPE_RAW].type == JSON_STRING);
}

static int read_mcp_tape_recording(struct cassette_reader *r, struct slice first, bool *ret_known)
{
    static const struct cassette_member members[] = {
        {"v", JSON_NUMBER, true},         {"type", JSON_STRING, true},
        {"startedAt", JSON_STRING, true}, {"label", JSON_STRING, false},
        {"command", JSON_ARRAY, false},
    };
    struct json_value v[MI_COUNT(members)];
    int64_t version, started_us;
    struct slice label = {0};
    *ret_known =
        cassette_read_members(first, members, MI_COUNT(members), CASSETTE_ANY, v, &r->why) == 0 &&
        json_key_is(json_string_raw(v[1]), "meta") && parse_utc_timestamp(v[2], &started_us);
    if (!*ret_known)
        return 0;
    if (!json_int(v[0], &version) || version != 1)
        return cassette_reject(r, "unknown version of mcp-tape's format",
                               "only version 1 is supported");
    if (!buf_reserve(&r->texts, first.n + 1))
        return cassette_set_no_memory_error(r);
    buf_clear(&r->why);
    if (cassette_read_string(v[3], "label", &r->texts, &label, &r->why) < 0)
        return cassette_reject(r, buf_str(&r->why), REMEDY);
    foreign_begin_session(r, label, v[4], started_us);
    return foreign_read_lines(r, read_mcp_tape_line, started_us);
}

/* ---- mcp-rec: {"ts":SECONDS,"dir":"client->server","msg":{…}}, without a header ---- */

enum { REC_TS, REC_DIR, REC_MSG, REC_COUNT };

static int read_members_of_mcp_rec(struct cassette_reader *r, struct slice line,
                                   struct json_value *v, int64_t *ret_us, bool *ret_in)
{
    static const struct cassette_member members[REC_COUNT] = {
        {"ts", JSON_NUMBER, true}, {"dir", JSON_STRING, true}, {"msg", JSON_NONE, true}};
    int st = cassette_read_members(line, members, REC_COUNT, CASSETTE_ANY, v, &r->why);
    if (st < 0)
        return st;
    struct slice dir = json_string_raw(v[REC_DIR]);
    *ret_in = json_key_is(dir, "client->server");
    if (!*ret_in && !json_key_is(dir, "server->client"))
        buf_adds(&r->why, "`dir` must be client->server or server->client");
    else if (!read_time_number(v[REC_TS], 1e6, ret_us))
        buf_adds(&r->why, "`ts` must be seconds since the Unix epoch");
    return r->why.n > 0 || r->why.failed ? MI_EPROTO : 0;
}

static int read_line_of_mcp_rec(struct cassette_reader *r, struct slice line, int64_t started_us)
{
    struct json_value v[REC_COUNT];
    int64_t at_us = 0;
    bool in = false;
    if (read_members_of_mcp_rec(r, line, v, &at_us, &in) < 0)
        return cassette_reject(r, buf_str(&r->why), REMEDY);
    struct json_value raw = json_get(v[REC_MSG], "_raw"); /* `_raw` is a line that is not JSON */
    bool is_noise = raw.type == JSON_STRING && json_get(v[REC_MSG], "jsonrpc").type == JSON_NONE;
    return foreign_deliver_message(r, in ? ROW_C2S : ROW_S2C, at_us - started_us,
                                   is_noise ? raw : v[REC_MSG], is_noise);
}

static int read_mcp_rec_recording(struct cassette_reader *r, struct slice first, bool *ret_known)
{
    struct json_value v[REC_COUNT];
    int64_t started_us = 0;
    bool in = false;
    *ret_known = read_members_of_mcp_rec(r, first, v, &started_us, &in) == 0;
    if (!*ret_known)
        return 0;
    foreign_begin_session(r, (struct slice){0}, (struct json_value){0}, started_us);
    int st = r->stopped ? 0 : read_line_of_mcp_rec(r, first, started_us);
    return st == 0 ? foreign_read_lines(r, read_line_of_mcp_rec, started_us) : st;
}

/* ---- mcp-cassette, versions 1 and 2: {"type":"header",…}, then frame, raw, chunks ---- */

enum { VCR_TYPE, VCR_T, VCR_DIR, VCR_FRAME, VCR_DATA, VCR_CHUNKS, VCR_COUNT };

/* Reads an entry that has several frames of one stream, in order. */
static int read_vcr_chunks(struct cassette_reader *r, enum row_direction direction,
                           struct json_value chunks)
{
    struct json_walk w = json_walk_begin(chunks);
    struct slice key;
    struct json_value chunk;
    int st = 0;
    while (st == 0 && !r->stopped && json_walk_next(&w, &key, &chunk)) {
        int64_t t_us;
        struct json_value frame = json_get(chunk, "frame");
        if (frame.type == JSON_NONE || !read_time_number(json_get(chunk, "t"), 1e3, &t_us))
            return cassette_reject(r, "a chunk must have `t` and `frame`", REMEDY);
        st = foreign_deliver_message(r, direction, t_us, frame, false);
    }
    return st;
}

static int read_vcr_line(struct cassette_reader *r, struct slice line, int64_t started_us)
{
    static const struct cassette_member members[VCR_COUNT] = {
        {"type", JSON_STRING, true}, {"t", JSON_NUMBER, false},    {"dir", JSON_STRING, false},
        {"frame", JSON_NONE, false}, {"data", JSON_STRING, false}, {"chunks", JSON_ARRAY, false},
    };
    (void)started_us;
    struct json_value v[VCR_COUNT];
    int64_t t_us;
    if (cassette_read_members(line, members, VCR_COUNT, CASSETTE_ANY, v, &r->why) < 0)
        return cassette_reject(r, buf_str(&r->why), REMEDY);
    struct slice type = json_string_raw(v[VCR_TYPE]);
    struct json_value body = json_key_is(type, "frame")    ? v[VCR_FRAME]
                             : json_key_is(type, "raw")    ? v[VCR_DATA]
                             : json_key_is(type, "chunks") ? v[VCR_CHUNKS]
                                                           : (struct json_value){0};
    if (body.type == JSON_NONE &&
        (json_key_is(type, "frame") || json_key_is(type, "raw") || json_key_is(type, "chunks")))
        return cassette_reject(r, "the line lacks the member that its `type` requires", REMEDY);
    if (body.type == JSON_NONE) /* the format requires that unknown entries are skipped */
        return 0;
    struct slice dir = json_string_raw(v[VCR_DIR]);
    bool in = json_key_is(dir, "c2s");
    if (!in && !json_key_is(dir, "s2c"))
        return cassette_reject(r, "`dir` must be c2s or s2c", REMEDY);
    if (!read_time_number(v[VCR_T], 1e3, &t_us))
        return cassette_reject(r, "`t` must be milliseconds since the start", REMEDY);
    if (json_key_is(type, "chunks"))
        return read_vcr_chunks(r, in ? ROW_C2S : ROW_S2C, body);
    return foreign_deliver_message(r, in ? ROW_C2S : ROW_S2C, t_us, body, json_key_is(type, "raw"));
}

static int read_vcr(struct cassette_reader *r, struct slice first, bool *ret_known)
{
    static const struct cassette_member members[] = {
        {"type", JSON_STRING, true},
        {"cassetteVersion", JSON_NUMBER, true},
        {"startedAt", JSON_STRING, false},
        {"command", JSON_ARRAY, false},
    };
    struct json_value v[MI_COUNT(members)];
    int64_t version, started_us = 0;
    *ret_known =
        cassette_read_members(first, members, MI_COUNT(members), CASSETTE_ANY, v, &r->why) == 0 &&
        json_key_is(json_string_raw(v[0]), "header");
    if (!*ret_known)
        return 0;
    if (!json_int(v[1], &version) || version < 1 || version > 2)
        return cassette_reject(r, "unknown version of mcp-cassette's format",
                               "only versions 1 and 2 are supported");
    if (v[2].type != JSON_NONE && !parse_utc_timestamp(v[2], &started_us))
        return cassette_reject(r, "`startedAt` must be a time like 2026-05-12T23:00:00.123Z",
                               REMEDY);
    foreign_begin_session(r, (struct slice){0}, v[3], started_us);
    return foreign_read_lines(r, read_vcr_line, started_us);
}

int cassette_read_other_format(struct cassette_reader *r, struct slice first, bool *ret_known)
{
    int st = repair_invalid_line(r, &first);
    *ret_known = false;
    if (st == MI_EINVAL) { /* the line cannot be repaired: the caller reports an unknown format */
        buf_clear(r->error);
        return 0;
    }
    if (st == 0)
        st = read_mcp_tape_recording(r, first, ret_known);
    if (st == 0 && !*ret_known)
        st = read_mcp_rec_recording(r, first, ret_known);
    if (st == 0 && !*ret_known)
        st = read_vcr(r, first, ret_known);
    return st;
}
