#include "tests/unit/ui/detail_unit.h"

#include <stdlib.h>

static void test_detail_json_is_indented(void **state)
{
    (void)state;
    static const struct {
        const char *body, *lines;
    } samples[] = {
        {"{\"a\":1,\"b\":[true, null ,\"x\"],\"c\":{},\"d\" : [ ] }", "  - {\n"
                                                                      "      \"a\": 1,\n"
                                                                      "    - \"b\": [\n"
                                                                      "        true,\n"
                                                                      "        null,\n"
                                                                      "        \"x\"\n"
                                                                      "      ],\n"
                                                                      "      \"c\": {},\n"
                                                                      "      \"d\": []\n"
                                                                      "    }\n"},
        {" [ {} ] ", "  - [\n      {}\n    ]\n"},
        {"{}", "    {}\n"},
        {"[[1],[2]]", "  - [\n    - [\n        1\n      ],\n    - [\n        2\n      ]\n    ]\n"},
        {"{\"a\\\"b\":\"c\\\\\"}", "  - {\n      \"a\\\"b\": \"c\\\\\"\n    }\n"},
        {"{\"e\":\"\x1b\xe2\x80\xae\"}", "  - {\n      \"e\": \"\\x1b\\u{202e}\"\n    }\n"},
        /* invalid JSON: as far as it goes */
        {"{\"a\":", "  - {\n      \"a\"\n"},
        {"{\"a\":}", "  - {\n      \"a\"\n    }\n"},
        {"{\"a", "  - {\n      \"a\n"},
        {"[1,,x}]]", "  - [\n      1,\n      x\n    }\n    ]\n    ]\n"},
        {"[\"a\\", "  - [\n      \"a\\\n"},
        {"{", "  - {\n"},
        {"[:,", "  - [\n"},
    };
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        struct unit_doc u;
        unit_doc(&u, KIND_REQUEST, samples[i].body);
        unit_expect(u.d, u.first + 1, samples[i].lines);
        unit_doc_close(&u);
    }
}

static void test_detail_text_that_is_not_json_is_wrapped(void **state)
{
    (void)state;
    struct unit_doc u;
    unit_doc(&u, KIND_NOISE, "Listening on a port\tx\n\nwarning: the quick brown fox jumps");
    unit_expect(u.d, u.first + 1,
                "  Listening on a port     x\n\n  warning: the quick brown fox jumps\n");
    detail_set_width(u.d, 18, true);
    unit_expect(u.d, u.first + 1,
                "  Listening on a\n  port    x\n\n  warning: the\n  quick brown fox\n  jumps\n");
    detail_set_width(u.d, 0, true);
    unit_expect(u.d, u.first + 1,
                "  Listening on a port     x\n\n  warning: the quick brown fox jumps\n");
    unit_doc_close(&u);
    unit_doc(&u, KIND_NOISE, "{\"level\":\"info\"}"); /* but this is */
    unit_expect(u.d, u.first + 1, "  - {\n      \"level\": \"info\"\n    }\n");
    unit_doc_close(&u);
    unit_doc(&u, KIND_NOISE, "{level: info}");
    unit_expect(u.d, u.first + 1, "  {level: info}\n");
    unit_doc_close(&u);
}

static size_t fold(struct detail *d, size_t line, enum detail_fold how)
{
    size_t at = 0;
    assert_int_equal(detail_fold_line(d, line, how, &at), 0);
    return at;
}

static void test_detail_fold_and_unfold(void **state)
{
    (void)state;
    struct unit_doc u;
    size_t line;
    unit_doc(&u, KIND_REQUEST, "{\"a\":{\"b\":[1,2],\"c\":3},\"d\":[{}]}");
    size_t f = u.first + 1;
    assert_int_equal(fold(u.d, f + 3, DETAIL_TOGGLE), f + 2); /* the 1 folds its array */
    unit_expect(u.d, f,
                "  - {\n    - \"a\": {\n      + \"b\": [...] 2 items,\n        \"c\": 3\n      },\n"
                "    - \"d\": [\n        {}\n      ]\n    }\n");
    assert_int_equal(fold(u.d, f + 2, DETAIL_FOLD), f + 1); /* it is folded: the object around it */
    unit_expect(u.d, f,
                "  - {\n    + \"a\": {...} 2 keys,\n    - \"d\": [\n        {}\n      ]\n    }\n");
    assert_int_equal(detail_fold_line(u.d, f + 3, DETAIL_UNFOLD, &line),
                     MI_ENOENT);                            /* nothing to unfold */
    assert_int_equal(fold(u.d, f + 4, DETAIL_FOLD), f + 2); /* a closing bracket */
    assert_int_equal(fold(u.d, f + 3, DETAIL_TOGGLE), f);
    unit_expect(u.d, f, "  + {...} 2 keys\n");
    assert_int_equal(fold(u.d, f, DETAIL_FOLD), u.first); /* the part */
    unit_expect(u.d, u.first, "+ -> request 7  +1.50s  32B\n");
    assert_int_equal(fold(u.d, u.first, DETAIL_UNFOLD), u.first);
    assert_int_equal(fold(u.d, f, DETAIL_UNFOLD), f);
    unit_expect(u.d, f, "  - {\n    + \"a\": {...} 2 keys,\n    + \"d\": [...] 1 item\n    }\n");
    detail_fold_from_depth(u.d, 2);
    unit_expect(u.d, f,
                "  - {\n    - \"a\": {\n      + \"b\": [...] 2 items,\n        \"c\": 3\n      },\n"
                "    - \"d\": [\n        {}\n      ]\n    }\n");
    detail_fold_from_depth(u.d, 0);
    unit_expect(u.d, f, "  + {...} 2 keys\n");
    detail_fold_from_depth(u.d, SIZE_MAX);
    assert_int_equal(detail_count_exact_lines(u.d), f + 12);
    unit_doc_close(&u);
}

