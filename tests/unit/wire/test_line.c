/* Lines out of a byte stream: any split gives the same lines, in bounded memory. */
#include "wire/line.h"

#include "tests/support/unit.h"

/* The output of a reader as text: "text|" for a line, "text!" for a line that is too long, "text$" for a
 * last line without a newline. */
struct log {
    char text[1024];
    size_t n;
};

static void note(struct log *l, const struct line *line, char mark)
{
    assert_true(l->n + line->n + 2 < sizeof l->text);
    memcpy(l->text + l->n, line->p, line->n);
    l->n += line->n;
    l->text[l->n++] = mark;
    l->text[l->n] = '\0';
}

static void drain(struct line_reader *r, struct log *l)
{
    struct line line;
    enum line_result got;
    while ((got = line_next(r, &line)) != LINE_NEED_MORE)
        note(l, &line, got == LINE_READY ? '|' : '!');
}

static void feed(struct line_reader *r, const char *p, size_t n)
{
    while (n > 0) {
        size_t room;
        char *at = line_room(r, &room);
        assert_non_null(at);
        assert_true(room > 0);
        size_t some = size_min(n, room);
        memcpy(at, p, some);
        line_add_filled(r, some);
        p += some;
        n -= some;
    }
}

static void finish(struct line_reader *r, struct log *l)
{
    struct line line;
    if (line_take_unfinished_line(r, &line) == LINE_READY)
        note(l, &line, '$');
    assert_int_equal(line_take_unfinished_line(r, &line), LINE_NEED_MORE); /* once */
    assert_int_equal(line_next(r, &line), LINE_NEED_MORE);
}

static const struct {
    const char *text;
    size_t n;
    size_t max_len;
    const char *lines;
} streams[] = {
#define ROW(text, max_len, lines)                                                                  \
    {                                                                                              \
        text, sizeof text - 1, max_len, lines                                                      \
    }
    ROW("", 10, ""),
    ROW("\n", 10, "|"),
    ROW("\n\n\n", 10, "|||"),
    ROW("a", 10, "a$"),
    ROW("a\n", 10, "a|"),
    ROW("a\nb", 10, "a|b$"),
    ROW("{\"a\":1}\n{\"b\":2}\n", 10, "{\"a\":1}|{\"b\":2}|"),
    ROW("a\r\nb\rc\r\n", 10, "a\r|b\rc\r|"), /* only 0x0A ends a line */
    ROW("a\xe2\x80\xa8"
        "b\xc2\x85"
        "c\n",
        10,
        "a\xe2\x80\xa8"
        "b\xc2\x85"
        "c|"),
    ROW("\v\f\n\x1e\n", 10, "\v\f|\x1e|"),
    /* at the limit, and a byte over it */
    ROW("12345\n", 5, "12345|"),
    ROW("12345", 5, "12345$"),
    ROW("1234\n12345\n1\n", 5, "1234|12345|1|"),
    ROW("a\n\n", 0, "!|"),
#undef ROW
};

static void test_line_stream_split_anywhere_gives_the_same_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(streams); i++) {
        size_t n = streams[i].n;
        for (size_t a = 0; a <= n; a++)
            for (size_t b = a; b <= n; b++) {
                struct line_reader r;
                struct log l = {"", 0};
                line_open(&r, streams[i].max_len);
                feed(&r, streams[i].text, a);
                drain(&r, &l);
                feed(&r, streams[i].text + a, b - a);
                drain(&r, &l);
                feed(&r, streams[i].text + b, n - b);
                drain(&r, &l);
                finish(&r, &l);
                if (streams[i].max_len > 0) /* with 0 the reported head depends on the split */
                    assert_string_equal(l.text, streams[i].lines);
                line_close(&r);
                line_close(&r); /* safe to call twice */
            }
    }
}

