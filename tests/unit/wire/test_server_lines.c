/* What the lines of a server are: each kind, and one answer with a flaw at each of its bytes. ' stands for ". */
#include "wire/server_lines.h"

#include "tests/support/unit.h"
#include "wire/rpc_id.h"

#define LINES 5

/* A reader, the requests that are pending, and what it said: M a message, B a blank line, N noise, R a refused answer,
 * U one that nobody can read, ? something that was meant as a message. */
struct fixture {
    struct server_lines lines;
    bool open[10]; /* the request with this id */
    struct buf said;
    size_t answers[10]; /* messages and refusals */
    int64_t now_us;
};

static int id_of(struct json_value id)
{
    for (unsigned i = 0; i < 10; i++)
        if (rpc_id_equals_number(id, i))
            return (int)i;
    return -1;
}

static bool has(void *ctx, struct json_value id)
{
    const struct fixture *f = ctx;
    int i = id_of(id);
    return i >= 0 && f->open[i];
}

static bool has_method(void *ctx, struct json_value id, struct slice method)
{
    return has(ctx, id) && slice_is(method, "ping");
}

static void note_answer(struct fixture *f, int id, bool closes)
{
    if (id < 0)
        return;
    f->answers[id]++;
    if (closes)
        f->open[id] = false;
}

static void say(struct fixture *f, char what, struct slice text)
{
    buf_printf(&f->said, "%c ", what);
    buf_slice_add(&f->said, text);
    buf_addc(&f->said, '|');
}

static int on_line(void *ctx, const struct server_line *line)
{
    struct fixture *f = ctx;
    struct rpc m;
    switch (line->kind) {
    case SERVER_LINE_MESSAGE:
        assert_true(f->lines.rules.keep_flaws || rpc_read(line->text, &m) == 0);
        assert_int_not_equal(line->m->kind, RPC_INVALID);
        say(f, 'M', line->text);
        if (line->m->kind == RPC_RESULT || line->m->kind == RPC_ERROR)
            note_answer(f, id_of(line->id), true);
        break;
    case SERVER_LINE_BLANK:
        say(f, 'B', line->text);
        break;
    case SERVER_LINE_NOISE:
        if (line->meant.n > 0)
            say(f, '?', line->meant);
        say(f, 'N', line->text);
        break;
    case SERVER_LINE_REFUSED:
        buf_printf(&f->said, "R %d", id_of(line->id));
        say(f, ':', line->text);
        note_answer(f, id_of(line->id), true);
        break;
    case SERVER_LINE_UNREADABLE:
        buf_printf(&f->said, "U %d at %zu+%zu", id_of(line->id), line->at, line->flaw_at);
        say(f, ':', line->text);
        note_answer(f, id_of(line->id), false);
        break;
    }
    return 0;
}

static void begin(struct fixture *f, size_t max)
{
    *f = (struct fixture){.open = {[1] = true, [2] = true}, .now_us = 1000000};
    struct server_lines_rules rules = {
        .max = max, .open = {has, has_method, f}, .line = on_line, .ctx = f};
    server_lines_open(&f->lines, &rules);
}

static void end(struct fixture *f)
{
    server_lines_close(&f->lines);
    buf_close(&f->said);
}

static void take(struct fixture *f, const char *text, size_t n, findings found)
{
    char *copy = unit_copy(text, n);
    assert_int_equal(server_lines_handle_line(&f->lines, (struct slice){copy, n}, found, f->now_us),
                     0);
    free(copy);
}

static void quotes(char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        p[i] = p[i] == '\'' ? '"' : p[i];
}

struct row {
    const char *lines[LINES];
    const char *said;
};

static void play(const struct row *rows, size_t n, size_t max, bool keep_flaws, findings last)
{
    for (size_t i = 0; i < n; i++) {
        struct fixture f;
        begin(&f, max);
        f.lines.rules.keep_flaws = keep_flaws;
        for (size_t k = 0; k < LINES && rows[i].lines[k] != NULL; k++) {
            char *line = strdup(rows[i].lines[k]);
            size_t length = strlen(line);
            bool is_last = k + 1 == LINES || rows[i].lines[k + 1] == NULL;
            quotes(line, length);
            take(&f, line, length, is_last ? last : 0);
            free(line);
        }
        assert_int_equal(server_lines_flush_waiting(&f.lines, false), 0);
        assert_false(f.lines.waits);
        char *want = strdup(rows[i].said);
        quotes(want, strlen(want));
        if (strcmp(buf_str(&f.said), want) != 0)
            fail_msg("row %zu:\n  said   %s\n  wanted %s", i, buf_str(&f.said), want);
        free(want);
        end(&f);
    }
}