static void test_detail_strings_unfold_as_lines_and_json(void **state)
{
    (void)state;
    struct unit_doc u;
    size_t line;
    unit_doc(&u, KIND_REQUEST,
             "{\"t\":\"one\\ntwo \\u001b\\ud83d\\ude00\",\"j\":\" "
             "{\\\"k\\\":[\\\"x\\\\ny\\\"]}\",\"s\":\"short\"}");
    size_t f = u.first + 1;
    assert_int_equal(fold(u.d, f + 2, DETAIL_UNFOLD), f + 2);
    unit_expect(u.d, f,
                "  - {\n"
                "    + \"t\": \"one\\ntwo \\u001b\\ud83d\\ude00\",\n"
                "    - \"j\": JSON, 15B,\n"
                "      | - {\n"
                "      |   - \"k\": [\n"
                "      |     + \"x\\ny\"\n"
                "      |     ]\n"
                "      |   }\n"
                "      \"s\": \"short\"\n"
                "    }\n");
    assert_int_equal(fold(u.d, f + 5, DETAIL_UNFOLD), f + 5); /* a string in a string */
    assert_int_equal(fold(u.d, f + 1, DETAIL_UNFOLD), f + 1);
    unit_expect(u.d, f,
                "  - {\n"
                "    - \"t\": text, 13B,\n"
                "      | one\n"
                "      | two \\x1b\\u{1f600}\n"
                "    - \"j\": JSON, 15B,\n"
                "      | - {\n"
                "      |   - \"k\": [\n"
                "      |     - text, 3B\n"
                "      |       | x\n"
                "      |       | y\n"
                "      |     ]\n"
                "      |   }\n"
                "      \"s\": \"short\"\n"
                "    }\n");
    struct buf b = {0};
    assert_int_equal(detail_copy(u.d, f + 3, DETAIL_COPY_VALUE, &b), 0);
    assert_string_equal(buf_str(&b), "one\ntwo \x1b\xf0\x9f\x98\x80");
    buf_clear(&b);
    assert_int_equal(detail_copy(u.d, f + 9, DETAIL_COPY_VALUE, &b), 0);
    assert_string_equal(buf_str(&b), "x\ny");
    buf_clear(&b);
    assert_int_equal(detail_copy(u.d, f + 9, DETAIL_COPY_POINTER, &b), 0);
    assert_string_equal(buf_str(&b), "/j");
    buf_close(&b);
    assert_int_equal(fold(u.d, f + 9, DETAIL_FOLD), f + 7); /* the inner string */
    assert_int_equal(fold(u.d, f + 7, DETAIL_FOLD), f + 6); /* then what is around it, one by one */
    assert_int_equal(fold(u.d, f + 6, DETAIL_FOLD), f + 5);
    assert_int_equal(fold(u.d, f + 5, DETAIL_FOLD), f + 4);
    assert_int_equal(fold(u.d, f + 4, DETAIL_FOLD), f);
    unit_expect(u.d, f, "  + {...} 3 keys\n");
    assert_int_equal(fold(u.d, f, DETAIL_UNFOLD), f);
    assert_int_equal(detail_fold_line(u.d, detail_count_exact_lines(u.d) - 2, DETAIL_UNFOLD, &line),
                     MI_ENOENT); /* "short" */
    unit_doc_close(&u);
}

