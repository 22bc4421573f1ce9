/* The arguments in the log directory are the same, whether it sanitizes them or knows that their request is clean. */
#include "record/process/log_directory.h"

#include "tests/support/unit.h"

#include "base/text.h"
#include "tests/redact/corpus.h"
#include "vault/store/sanitize.h"

static const char *const keys[] = {"q", "text", "password", "name", "arguments", "data", "headers"};
static const char *const methods[] = {"tools/call", "prompts/get", "tools\\/call"};

struct fixture {
    struct row_sanitizer sanitizer;
    struct log_directory log;
    uint64_t seq;
    size_t left, changed; /* requests that the sanitizer has left as they were, or changed */
};

/* What record/process/entries.c does when the request is stored. */
static void store_request(struct fixture *f, struct slice request, const char *method)
{
    struct row r = {.kind = KIND_REQUEST,
                    .seq = f->seq,
                    .method = slice_of(method),
                    .body = request,
                    .size = request.n};
    struct sanitized_row clean;
    f->sanitizer.level = f->log.level;
    assert_int_equal(sanitize_row(&f->sanitizer, &r, &clean), 0);
    bool left = clean.body.p == request.p && clean.body.n == request.n;
    log_directory_keep_arguments(&f->log, f->seq, clean.body, left);
    const struct kept_arguments *k = &f->log.request[f->seq % LOG_DIRECTORY_REQUESTS];
    f->left += k->seq == f->seq && left;
    f->changed += k->seq == f->seq && !left;
}

/* The line, which the caller frees. */
static char *line_of(struct fixture *f, const struct invocation *x)
{
    log_directory_discard_lines(&f->log);
    log_directory_add_call(&f->log, x);
    assert_true(f->log.lines.n > 0);
    return unit_copy(buf_str(&f->log.lines), f->log.lines.n + 1);
}

static void compare_lines(struct fixture *f, struct slice arguments, const char *method)
{
    struct buf request = {0};
    f->seq++;
    buf_printf(&request,
               "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\",\"params\":{\"name\":\"it\","
               "\"arguments\":",
               (int)f->seq, method);
    buf_slice_add(&request, arguments);
    buf_adds(&request, "}}");
    struct invocation x = {.wall_us = 1,
                           .seq = f->seq,
                           .method = slice_of(method),
                           .target = slice_of("it"),
                           .arguments = arguments,
                           .arguments_n = arguments.n};
    char *sanitized = line_of(f, &x);
    store_request(f, buf_slice(&request), method);
    char *line = line_of(f, &x);
    assert_string_equal(line, sanitized);
    free(line);
    free(sanitized);
    buf_close(&request);
}

static void compare_case(struct fixture *f, const struct corpus_case *k)
{
    struct buf arguments = {0}, inner = {0};
    for (size_t i = 0; i < MI_COUNT(keys) * 2; i++) {
        buf_clear(&arguments);
        buf_printf(&arguments, "{\"%s\":", keys[i / 2]);
        if (i % 2 == 0) {
            text_append_json(&arguments, (struct slice){k->text, k->n});
        } else { /* JSON in a string */
            buf_clear(&inner);
            buf_adds(&inner, "{\"value\":");
            text_append_json(&inner, (struct slice){k->text, k->n});
            buf_adds(&inner, ",\"name\":\"x\"}");
            text_append_json(&arguments, buf_slice(&inner));
        }
        buf_adds(&arguments, ",\"more\":[1,true]}");
        compare_lines(f, buf_slice(&arguments), methods[(k->line + i) % MI_COUNT(methods)]);
    }
    buf_close(&arguments);
    buf_close(&inner);
}

static void compare_corpus(const char *name, bool rules, enum record_level level, size_t *ret_left,
                           size_t *ret_changed)
{
    struct fixture f = {.seq = 0};
    struct corpus c;
    log_directory_open(&f.log, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "files");
    f.log.level = level;
    corpus_open(&c, name);
    for (size_t n = 0; corpus_next(&c, rules);)
        if (n++ % unit_sample(unit_slow() ? 20 : 2) == 0)
            compare_case(&f, &c.now);
    corpus_close(&c);
    *ret_left = f.left;
    *ret_changed = f.changed;
    log_directory_close(&f.log);
    sanitize_close(&f.sanitizer);
}