#define OK(id) "{'jsonrpc':'2.0','id':" id ",'result':{}}"
#define NOTE "{'jsonrpc':'2.0','method':'notifications/x'}"
#define PING(id) "{'jsonrpc':'2.0','id':" id ",'method':'ping'}"

static void test_server_lines_of_each_kind(void **state)
{
    (void)state;
    static const struct row rows[] = {
        /* valid */
        {{OK("1")}, "M " OK("1") "|"},
        {{"\xEF\xBB\xBF" OK("1") "\r"}, "M " OK("1") "|"},
        {{"", " \r"}, "B |B  |"},
        {{"[]"}, "M []|"},
        /* noise */
        {{"banner", "17", "{'level':30,'id':1}", "{'level':'caf\xE9'}", "C:\\dir {"},
         "N banner|N 17|N {'level':30,'id':1}|N {'level':'caf\xE9'}|N C:\\dir {|"},
        /* repaired */
        {{"{'jsonrpc':'2.0','id':1,'result':{'t':['\xE9',NaN,'\t']}}"},
         "M {'jsonrpc':'2.0','id':1,'result':{'t':['\xEF\xBF\xBD',null,'\\t']}}|"},
        {{"> " OK("1") " <"}, "N > |N <|M " OK("1") "|"},
        {{"INFO " OK("1")}, "N INFO |M " OK("1") "|"},
        {{"[INFO] " OK("1")}, "N [INFO] |M " OK("1") "|"},
        {{"[12:04:05] {'jsonrpc':'2.0','id':1,'result':{'t':'\xE9'}}"},
         "N [12:04:05] |M {'jsonrpc':'2.0','id':1,'result':{'t':'\xEF\xBF\xBD'}}|"},
        {{"[INFO] [db] {'jsonrpc':'2.0','id':1,'result':{'t':NaN}}"},
         "N [INFO] [db] |M {'jsonrpc':'2.0','id':1,'result':{'t':null}}|"},
        /* answers that nobody can read */
        {{"{'jsonrpc':'2.0','id':1,'result':{'t':'C:\\dir'}}"},
         "U 1 at 0+42: {'jsonrpc':'2.0','id':1,'result':{'t':'C:\\dir'}}|"},
        {{"\xEF\xBB\xBFlog {'jsonrpc':'2.0','id':1,'result':{'t':'C:\\dir'}}"},
         "N log |U 1 at 7+42: {'jsonrpc':'2.0','id':1,'result':{'t':'C:\\dir'}}|"},
        {{"[INFO] {'jsonrpc':'2.0','id':1,'result':{'t':1"},
         "N [INFO] |U 1 at 7+39: {'jsonrpc':'2.0','id':1,'result':{'t':1|"},
        {{"{'jsonrpc':'2.0','id':1}"}, "R 1: {'jsonrpc':'2.0','id':1}|"},
        {{"{'id':1,'result':{'t':'\xE9'}}"}, "R 1: {'id':1,'result':{'t':'\xE9'}}|"},
        {{"{'jsonrpc':'2.0','id':7,'result':{},'id':1}"},
         "R 1: {'jsonrpc':'2.0','id':7,'result':{},'id':1}|"},
        {{"{'jsonrpc':'2.0','id':1,'result':{},'id':7}"},
         "R 1: {'jsonrpc':'2.0','id':1,'result':{},'id':7}|"},
        {{"{'jsonrpc':'2.0','id':7,'result':{},}", "{'jsonrpc':'2.0','id':7}"},
         "? {'jsonrpc':'2.0','id':7,'result':{},}|N {'jsonrpc':'2.0','id':7,'result':{},}|"
         "N {'jsonrpc':'2.0','id':7}|"},
        /* several on one line */
        {{OK("1") OK("2")}, "R 1: " OK("1") OK("2") "|R 2: |"},
        {{OK("1") ", " OK("2")}, "R 1: " OK("1") ", " OK("2") "|R 2: |"},
        {{"log " OK("1") ", " OK("2")}, "N log |R 1: " OK("1") ", " OK("2") "|R 2: |"},
        {{"[INFO] " OK("1") ", " OK("2")}, "N [INFO] |R 1: " OK("1") ", " OK("2") "|R 2: |"},
        {{OK("1") OK("1")}, "R 1: " OK("1") OK("1") "|"},
        {{OK("1") " sent " OK("1")}, "N sent " OK("1") "|M " OK("1") "|"},
        {{OK("1") " sent, not " OK("7")}, "N sent, not " OK("7") "|M " OK("1") "|"},
        /* what the client has sent */
        {{PING("1") " received", "<- " PING("2"), "<- " PING("1") " -> " OK("1")},
         "N " PING("1") " received|N <- " PING("2") "|N <- " PING("1") " -> |M " OK("1") "|"},
        /* several lines */
        {{"{", "'jsonrpc': '2.0', 'id': 1,\r", "", "'result': {'t': 'a", "b'}} ok"},
         "N ok|M {'jsonrpc': '2.0', 'id': 1,'result': {'t': 'a\\nb'}}|"},
        {{"{'jsonrpc':'2.0','id':1,", NOTE}, "U 1 at 0+24: {'jsonrpc':'2.0','id':1,|M " NOTE "|"},
        {{"{'jsonrpc':'2.0','id':1,", "log", OK("1")},
         "U 1 at 0+24: {'jsonrpc':'2.0','id':1,|N log|M " OK("1") "|"},
        {{"{'jsonrpc':'2.0','id':1,", "'result':{}} " OK("2")},
         "R 1: {'jsonrpc':'2.0','id':1,\n'result':{}} " OK("2") "|R 2: |"},
        {{"{'jsonrpc':'2.0','id':7,", "'result':{}"},
         "? {'jsonrpc':'2.0','id':7,\n'result':{}|N {'jsonrpc':'2.0','id':7,|N 'result':{}|"},
        {{"{", "  level: 1", "}"}, "N {|N   level: 1|N }|"},
    };
    play(rows, MI_COUNT(rows), 1 << 20, false, 0);
}