static void test_detail_text_of_a_result_is_unfolded(void **state)
{
    (void)state;
    struct unit_doc u;
    unit_doc(
        &u, KIND_RESULT,
        "{\"result\":{\"content\":[{\"type\":\"image\"},{\"type\":\"text\",\"text\":\"a\\nb\"}]}}");
    unit_expect(u.d, u.first + 1,
                "  - {\n"
                "    - \"result\": {\n"
                "      - \"content\": [\n"
                "        - {\n"
                "            \"type\": \"image\"\n"
                "          },\n"
                "        - {\n"
                "            \"type\": \"text\",\n"
                "          - \"text\": text, 3B\n"
                "            | a\n"
                "            | b\n"
                "          }\n"
                "        ]\n"
                "      }\n"
                "    }\n");
    unit_doc_close(&u);
}

static void test_detail_of_long_json_begins_with_an_overview(void **state)
{
    (void)state;
    struct unit_doc u;
    struct buf b = {0};
    buf_adds(
        &b,
        "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"a\\nb\"},{\"n\":1}],\"rows\":[[");
    while (b.n < 100000)
        buf_adds(&b, "12345678,");
    buf_adds(&b, "1]]}}");
    unit_doc(&u, KIND_RESULT, buf_str(&b));
    unit_expect(u.d, u.first + 1,
                "  - {\n"
                "    - \"result\": {\n"
                "      - \"content\": [\n"
                "        - {\n"
                "            \"type\": \"text\",\n"
                "          - \"text\": text, 3B\n"
                "            | a\n"
                "            | b\n"
                "          },\n"
                "        + {...} 1 key\n"
                "        ],\n"
                "      - \"rows\": [\n"
                "        + [...] 11105 items\n"
                "        ]\n"
                "      }\n"
                "    }\n");
    unit_doc_close(&u);
    buf_clear(&b);
    buf_adds(&b, "{\"params\":{\"rows\":[");
    while (b.n < (2 << 20))
        buf_adds(&b, "12345678,");
    buf_adds(&b, "1]}}");
    unit_doc(&u, KIND_REQUEST, buf_str(&b));
    unit_expect(
        u.d, u.first + 1,
        "  - {\n    - \"params\": {\n      + \"rows\": [...] 233016 items\n      }\n    }\n");
    unit_doc_close(&u);
    buf_close(&b);
}

/* A call of a tool with this answer; the documents of the next tests. */
static const char request_text[] =
    "{\"jsonrpc\":\"2.0\",\"id\":12,\"method\":\"tools/call\",\"params\":{\"name\":\"echo\","
    "\"arguments\":{\"a\":1,\"b\":{\"c\":\"needle\"}}}}";

struct call_doc {
    struct detail *d;
    struct detail_message m[2];
    struct detail_subject s;
};

static void call_doc(struct call_doc *u, enum row_kind kind, enum call_status status,
                     const char *answer)
{
    *u = (struct call_doc){.m = {{.seq = 3,
                                  .from_client = true,
                                  .kind = KIND_REQUEST,
                                  .method = {"tools/call", 10},
                                  .target = {"echo", 4},
                                  .size = 100,
                                  .body = slice_of(request_text)},
                                 {.seq = 4, .kind = kind, .size = 100, .body = slice_of(answer)}}};
    u->s = (struct detail_subject){
        .is_call = true, .status = status, .duration_us = 1000, .message = u->m, .messages_n = 2};
    assert_int_equal(detail_open(&u->d, &u->s), 0);
    detail_set_width(u->d, 60, true);
}

#define ARGUMENTS                                                                                  \
    "- arguments\n      \"a\": 1,\n    - \"b\": {\n        \"c\": \"needle\"\n      }\n"
#define ENVELOPE(kind) "+ about the call\n+ -> request 3  +0us  100B\n+ <- " kind " 4  +0us  100B\n"