static void test_line_too_long_is_reported_once_and_the_next_reads_normally(void **state)
{
    (void)state;
    const char *text = "ok\n123456789012345\nafter\n123456\n";
    size_t n = strlen(text);
    for (size_t step = 1; step <= n; step++) {
        struct line_reader r;
        struct line line;
        int ready = 0, too_long = 0;
        line_open(&r, 5);
        for (size_t at = 0; at < n; at += step) {
            feed(&r, text + at, size_min(step, n - at));
            enum line_result got;
            while ((got = line_next(&r, &line)) != LINE_NEED_MORE) {
                if (got == LINE_TOO_LONG) {
                    assert_true(line.n > 5); /* the part of it that was read */
                    assert_memory_equal(line.p, too_long == 0 ? "123456" : "123456", 6);
                    too_long++;
                } else {
                    assert_true(
                        slice_is((struct slice){line.p, line.n}, ready == 0 ? "ok" : "after"));
                    assert_int_equal(too_long, ready); /* in order */
                    ready++;
                }
            }
            if (r.skipping)
                assert_int_equal(line_count_partial_bytes(&r),
                                 0); /* discarded bytes take no memory */
        }
        assert_int_equal(ready, 2);
        assert_int_equal(too_long, 2);
        assert_int_equal(line_take_unfinished_line(&r, &line), LINE_NEED_MORE);
        line_close(&r);
    }
}

static void test_line_end_of_stream_inside_a_too_long_line_returns_nothing(void **state)
{
    (void)state;
    struct line_reader r;
    struct line line;
    line_open(&r, 5);
    feed(&r, "1234567", 7);
    assert_int_equal(line_next(&r, &line), LINE_TOO_LONG);
    feed(&r, "89", 2);
    assert_int_equal(line_next(&r, &line), LINE_NEED_MORE);
    assert_int_equal(line_take_unfinished_line(&r, &line), LINE_NEED_MORE);
    feed(&r, "next\n", 5); /* of another stream */
    assert_int_equal(line_next(&r, &line), LINE_READY);
    assert_true(slice_is((struct slice){line.p, line.n}, "next"));
    line_close(&r);
}

static void test_line_endless_line_is_rejected_in_bounded_memory(void **state)
{
    (void)state;
    struct line_reader r;
    struct line line;
    size_t max_len = (size_t)1 << 20;
    line_open(&r, max_len);
    int reported = 0;
    size_t most = 0;
    for (size_t fed = 0; fed < (size_t)64 << 20;) {
        size_t room;
        char *at = line_room(&r, &room);
        assert_non_null(at);
        memset(at, 'x', room);
        line_add_filled(&r, room);
        fed += room;
        enum line_result got;
        while ((got = line_next(&r, &line)) != LINE_NEED_MORE) {
            assert_int_equal(got, LINE_TOO_LONG);
            reported++;
        }
        if (r.chunk != NULL && r.chunk->cap > most)
            most = r.chunk->cap;
    }
    assert_int_equal(reported, 1);
    assert_true(most <= 4 * max_len);
    feed(&r, "\nnext\n", 6);
    assert_int_equal(line_next(&r, &line), LINE_READY);
    assert_true(slice_is((struct slice){line.p, line.n}, "next"));
    /* the memory of the long line is freed */
    size_t room;
    assert_non_null(line_room(&r, &room));
    assert_int_equal(r.chunk->cap, LINE_CHUNK);
    line_close(&r);
}