static void test_server_lines_keep_flaws_that_are_not_to_be_repaired(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{"{'jsonrpc':'2.0','id':1,'result':{'t':'\xE9'}} ok"},
         "M {'jsonrpc':'2.0','id':1,'result':{'t':'\xE9'}} ok|"},
        {{"{'jsonrpc':'2.0',", "'id':1,'result':{}} ok"},
         "M {'jsonrpc':'2.0',\n'id':1,'result':{}} ok|"},
        {{"log " OK("1")}, "N log |M " OK("1") "|"},
        {{"{'id':1,'result':NaN} ok"}, "R 1: {'id':1,'result':NaN} ok|"},
    };
    play(rows, MI_COUNT(rows), 1 << 20, true, 0);
}

static void test_server_lines_limit_a_message_over_several_lines(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{"{'id':1,'result':[", "1,1,1,1,", "1,1,1,1,", "]}"},
         "U 1 at 0+27: {'id':1,'result':[\n1,1,1,1,|N 1,1,1,1,|N ]}|"},
    };
    play(rows, MI_COUNT(rows), 30, false, 0);
    struct fixture f;
    begin(&f, 1 << 20);
    take(&f, "{", 1, 0);
    assert_int_equal(f.lines.until_us, f.now_us + SERVER_LINES_WAIT_US);
    int64_t since_us = f.now_us;
    for (; f.now_us < since_us + 2 * SERVER_LINES_WAIT_MAX_US; f.now_us += SERVER_LINES_WAIT_US / 2)
        take(&f, "", 0, 0);
    assert_int_equal(f.lines.until_us, since_us + SERVER_LINES_WAIT_MAX_US);
    end(&f);
}