static void test_detail_call_begins_with_what_was_asked_and_answered(void **state)
{
    (void)state;
    static const struct {
        enum row_kind kind;
        enum call_status status;
        const char *answer, *lines;
    } samples[] = {
        {KIND_RESULT, CALL_OK,
         "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"one\\ntwo\"},{\"type\":\"image\"}"
         "]}}",
         "- tools/call echo\n  Status    ok after 1.00ms\n" ARGUMENTS
         "- result\n  one\n  two\n- result\n      \"type\": \"image\"\n" ENVELOPE("result")},
        {KIND_RESULT, CALL_OK,
         "{\"result\":{\"content\":[{\"type\":\"image\",\"mimeType\":\"image/"
         "png\",\"data\":\"AAAA\"},"
         "{\"data\":\"\",\"mimeType\":\"x\\u001b/a-very-long-name-of-a-type\"}]}}",
         "- tools/call echo\n  Status    ok after 1.00ms\n" ARGUMENTS
         "- result, image/png, 3B\n      \"type\": \"image\",\n      \"mimeType\": \"image/png\",\n"
         "      \"data\": \"AAAA\"\n"
         "- result, x\\u001b/a-very-long-, 0B\n      \"data\": \"\",\n"
         "      \"mimeType\": \"x\\u001b/a-very-long-name-of-a-type\"\n" ENVELOPE("result")},
        {KIND_RESULT, CALL_OK,
         "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"[7]\"}],\"structuredContent\":{"
         "\"k\":[]}}}",
         "- tools/call echo\n  Status    ok after 1.00ms\n" ARGUMENTS
         "- result\n      7\n- structured result\n      \"k\": []\n" ENVELOPE("result")},
        {KIND_RESULT, CALL_OK, "{\"result\":{}}",
         "- tools/call echo\n  Status    ok after 1.00ms\n" ARGUMENTS
         "- result\n    {}\n" ENVELOPE("result")},
        /* of a failed call the error comes first */
        {KIND_RESULT, CALL_TOOL_ERROR,
         "{\"result\":{\"isError\":true,\"content\":[{\"type\":\"text\",\"text\":\"no such "
         "file\"}]}}",
         "- tools/call echo\n  Status    tool-error after 1.00ms\n- error\n  no such "
         "file\n" ARGUMENTS ENVELOPE("result")},
        {KIND_ERROR, CALL_ERROR,
         "{\"error\":{\"code\":-32602,\"message\":\"wrong\",\"data\":{\"x\":1}}}",
         "- tools/call echo\n  Status    error after 1.00ms\n- error -32602\n  wrong\n"
         "- error data\n      \"x\": 1\n" ARGUMENTS ENVELOPE("error")},
        /* not a message: as it is */
        {KIND_RESULT, CALL_OK, "{\"result\":",
         "- tools/call echo\n  Status    ok after 1.00ms\n" ARGUMENTS
         "+ about the call\n+ -> request 3  +0us  100B\n- <- result 4  +0us  100B\n"
         "  - {\n      \"result\"\n"},
    };
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        struct call_doc u;
        call_doc(&u, samples[i].kind, samples[i].status, samples[i].answer);
        unit_expect(u.d, 0, samples[i].lines);
        detail_close(u.d);
    }
}

static void test_detail_values_of_a_call_are_folded_searched_and_copied(void **state)
{
    (void)state;
    static const struct {
        size_t line;
        const char *value, *pointer;
    } copies[] = {
        {2, "{\"a\":1,\"b\":{\"c\":\"needle\"}}", "/params/arguments"},
        {3, "1", "/params/arguments/a"},
        {5, "needle", "/params/arguments/b/c"},
        {7, "[1]\n", "/result/content/0/text"},
        {8, "1", "/result/content/0/text"},
        {9, "x\n", "/result/content/1/text"},
        {10, "x\n", "/result/content/1/text"},
    };
    struct call_doc u;
    struct detail_hit hit;
    struct buf b = {0};
    size_t line;
    call_doc(&u, KIND_RESULT, CALL_OK,
             "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"[1]\\n\"},"
             "{\"type\":\"text\",\"text\":\"x\\n\"}]}}");
    for (size_t i = 0; i < MI_COUNT(copies); i++) {
        buf_clear(&b);
        assert_int_equal(detail_copy(u.d, copies[i].line, DETAIL_COPY_VALUE, &b), 0);
        assert_string_equal(buf_str(&b), copies[i].value);
        buf_clear(&b);
        assert_int_equal(detail_copy(u.d, copies[i].line, DETAIL_COPY_POINTER, &b), 0);
        assert_string_equal(buf_str(&b), copies[i].pointer);
        buf_clear(&b);
        assert_int_equal(detail_copy(u.d, copies[i].line, DETAIL_COPY_BODY, &b), 0);
        assert_string_equal(buf_str(&b), copies[i].line < 7 ? request_text : buf_str(&b));
        assert_int_equal(detail_seq_at_line(u.d, copies[i].line), copies[i].line < 7 ? 3 : 4);
    }
    /* what has a part of its own is not found again in the folded message */
    assert_int_equal(detail_search(u.d, slice_of("needle"), 0, true, &hit), 0);
    assert_int_equal(hit.line, 5);
    assert_false(hit.wrapped);
    assert_int_equal(detail_search(u.d, slice_of("needle"), 5, true, &hit), 0);
    assert_int_equal(hit.line, 5);
    assert_true(hit.wrapped);
    assert_int_equal(detail_search(u.d, slice_of("needle"), 5, false, &hit), 0);
    assert_int_equal(hit.line, 5);
    /* but the rest of the message is, and it is unfolded */
    size_t end = detail_count_exact_lines(u.d);
    assert_int_equal(detail_search(u.d, slice_of("jsonrpc"), 0, true, &hit), 0);
    assert_true(hit.line > 11 && detail_count_exact_lines(u.d) > end);
    /* its root has no brackets: a member folds the part */
    assert_int_equal(detail_fold_line(u.d, 3, DETAIL_TOGGLE, &line), 0);
    assert_int_equal(line, 2);
    assert_int_equal(detail_fold_line(u.d, 2, DETAIL_TOGGLE, &line), 0);
    assert_int_equal(detail_fold_line(u.d, 5, DETAIL_TOGGLE, &line), 0);
    assert_int_equal(line, 4);
    detail_fold_from_depth(u.d, 0);
    assert_int_equal(detail_copy(u.d, 3, DETAIL_COPY_POINTER, &b), 0);
    detail_fold_from_depth(u.d, SIZE_MAX);
    struct cells c = {0};
    assert_string_equal(unit_line(u.d, 11, &c), "- about the call");
    cells_close(&c);
    buf_close(&b);
    detail_close(u.d);
}