static void test_line_long_line_is_complete_and_its_memory_freed(void **state)
{
    (void)state;
    struct line_reader r;
    struct line line;
    line_open(&r, (size_t)16 << 20);
    size_t len = 3 * LINE_CHUNK + 17;
    char *text = malloc(len);
    assert_non_null(text);
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + i % 23);
    feed(&r, "first\n", 6);
    feed(&r, text, len);
    assert_int_equal(line_next(&r, &line), LINE_READY);
    assert_int_equal(line_count_partial_bytes(&r), len);
    assert_int_equal(line_next(&r, &line), LINE_NEED_MORE);
    feed(&r, "\nlast\n", 6);
    assert_int_equal(line_next(&r, &line), LINE_READY);
    assert_int_equal(line.n, len);
    assert_memory_equal(line.p, text, len);
    assert_int_equal(line_next(&r, &line), LINE_READY);
    assert_true(slice_is((struct slice){line.p, line.n}, "last"));
    struct chunk *large = chunk_add_reference(line.chunk);
    assert_int_equal(large->refs, 2);
    assert_int_equal(line_next(&r, &line), LINE_NEED_MORE);
    assert_int_equal(large->refs, 1); /* only the holder of the line is left */
    chunk_release(large);
    size_t room;
    assert_non_null(line_room(&r, &room));
    assert_int_equal(r.chunk->cap, LINE_CHUNK);
    free(text);
    line_close(&r);
}

static void test_line_returned_is_the_next_line_again(void **state)
{
    (void)state;
    struct line_reader r;
    struct line line;
    line_open(&r, 1000);
    feed(&r, "one\ntwo\n\npart", 13);
    assert_int_equal(line_next(&r, &line), LINE_READY);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(line_next(&r, &line), LINE_READY);
        assert_true(slice_is((struct slice){line.p, line.n}, "two"));
        line_put_back_last_line(&r, &line);
    }
    feed(&r, "ial\n", 4);
    struct log l = {"", 0};
    drain(&r, &l);
    assert_string_equal(l.text, "two||partial|");
    line_close(&r);
}

/* Wherever a long line begins, its bytes stay the same, and those read last are at the start of a page. */
static void test_line_long_line_is_read_to_whole_pages(void **state)
{
    (void)state;
    size_t n = 2 * CHUNK_LARGE + 7, most = (size_t)4 << 20;
    char *text = malloc(n);
    assert_non_null(text);
    for (size_t i = 0; i < n; i++)
        text[i] = (char)('a' + i % 23);
    for (size_t before = 0; before < 70000; before += 9973) {
        struct line_reader r;
        struct line line;
        line_open(&r, most);
        feed(&r, text, before);
        feed(&r, "\n", 1);
        assert_int_equal(line_next(&r, &line), LINE_READY);
        char *at = NULL;
        for (size_t done = 0, part; done < n; done += part) {
            at = line_room(&r, &part);
            assert_non_null(at);
            part = size_min(size_min(part, 4096), n - done);
            memcpy(at, text + done, part);
            line_add_filled(&r, part);
            if (r.chunk->cap > CHUNK_LARGE) /* each time, and the line does not move again */
                assert_int_equal((uintptr_t)at % 4096, 0);
        }
        assert_true(r.chunk->cap > CHUNK_LARGE);
        assert_true(r.head < (size_t)32 << 10);
        feed(&r, "\nnext\n", 6);
        assert_int_equal(line_next(&r, &line), LINE_READY);
        assert_int_equal(line.n, n);
        assert_memory_equal(line.p, text, n);
        assert_int_equal(line_next(&r, &line), LINE_READY);
        assert_true(slice_is((struct slice){line.p, line.n}, "next"));
        line_close(&r);
    }
    free(text);
    chunk_free_spare_memory();
}