static void test_server_lines_cut_by_the_end_of_the_output_are_noise(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {{"{'jsonrpc':'2.0','id':1,"}, "N {'jsonrpc':'2.0','id':1,|"},
        {{"{'jsonrpc':'2.0','id':1,'result':{'t':'\\u00"},
         "N {'jsonrpc':'2.0','id':1,'result':{'t':'\\u00|"},
        {{"{'jsonrpc':'2.0','id':1,'result':{'t':'C:\\d"},
         "U 1 at 0+42: {'jsonrpc':'2.0','id':1,'result':{'t':'C:\\d|"},
        {{OK("1")}, "M " OK("1") "|"},
    };
    play(rows, MI_COUNT(rows), 1 << 20, false, FINDING(FIND_NO_NEWLINE));
    struct fixture f;
    begin(&f, 1 << 20);
    take(&f, "{\"id\":1,", 8, 0);
    take(&f, "\"result\":", 9, 0);
    assert_int_equal(server_lines_flush_waiting(&f.lines, true), 0);
    assert_string_equal(buf_str(&f.said), "N {\"id\":1,|N \"result\":|");
    end(&f);
}

/* ---- one flaw at each byte ------------------------------------------------------------------ */

#define BEGIN "{'jsonrpc':'2.0','id':1,"
static const char answer[] =
    BEGIN "'result':{'t':'caf\xC3\xA9 \\u00e9','n':[1,-2.5e3,true,null,{'id':2}],'e':{}}}";

/* Plays lines, divided by newlines: whatever the flaw is, the request has one outcome. */
static void expect_one_outcome(const char *text, size_t n, size_t flaw_at)
{
    struct fixture f;
    begin(&f, 1 << 20);
    for (size_t i = 0; i <= n;) {
        const char *nl = i < n ? memchr(text + i, '\n', n - i) : NULL;
        size_t length = nl != NULL ? (size_t)(nl - text) - i : n - i;
        take(&f, text + i, length, 0);
        i += length + 1;
    }
    assert_int_equal(server_lines_flush_waiting(&f.lines, false), 0);
    if (flaw_at >= sizeof BEGIN - 1 && f.answers[1] != 1)
        fail_msg("%zu outcomes of %.*s:\n%s", f.answers[1], (int)n, text, buf_str(&f.said));
    if (f.answers[2] != 0 || f.answers[1] > 1)
        fail_msg("%.*s:\n%s", (int)n, text, buf_str(&f.said));
    end(&f);
}

static void test_server_lines_with_a_flaw_at_any_byte_answer_their_request(void **state)
{
    (void)state;
    static const char marks[] = "{}[]\",:\\' \t\x01\xE9\xC3\nN0";
    char text[2 * sizeof answer];
    size_t n = sizeof answer - 1;
    char clean[sizeof answer];
    memcpy(clean, answer, sizeof answer);
    quotes(clean, n);
    expect_one_outcome(clean, n, n);
    for (size_t at = 0; at < n; at++) {
        memcpy(text, clean, n);
        for (size_t i = 0; i < sizeof marks - 1; i++) { /* replaced */
            text[at] = marks[i];
            expect_one_outcome(text, n, at);
        }
        for (size_t i = 0; i < sizeof marks - 1; i++) { /* inserted */
            memcpy(text, clean, at);
            text[at] = marks[i];
            memcpy(text + at + 1, clean + at, n - at);
            expect_one_outcome(text, n + 1, at);
        }
        expect_one_outcome(clean, at, at); /* cut off */
        memcpy(text, clean, at);           /* cut out */
        memcpy(text + at, clean + at + 1, n - at - 1);
        expect_one_outcome(text, n - 1, at);
        memcpy(text + at, clean, n); /* twice, from the beginning */
        expect_one_outcome(text, at + n, at);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_server_lines_of_each_kind),
        cmocka_unit_test(test_server_lines_keep_flaws_that_are_not_to_be_repaired),
        cmocka_unit_test(test_server_lines_limit_a_message_over_several_lines),
        cmocka_unit_test(test_server_lines_cut_by_the_end_of_the_output_are_noise),
        cmocka_unit_test(test_server_lines_with_a_flaw_at_any_byte_answer_their_request),
    };
    return cmocka_run_group_tests_name("server_lines", tests, NULL, NULL);
}