/* An escape is not cut, wherever the shown beginning of a long text ends. */
static void test_detail_beginning_of_a_long_content_is_shown(void **state)
{
    (void)state;
    static const char escape[] = "\\ud83d\\ude00", character[] = "\xF0\x9F\x98\x80";
    static const struct {
        size_t
            bytes; /* of the text; a message of more than DETAIL_VALUES_MAX is not read to its end */
        enum row_kind kind;
        enum call_status status;
        const char *before, *after, *title, *pointer;
    } samples[] = {
        {DETAIL_TEXT_MAX + 100, KIND_RESULT, CALL_OK, "{\"result\":{\"content\":[{\"text\":\"",
         "\"}]}}", "- result, the first 25", "/result/content/0/text"},
        {DETAIL_VALUES_MAX + 100, KIND_RESULT, CALL_OK,
         "{\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"", "\"}]}}",
         "- result, the first 25", "/result/content/0/text"},
        {DETAIL_VALUES_MAX + 100, KIND_RESULT, CALL_TOOL_ERROR,
         "{\"result\":{\"isError\":true,\"content\":[{\"text\":\"", "\"}]}}",
         "- error, the first 25", "/result/content/0/text"},
        {DETAIL_VALUES_MAX + 100, KIND_ERROR, CALL_ERROR, "{\"error\":{\"code\":1,\"message\":\"",
         "\"}}", "- error, the first 25", "/error/message"},
    };
    for (size_t i = 0; i < MI_COUNT(samples); i++)
        for (size_t pad = 0; pad < strlen(escape); pad++) {
            struct call_doc u;
            struct buf answer = {0}, value = {0}, pointer = {0};
            struct cells c = {0};
            size_t line = 0, n = pad;
            buf_adds(&answer, samples[i].before);
            for (size_t k = 0; k < pad; k++)
                buf_addc(&answer, 'x');
            while (answer.n < samples[i].bytes)
                buf_adds(&answer, escape);
            buf_adds(&answer, samples[i].after);
            call_doc(&u, samples[i].kind, samples[i].status, buf_str(&answer));
            while (strncmp(unit_line(u.d, line, &c), samples[i].title, strlen(samples[i].title)) !=
                   0)
                line++;
            assert_int_equal(detail_copy(u.d, line, DETAIL_COPY_VALUE, &value), 0);
            assert_int_equal(detail_copy(u.d, line, DETAIL_COPY_POINTER, &pointer), 0);
            assert_string_equal(buf_str(&pointer), samples[i].pointer);
            assert_true(value.n > DETAIL_TEXT_MAX / 3 - 100 && value.n <= DETAIL_TEXT_MAX);
            for (; n < value.n; n += strlen(character))
                assert_memory_equal(value.p + n, character, strlen(character));
            assert_int_equal(n, value.n);
            detail_close(u.d);
            cells_close(&c);
            buf_close(&answer);
            buf_close(&value);
            buf_close(&pointer);
        }
}