/* The lines of a held chunk are kept, whatever is read afterwards. */
static void test_line_held_chunk_keeps_its_lines(void **state)
{
    (void)state;
    struct line_reader r;
    struct line line;
    line_open(&r, (size_t)1 << 20);
    struct {
        struct line line;
        char text[32];
    } held[64];
    struct unit_random rnd = {5};
    char part[8192];
    memset(part, 'p', sizeof part);
    for (size_t i = 0; i < MI_COUNT(held); i++) {
        int n = snprintf(held[i].text, sizeof held[i].text, "line %zu", i);
        feed(&r, held[i].text, (size_t)n);
        feed(&r, "\n", 1);
        assert_int_equal(line_next(&r, &held[i].line), LINE_READY);
        chunk_add_reference(held[i].line.chunk);
        held[i].line.p[held[i].line.n] = '\n'; /* the byte after a line belongs to it */
        size_t some = unit_random(&rnd, sizeof part);
        feed(&r, part, some);
        assert_int_equal(line_next(&r, &line), LINE_NEED_MORE);
        assert_int_equal(line_count_partial_bytes(&r), some);
        feed(&r, "\n", 1);
        assert_int_equal(line_next(&r, &line), LINE_READY);
        assert_int_equal(line.n, some);
    }
    for (size_t i = 0; i < MI_COUNT(held); i++) {
        assert_true(slice_is((struct slice){held[i].line.p, held[i].line.n}, held[i].text));
        assert_int_equal(held[i].line.p[held[i].line.n], '\n');
        chunk_release(held[i].line.chunk);
    }
    line_close(&r);
}

static void test_line_unfinished_last_line_has_room_for_a_newline(void **state)
{
    (void)state;
    struct line_reader r;
    struct line line;
    line_open(&r, (size_t)1 << 20);
    size_t room;
    char *at = line_room(&r, &room);
    assert_non_null(at);
    memset(at, 'x', room); /* as much as fits */
    line_add_filled(&r, room);
    assert_int_equal(line_next(&r, &line), LINE_NEED_MORE);
    assert_int_equal(line_take_unfinished_line(&r, &line), LINE_READY);
    assert_int_equal(line.n, room);
    line.p[line.n] = '\n';
    assert_true(line.p + line.n < line.chunk->data + line.chunk->cap);
    line_close(&r);
}

static void test_line_abandoned_is_reported_once_and_the_next_reads_normally(void **state)
{
    (void)state;
    struct line_reader r;
    struct line line;
    line_open(&r, 1000);
    assert_int_equal(line_end_too_long_line(&r, &line), LINE_NEED_MORE); /* there is no line */
    feed(&r, "half", 4);
    assert_int_equal(line_next(&r, &line), LINE_NEED_MORE);
    assert_int_equal(line_end_too_long_line(&r, &line), LINE_TOO_LONG);
    assert_true(slice_is((struct slice){line.p, line.n}, "half"));
    assert_int_equal(line_end_too_long_line(&r, &line), LINE_NEED_MORE);
    feed(&r, " and the rest\nnext\n", 19);
    assert_int_equal(line_next(&r, &line), LINE_READY);
    assert_true(slice_is((struct slice){line.p, line.n}, "next"));
    assert_int_equal(line_next(&r, &line), LINE_NEED_MORE);
    line_close(&r);
}

/* The Nth allocation fails, for every N: nothing that was read is lost, and reading continues afterwards. */
static int fail_after = -1;
void *__real_malloc(size_t n);
void *__wrap_malloc(size_t n);
void *__real_realloc(void *p, size_t n);
void *__wrap_realloc(void *p, size_t n);

static bool fails_now(void)
{
    return fail_after >= 0 && fail_after-- == 0;
}

void *__wrap_malloc(size_t n)
{
    return fails_now() ? NULL : __real_malloc(n);
}

void *__wrap_realloc(void *p, size_t n)
{
    return fails_now() ? NULL : __real_realloc(p, n);
}