static void test_log_arguments_are_the_same_for_each_secret_and_lookalike(void **state)
{
    (void)state;
    static const enum record_level levels[] = {RECORD_FULL, RECORD_STANDARD};
    for (size_t i = 0; i < MI_COUNT(levels); i++) {
        size_t left, changed;
        compare_corpus("tests/redact/secrets.txt", true, levels[i], &left, &changed);
        assert_true(changed > 100);
        compare_corpus("tests/redact/lookalikes.txt", false, levels[i], &left, &changed);
        assert_true(left > 100);
    }
}

static void test_log_arguments_are_sanitized_if_they_are_not_known(void **state)
{
    (void)state;
    struct log_directory a;
    log_directory_open(&a, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "files");
    struct invocation x = {.wall_us = 1,
                           .seq = 5,
                           .method = slice_of("tools/call"),
                           .arguments = slice_of("{\"password\":\"hunter2hunter2\"}")};
    x.arguments_n = x.arguments.n;
    static const char body[] =
        "{\"params\":{\"arguments\":{\"password\":\"[redacted:password]\"}}}";
    log_directory_keep_arguments(&a, 5 + LOG_DIRECTORY_REQUESTS, slice_of("{}"),
                                 true); /* the same place */
    log_directory_add_call(&a, &x);
    assert_null(strstr(buf_str(&a.lines), "hunter2"));
    log_directory_discard_lines(&a);
    x.seq = 0; /* no request */
    log_directory_add_call(&a, &x);
    assert_null(strstr(buf_str(&a.lines), "hunter2"));
    log_directory_discard_lines(&a);
    x.seq = 5;
    x.arguments_n++; /* truncated: what is left may look like something else */
    log_directory_keep_arguments(&a, 5, slice_of("{}"), true);
    log_directory_add_call(&a, &x);
    assert_null(strstr(buf_str(&a.lines), "hunter2"));
    log_directory_discard_lines(&a);
    log_directory_keep_arguments(
        &a, 5, slice_of("{\"params\":{\"arguments\":{\"text\":\"as stored\"}}}"), false);
    log_directory_add_call(&a, &x);
    assert_non_null(
        strstr(buf_str(&a.lines), "\"arguments\":{\"text\":\"as stored\"}")); /* whole */
    log_directory_discard_lines(&a);
    x.arguments_n--;
    log_directory_keep_arguments(&a, 5, slice_of(body), false);
    for (size_t n = 0; n <= LOG_DIRECTORY_KEPT; n += sizeof body) /* until they are overwritten */
        log_directory_keep_arguments(&a, 6, slice_of(body), false);
    log_directory_add_call(&a, &x);
    assert_null(strstr(buf_str(&a.lines), "hunter2"));
    log_directory_discard_lines(&a);
    static const char *const others[] = {"",
                                         " {\"params\":{\"arguments\":{}}}",
                                         "{}",
                                         "{\"params\":[]}",
                                         "{\"params\":{}}",
                                         "{\"params\":{\"arguments\":7}}",
                                         "[]",
                                         "{\"arguments\":{\"password\":\"hunter2\"},\"params\":7}"};
    for (size_t i = 0; i < MI_COUNT(others); i++) {
        char *copy = unit_copy(others[i], strlen(others[i])); /* no byte behind it is read */
        log_directory_keep_arguments(&a, 5, (struct slice){copy, strlen(others[i])}, false);
        free(copy);
        log_directory_add_call(&a, &x);
        assert_null(strstr(buf_str(&a.lines), "hunter2"));
        assert_non_null(strstr(buf_str(&a.lines), "[redacted:"));
        log_directory_discard_lines(&a);
    }
    log_directory_close(&a);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_arguments_are_the_same_for_each_secret_and_lookalike),
        cmocka_unit_test(test_log_arguments_are_sanitized_if_they_are_not_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