static void test_detail_call_has_all_parts(void **state)
{
    (void)state;
    static const struct detail_message messages[] = {
        {.seq = 3,
         .t_us = 2000000,
         .from_client = true,
         .kind = KIND_REQUEST,
         .size = 100,
         .method = {"tools/call", 10},
         .target = {"ec\x1bho", 5},
         .id = {"12", 2},
         .finding = {"invalid-arguments,new-one", 25},
         .redactions = 2,
         .body = {request_text, sizeof request_text - 1}},
        {.seq = 4,
         .t_us = 2100000,
         .kind = KIND_NOTIFICATION,
         .size = 10,
         .method = {"notifications/progress", 22},
         .body = {"{}", 2}},
        {.seq = 5, .t_us = 2500000, .kind = KIND_RESULT, .size = 2048, .body_error = "gone"},
    };
    static const struct detail_note note = {
        0, {"/params/arguments/a", 19}, {"must be a string", 16}, SEVERITY_ERROR};
    static const struct detail_line lines[] = {{2050000, {"boo\x07", 4}}, {2060000, {"", 0}}};
    struct detail_subject s = {.is_call = true,
                               .status = CALL_TOOL_ERROR,
                               .duration_us = 500000,
                               .message = messages,
                               .messages_n = 3,
                               .note = &note,
                               .notes_n = 1,
                               .post_mortem_title = {"Hang", 4},
                               .post_mortem = {"{\"pid\":4}", 9},
                               .stderr_line = lines,
                               .stderr_n = 2,
                               .stderr_more = true};
    struct detail *d;
    assert_int_equal(detail_open(&d, &s), 0);
    detail_set_width(d, 50, true);
    unit_expect(d, 0,
                "- tools/call ec\\x1bho\n"
                "  Status    tool-error after 500ms\n"
                "- arguments\n"
                "      \"a\": 1,\n"
                "      ^ must be a string\n"
                "    - \"b\": {\n"
                "        \"c\": \"needle\"\n"
                "      }\n"
                "- findings\n"
                "  Finding   invalid-arguments: The arguments do\n"
                "            not match the tool's inputSchema.\n"
                "  Finding   new-one\n"
                "- Hang\n"
                "  - {\n"
                "      \"pid\": 4\n"
                "    }\n"
                "- stderr, the last 2 lines\n"
                "  +2.05s    boo\\x07\n"
                "  +2.06s\n"
                "+ about the call\n"
                "+ -> request 3  +2.00s  100B  id 12\n"
                "+ <- notification 4  +2.10s  10B  notifications/progress\n"
                "- <- result 5  +2.50s  2.0KiB\n"
                "  gone\n");
    size_t titles[] = {0, 2, 8, 12, 16, 19, 20, 21, 22, 22};
    for (size_t i = 0; i + 1 < MI_COUNT(titles); i++)
        assert_int_equal(detail_get_next_part(d, titles[i], true), titles[i + 1]);
    assert_int_equal(detail_get_next_part(d, 12, false), 8);
    assert_int_equal(detail_get_next_part(d, 10, false), 8);
    assert_int_equal(detail_seq_at_line(d, 21), 4);
    assert_int_equal(detail_seq_at_line(d, 3), 3);
    assert_int_equal(detail_seq_at_line(d, 1), 0);
    static const struct {
        size_t line;
        int status;
        const char *text;
    } copies[] = {
        {0, 0, request_text},
        {2, 0, "{\"a\":1,\"b\":{\"c\":\"needle\"}}"},
        {8, 0, "invalid-arguments: The arguments do\nnot match the tool's inputSchema.\nnew-one\n"},
        {12, 0, "{\"pid\":4}"},
        {16, 0, "boo\x07\n\n"},
        {19, 0, request_text},
        {22, MI_ENOENT, ""},
    };
    for (size_t i = 0; i < MI_COUNT(copies); i++) {
        struct buf b = {0};
        assert_int_equal(detail_copy(d, copies[i].line, DETAIL_COPY_VALUE, &b), copies[i].status);
        assert_string_equal(buf_str(&b), copies[i].text);
        buf_close(&b);
    }
    size_t line;
    assert_int_equal(detail_fold_line(d, 19, DETAIL_UNFOLD, &line), 0);
    struct cells c = {0};
    assert_string_equal(unit_line(d, 20, &c), "  Time      +2.00s");
    assert_string_equal(unit_line(d, 21, &c), "  Redacted  2 secrets");
    cells_close(&c);
    detail_close(d);
}

static void test_detail_open_call_waits(void **state)
{
    (void)state;
    static const struct detail_message m = {
        .seq = 3, .from_client = true, .kind = KIND_REQUEST, .method = {"ping", 4}, .size = 9};
    struct detail_subject s = {.is_call = true,
                               .status = CALL_OPEN,
                               .duration_us = -1,
                               .message = &m,
                               .messages_n = 1,
                               .waited_us = 1000000};
    struct detail *d;
    struct cells c = {0};
    assert_int_equal(detail_open(&d, &s), 0);
    assert_string_equal(unit_line(d, 1, &c), "  Status    open, waiting for 1.00s");
    detail_update_open_call(d, 2500000, false);
    assert_string_equal(unit_line(d, 1, &c), "  Status    open, waiting for 2.50s");
    detail_update_open_call(d, 3000000, true);
    assert_string_equal(unit_line(d, 1, &c),
                        "  Status    no answer; the recording ends after 3.00s");
    unit_expect(d, 2, "▸ about the call\n▾ → request 3  +0us  9B\n  not recorded\n");
    cells_close(&c);
    detail_close(d);
}

