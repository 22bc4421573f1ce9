/* traffic_unit.h - shared by the tests of proxy/session: lines in, bytes and rows out.
 *
 * Messages use 'single' quotes for readability. The first letter of a line is its sender:
 *   "C {...}"   the client   "S {...}"   the server   "E ..."  its stderr
 *   "c ...", "s ..."         the last line of a stream, without a newline
 * Received bytes are shown with '|' for each newline, an error of the interposer as <id code cause>. Rows are
 *   seq direction kind action id method target request_seq error_code batch_seq finding
 * with '-' for NULL, a '*' after the direction of a message of the interposer, and ';' between rows. */
#ifndef MI_TESTS_TRAFFIC_UNIT_H
#define MI_TESTS_TRAFFIC_UNIT_H

#include "tests/support/journal_fake.h"
#include "tests/support/log_unit.h"

#include "base/io/stream.h"
#include "base/text.h"
#include "proxy/session/expire.h"
#include "proxy/session/final_answers.h"
#include "proxy/session/invalid_line.h"
#include "proxy/session/stray.h"
#include "proxy/session/traffic.h"
#include "wire/json/text.h"

#include <sys/mman.h>

struct fixture {
    struct fake_journal journal;
    struct traffic traffic;
    struct stream peer[2]; /* memory files that the outboxes write to */
    struct buf got[2];     /* received by the peers since traffic_begin() */
    uint64_t base;         /* the last seq before traffic_begin() */
    uint64_t seq;          /* the last one */
};

static inline int traffic_set_up(void **state)
{
    static struct fixture f;
    f = (struct fixture){0};
    said_begin();
    *state = &f;
    for (int i = 0; i < 2; i++) {
        f.peer[i] = stream_take_over_fd(memfd_create("peer", MFD_CLOEXEC));
        if (f.peer[i].fd < 0)
            return -1;
    }
    fake_journal_open(&f.journal);
    return 0;
}

static inline int traffic_tear_down(void **state)
{
    struct fixture *f = *state;
    fake_journal_close(&f->journal);
    for (int i = 0; i < 2; i++) {
        stream_close(&f->peer[i]);
        buf_close(&f->got[i]);
    }
    said_end();
    return 0;
}

/* A new conversation in the same session. */
static inline void traffic_begin(struct fixture *f, enum validate v, size_t max_message)
{
    f->base = f->seq;
    traffic_open(&f->traffic, &f->journal.journal, "srv", v, max_message);
    for (int i = 0; i < 2; i++)
        buf_clear(&f->got[i]);
    buf_clear(&said);
}

static inline void traffic_end(struct fixture *f)
{
    traffic_close(&f->traffic);
}

/* The end of a loop turn, as in proxy/turn.c: commit, then release and write. */
static inline void traffic_turn(struct fixture *f)
{
    fake_journal_commit(&f->journal);
    for (int i = 0; i < 2; i++) {
        char part[65536];
        outbox_release_staged_bytes(&f->traffic.out[i]);
        assert_int_equal(outbox_flush(&f->traffic.out[i], &f->peer[i]), 0);
        assert_int_equal(lseek(f->peer[i].fd, 0, SEEK_SET), 0);
        for (ssize_t n; (n = read(f->peer[i].fd, part, sizeof part)) > 0;)
            buf_add(&f->got[i], part, (size_t)n);
        assert_int_equal(ftruncate(f->peer[i].fd, 0), 0);
        assert_int_equal(lseek(f->peer[i].fd, 0, SEEK_SET), 0);
    }
    f->seq = f->journal.seq;
}

/* 'single' to "double" quotes. */
static inline void traffic_quotes(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == '\'')
            p[i] = '"';
}

/* One line, in a chunk with one more byte. */
static inline void traffic_feed(struct fixture *f, char who, const char *text, size_t n)
{
    struct chunk *c = chunk_new(n + 1);
    assert_non_null(c);
    memcpy(c->data, text, n);
    c->data[n] = '?';
    struct line line = {c->data, n, c};
    enum row_direction dir = who == 'C' || who == 'c' ? ROW_C2S : ROW_S2C;
    if (who == 'E')
        stray_record_stderr_line(&f->traffic, &line, 0);
    else if (who == 'c' || who == 's')
        traffic_handle_last_line(&f->traffic, dir, &line);
    else if (n > f->traffic.max_message)
        traffic_handle_long_line(&f->traffic, dir, &line);
    else
        traffic_handle_line(&f->traffic, dir, &line);
    chunk_release(c);
}

static inline void traffic_say(struct fixture *f, const char *step)
{
    if (step[0] == 'W') { /* until no line of the server and no error waits */
        f->journal.now_us += INVALID_LINE_WAIT_US;
        expire_due_requests(&f->traffic);
        return;
    }
    size_t n = strlen(step) - 2;
    char *text = unit_copy(step + 2, n);
    traffic_quotes(text, n);
    traffic_feed(f, step[0], text, n);
    free(text);
}