/* Feeds a long line while the N-th allocation fails; true when there was no N-th. */
static bool survives_failure(int n, bool held, const char *text, size_t len, int *failures)
{
    struct line_reader r;
    struct line line, first;
    line_open(&r, len);
    feed(&r, "first\n", 6);
    assert_int_equal(line_next(&r, &first), LINE_READY);
    if (held) /* then the partial line must move to a chunk of its own */
        chunk_add_reference(first.chunk);
    bool failed = false;
    fail_after = n;
    for (size_t at = 0; at < len;) {
        size_t room = 0;
        char *to = line_room(&r, &room);
        if (to == NULL) {
            assert_false(failed); /* one failure, then it continues */
            failed = true;
            continue;
        }
        assert_true(room > 0 && room <= len * 4);
        size_t some = size_min(room, len - at);
        memcpy(to, text + at, some);
        line_add_filled(&r, some);
        at += some;
        assert_int_equal(line_next(&r, &line), LINE_NEED_MORE);
    }
    bool through = fail_after >= 0;
    fail_after = -1;
    feed(&r, "\n", 1);
    assert_int_equal(line_next(&r, &line), LINE_READY);
    assert_int_equal(line.n, len);
    assert_memory_equal(line.p, text, len);
    if (held) {
        assert_memory_equal(first.p, "first", 5);
        chunk_release(first.chunk);
    }
    line_close(&r);
    *failures += failed;
    return through;
}

static void test_line_failed_allocation_loses_nothing(void **state)
{
    (void)state;
    size_t len = 5 * LINE_CHUNK;
    char *text = malloc(len);
    assert_non_null(text);
    memset(text, 'x', len);
    for (int held = 0; held < 2; held++) {
        int failures = 0;
        for (int n = 0; !survives_failure(n, held, text, len, &failures); n++)
            continue;
        assert_true(failures >= 3);
    }
    free(text);
}

static void test_line_of_other_framings_is_named(void **state)
{
    static const findings lsp = FINDING(FIND_CONTENT_LENGTH), http = FINDING(FIND_HTTP_OVER_STDIO);
    static const struct {
        const char *line;
        findings wanted;
    } rows[] = {
        {"Content-Length: 52", lsp},
        {"HTTP/1.1 400 Bad Request", http},
        {"HTTP/2 200", http},
        {"POST /mcp HTTP/1.1", http},
        {"GET / HTTP/1.0", http},
        {"PRI * HTTP/2.0", http},
        /* a log of requests */
        {"GET /mcp HTTP/1.1 200", 0},
        {"INFO: POST /mcp HTTP/1.1", 0},
        {"POST two words HTTP/1.1", 0},
        {"POST  HTTP/1.1", 0},
        {" HTTP/1.1", 0},
        {"HTTP/1.1", 0},
        {"HTTP/", 0},
        {"HTTP server ready", 0},
        {"POST /mcp HTTP/", 0},
        {"1.1", 0},
        {"", 0},
    };
    (void)state;
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        bool seen = false;
        char *copy = unit_copy(rows[i].line, strlen(rows[i].line));
        if (line_find_other_framing((struct slice){copy, strlen(rows[i].line)}, &seen) !=
            rows[i].wanted)
            fail_msg("%s", rows[i].line);
        assert_int_equal(seen, rows[i].wanted == http);
        free(copy);
    }
    /* the headers of HTTP are not those of LSP */
    bool seen = true;
    assert_int_equal(line_find_other_framing(slice_of("Content-Length: 52"), &seen), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_line_stream_split_anywhere_gives_the_same_lines),
        cmocka_unit_test(test_line_too_long_is_reported_once_and_the_next_reads_normally),
        cmocka_unit_test(test_line_end_of_stream_inside_a_too_long_line_returns_nothing),
        cmocka_unit_test(test_line_endless_line_is_rejected_in_bounded_memory),
        cmocka_unit_test(test_line_returned_is_the_next_line_again),
        cmocka_unit_test(test_line_long_line_is_read_to_whole_pages),
        cmocka_unit_test(test_line_long_line_is_complete_and_its_memory_freed),
        cmocka_unit_test(test_line_held_chunk_keeps_its_lines),
        cmocka_unit_test(test_line_unfinished_last_line_has_room_for_a_newline),
        cmocka_unit_test(test_line_abandoned_is_reported_once_and_the_next_reads_normally),
        cmocka_unit_test(test_line_failed_allocation_loses_nothing),
        cmocka_unit_test(test_line_of_other_framings_is_named),
    };
    return cmocka_run_group_tests_name("line", tests, NULL, NULL);
}