static void test_detail_escaped_characters_are_shown_and_found(void **state)
{
    (void)state;
    struct unit_doc u;
    struct detail_hit hit;
    struct cells c = {0};
    unit_doc(&u, KIND_REQUEST,
             "{\"\\u00e9\":\"Gr\\u00fc\\u00DFe \\ud83d\\ude00 \\n\\\\u00fc "
             "\\u001b\\u202e\\ud83d\\u00fc\\ud83d\",\"b\":1}");
    size_t f = u.first + 1;
    detail_set_width(u.d, 80, false);
    assert_string_equal(unit_line(u.d, f + 1, &c),
                        "    \u25B8 \"\u00E9\": \"Gr\u00FC\u00DFe \U0001F600 "
                        "\\n\\\\u00fc \\u001b\\u202e\\ud83d\u00FC\\ud83d\",");
    assert_int_equal(detail_search(u.d, slice_of("\u00FC\u00DFE \U0001F600"), 0, true, &hit), 0);
    assert_int_equal(hit.line, f + 1);
    assert_int_equal(hit.column, 14);
    detail_set_width(u.d, 80, true); /* ASCII: as it is written */
    assert_string_equal(unit_line(u.d, f + 1, &c),
                        "    + \"\\u00e9\": \"Gr\\u00fc\\u00DFe \\ud83d\\ude00 "
                        "\\n\\\\u00fc \\u001b\\u202e\\ud83d\\u00fc\\ud83d\",");
    cells_close(&c);
    unit_doc_close(&u);
}

/* On one line it would be far to the right of the screen. */
static void test_detail_search_unfolds_a_string_whose_match_is_out_of_sight(void **state)
{
    (void)state;
    struct unit_doc u;
    struct detail_hit hit;
    struct cells c = {0};
    struct buf b = {0};
    buf_adds(&b, "{\"near\":\"needle\",\"far\":\"");
    for (int i = 0; i < 100; i++)
        buf_printf(&b, "line %d\\n", i);
    buf_adds(&b, "a needle\\n\",\"json\":\"{\\\"a\\\":[\\\"");
    for (int i = 0; i < 40; i++)
        buf_adds(&b, "much text ");
    buf_adds(&b, "\\\",\\\"needle\\\"]}\"}");
    unit_doc(&u, KIND_REQUEST, buf_str(&b));
    size_t f = u.first + 1;
    detail_set_width(u.d, 80, true);
    assert_int_equal(detail_search(u.d, slice_of("needle"), 0, true, &hit), 0);
    assert_int_equal(hit.line, f + 1); /* in sight: nothing is unfolded */
    assert_int_equal(detail_search(u.d, slice_of("needle"), hit.line, true, &hit), 0);
    assert_string_equal(unit_line(u.d, hit.line, &c), "      | a needle");
    assert_int_equal(hit.column, 10);
    assert_int_equal(detail_search(u.d, slice_of("needle"), hit.line, true, &hit), 0);
    assert_string_equal(unit_line(u.d, hit.line, &c), "      |       \"needle\"");
    buf_close(&b);
    cells_close(&c);
    unit_doc_close(&u);
}

static void test_detail_search_unfolds_and_wraps(void **state)
{
    (void)state;
    struct unit_doc u;
    struct detail_hit hit;
    struct cells c = {0};
    unit_doc(&u, KIND_REQUEST,
             "{\"x\":{\"deep\":[\"needle\",\"a needle and a NEEDLE\"]},\"t\":\"1\\n2 \\\"q\\\" "
             "needle\",\"y\":0}");
    size_t f = u.first + 1;
    detail_fold_from_depth(u.d, 0);
    assert_int_equal(detail_search(u.d, slice_of("Needle"), 0, true, &hit), 0);
    assert_int_equal(hit.line, f + 3);
    assert_int_equal(hit.column, 11);
    assert_false(hit.wrapped);
    assert_string_equal(unit_line(u.d, hit.line, &c), "          \"needle\",");
    assert_true(c.span[2].found);
    assert_int_equal(detail_search(u.d, slice_of("Needle"), hit.line, true, &hit), 0);
    assert_int_equal(hit.line, f + 4);
    assert_int_equal(hit.column, 13);
    assert_int_equal(detail_search(u.d, slice_of("Needle"), hit.line, true, &hit), 0);
    assert_int_equal(hit.line, f + 4); /* the second one of this line */
    assert_int_equal(hit.column, 26);
    fold(u.d, f + 7, DETAIL_UNFOLD); /* "t" */
    assert_int_equal(detail_search(u.d, slice_of("Needle"), hit.line, true, &hit), 0);
    assert_int_equal(hit.line, f + 9); /* 2 "q" needle */
    assert_int_equal(hit.column, 14);
    assert_int_equal(detail_search(u.d, slice_of("Needle"), hit.line, true, &hit), 0);
    assert_int_equal(hit.line, f + 3);
    assert_true(hit.wrapped);
    assert_int_equal(detail_search(u.d, slice_of("Needle"), hit.line, false, &hit), 0);
    assert_int_equal(hit.line, f + 9);
    assert_true(hit.wrapped);
    assert_int_equal(detail_search(u.d, slice_of("Needle"), hit.line, false, &hit), 0);
    assert_int_equal(hit.column, 26);
    /* from the line of the cursor, if it has moved */
    assert_int_equal(detail_search(u.d, slice_of("Needle"), f, true, &hit), 0);
    assert_int_equal(hit.line, f + 3);
    assert_int_equal(detail_search(u.d, slice_of("Needle"), f + 7, false, &hit), 0);
    assert_int_equal(hit.line, f + 4);
    /* as it is written in JSON */
    assert_int_equal(detail_search(u.d, slice_of("\"q\" n"), 0, true, &hit), 0);
    assert_int_equal(hit.line, f + 9);
    assert_int_equal(detail_search(u.d, slice_of("missing"), 0, true, &hit), MI_ENOENT);
    assert_int_equal(detail_search(u.d, slice_of(""), 0, true, &hit), MI_ENOENT);
    (void)unit_line(u.d, f + 3, &c);
    for (size_t i = 0; i < c.n; i++)
        assert_false(c.span[i].found);
    /* in the head */
    assert_int_equal(detail_search(u.d, slice_of("1.50s"), f, true, &hit), 0);
    assert_int_equal(hit.line, 1);
    assert_true(hit.wrapped);
    cells_close(&c);
    unit_doc_close(&u);
}