/* The bytes that a peer has received, as above. Good until the next call for the same direction. */
static inline const char *traffic_got(struct fixture *f, enum row_direction dir)
{
    static struct buf out[2];
    struct buf *b = &out[dir];
    buf_close(b);
    struct slice all = buf_slice(&f->got[dir]);
    while (all.n > 0) {
        const char *nl = memchr(all.p, '\n', all.n);
        if (nl == NULL)
            fail_msg("no newline at the end of: %.*s", (int)all.n, all.p);
        struct slice line = {all.p, (size_t)(nl - all.p)};
        struct rpc m;
        if (rpc_read(line, &m) == 0 && m.kind == RPC_ERROR &&
            slice_is(json_get(json_get(m.error, "data"), "source").text, "\"mcp-interposer\"")) {
            struct json_value data = json_get(m.error, "data");
            struct slice uid = json_string_raw(json_get(data, "session"));
            assert_true(slice_is(uid, FAKE_UID));
            assert_int_equal(m.findings & ~FINDING(FIND_NULL_ID), 0);
            buf_addc(b, '<');
            buf_slice_add(b, m.id.text);
            buf_addc(b, ' ');
            buf_slice_add(b, m.error_code.text);
            buf_addc(b, ' ');
            buf_slice_add(b, json_string_raw(json_get(data, "cause")));
            buf_addc(b, '>');
        } else {
            buf_slice_add(b, line);
            buf_addc(b, '|');
        }
        all.p = nl + 1;
        all.n -= line.n + 1;
    }
    for (size_t i = 0; i < b->n; i++)
        if (b->p[i] == '"')
            b->p[i] = '\'';
    return buf_str(b);
}

/* The messages of these tests violate rules of MCP, which test_rules.c covers: their
 * names are removed from the rows. Good until the next call. */
static inline const char *traffic_no_rules(const char *rows)
{
    static char text[65536];
    assert_true(strlen(rows) < sizeof text);
    strcpy(text, rows);
    for (int r = 0; r < RULE_COUNT; r++) {
        size_t n = strlen(rule_name((enum rule)r));
        for (char *at = text; (at = strstr(at, rule_name((enum rule)r))) != NULL;) {
            if (at > text && at[-1] == ',')
                memmove(at - 1, at + n, strlen(at + n) + 1);
            else if (at[n] == ',')
                memmove(at, at + n + 1, strlen(at + n));
            else {
                *at = '-';
                memmove(at + 1, at + n, strlen(at + n) + 1);
            }
        }
    }
    return text;
}

static inline const char *traffic_rows(struct fixture *f)
{
    static const char *const columns[] = {"kind",       "action",    "rpc_id",
                                          "method",     "target",    "request_seq",
                                          "error_code", "batch_seq", "finding"};
    static struct buf b;
    buf_close(&b);
    for (size_t i = 0; i < f->journal.committed; i++) {
        const struct row *r = &f->journal.row[i];
        if (r->event != NULL || r->seq <= f->base)
            continue;
        buf_printf(&b, "%s%llu %s%s", b.n > 0 ? ";" : "", (unsigned long long)(r->seq - f->base),
                   row_direction_name(r->direction), r->origin == ROW_PEER ? "" : "*");
        for (size_t k = 0; k < MI_COUNT(columns); k++) {
            buf_addc(&b, ' ');
            size_t at = b.n;
            fake_add_column(&b, r, columns[k], f->base);
            for (; strcmp(columns[k], "rpc_id") == 0 && at < b.n; at++)
                if (b.p[at] == '"')
                    b.p[at] = '\'';
        }
    }
    return traffic_no_rules(buf_str(&b));
}

struct conversation {
    const char *say[8];
    const char *to_server, *to_client; /* NULL: nothing */
    const char *rows;
};

static inline void traffic_expect(size_t row, const char *what, const char *got, const char *want)
{
    if (strcmp(got, want != NULL ? want : "") != 0)
        fail_msg("row %zu, %s:\n  got    %s\n  wanted %s", row, what, got,
                 want != NULL ? want : "");
}

/* Each conversation twice: all of it in one turn, and each line in one of its own. */
static inline void traffic_play(struct fixture *f, const struct conversation *c, size_t n,
                                enum validate v, size_t max_message)
{
    for (size_t i = 0; i < 2 * n; i++) {
        const struct conversation *x = &c[i / 2];
        traffic_begin(f, v, max_message);
        for (size_t k = 0; k < MI_COUNT(x->say) && x->say[k] != NULL; k++) {
            traffic_say(f, x->say[k]);
            if (i % 2 == 1)
                traffic_turn(f);
        }
        traffic_turn(f);
        traffic_expect(i / 2, "to the server", traffic_got(f, ROW_C2S), x->to_server);
        traffic_expect(i / 2, "to the client", traffic_got(f, ROW_S2C), x->to_client);
        traffic_expect(i / 2, "rows", traffic_rows(f), x->rows);
        traffic_end(f);
    }
}

#endif