static void test_detail_copies_values_and_pointers(void **state)
{
    (void)state;
    static const struct {
        size_t line; /* of the message */
        const char *value, *pointer;
    } samples[] = {
        {0, "{\"a/b~\":[1,{\"k\":\"v\\t\"}] ,\"\\u0065\":null}", ""},
        {1, "[1,{\"k\":\"v\\t\"}]", "/a~1b~0"},
        {2, "1", "/a~1b~0/0"},
        {3, "{\"k\":\"v\\t\"}", "/a~1b~0/1"},
        {4, "v\t", "/a~1b~0/1/k"},
        {5, "{\"k\":\"v\\t\"}", "/a~1b~0/1"},
        {6, "[1,{\"k\":\"v\\t\"}]", "/a~1b~0"},
        {7, "null", "/e"},
    };
    struct unit_doc u;
    struct buf b = {0};
    unit_doc(&u, KIND_REQUEST, samples[0].value);
    for (size_t i = 0; i < MI_COUNT(samples); i++) {
        buf_clear(&b);
        assert_int_equal(detail_copy(u.d, u.first + 1 + samples[i].line, DETAIL_COPY_VALUE, &b), 0);
        assert_string_equal(buf_str(&b), samples[i].value);
        buf_clear(&b);
        assert_int_equal(detail_copy(u.d, u.first + 1 + samples[i].line, DETAIL_COPY_POINTER, &b),
                         0);
        assert_string_equal(buf_str(&b), samples[i].pointer);
        buf_clear(&b);
        assert_int_equal(detail_copy(u.d, u.first + 1 + samples[i].line, DETAIL_COPY_BODY, &b), 0);
        assert_string_equal(buf_str(&b), samples[0].value);
    }
    buf_clear(&b);
    assert_int_equal(detail_copy(u.d, 1, DETAIL_COPY_VALUE, &b), 0);
    assert_string_equal(buf_str(&b), "+1.50s");
    assert_int_equal(detail_copy(u.d, 1, DETAIL_COPY_POINTER, &b), MI_ENOENT);
    assert_int_equal(detail_copy(u.d, 1000, DETAIL_COPY_BODY, &b), MI_ENOENT);
    buf_close(&b);
    unit_doc_close(&u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_detail_json_is_indented),
        cmocka_unit_test(test_detail_text_that_is_not_json_is_wrapped),
        cmocka_unit_test(test_detail_fold_and_unfold),
        cmocka_unit_test(test_detail_strings_unfold_as_lines_and_json),
        cmocka_unit_test(test_detail_text_of_a_result_is_unfolded),
        cmocka_unit_test(test_detail_of_long_json_begins_with_an_overview),
        cmocka_unit_test(test_detail_call_begins_with_what_was_asked_and_answered),
        cmocka_unit_test(test_detail_values_of_a_call_are_folded_searched_and_copied),
        cmocka_unit_test(test_detail_beginning_of_a_long_content_is_shown),
        cmocka_unit_test(test_detail_call_has_all_parts),
        cmocka_unit_test(test_detail_open_call_waits),
        cmocka_unit_test(test_detail_escaped_characters_are_shown_and_found),
        cmocka_unit_test(test_detail_search_unfolds_a_string_whose_match_is_out_of_sight),
        cmocka_unit_test(test_detail_search_unfolds_and_wraps),
        cmocka_unit_test(test_detail_copies_values_and_pointers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
