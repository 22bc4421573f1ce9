/* message_notes_append: what a line of the timeline says about a message. */
#include "cli/look/timeline/message_notes.h"

#include "tests/support/unit.h"

static void notes_are(const struct query_message *m, bool unanswered, const char *want)
{
    struct buf b = {0};
    message_notes_append(&b, m, unanswered);
    assert_string_equal(buf_str(&b), want);
    buf_close(&b);
}

static void test_message_word_is_the_status_for_answers_and_the_kind_for_others(void **state)
{
    (void)state;
    static const struct {
        enum row_kind kind;
        const char *finding, *word;
        enum out_style style;
    } rows[] = {
        {KIND_REQUEST, NULL, "request", OUT_BOLD},
        {KIND_NOTIFICATION, NULL, "notify", OUT_DIM},
        {KIND_RESULT, NULL, "ok", OUT_GREEN},
        {KIND_RESULT, "tool-error", "tool-error", OUT_RED},
        {KIND_ERROR, NULL, "error", OUT_RED},
        {KIND_STDERR, NULL, "stderr", OUT_YELLOW},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        enum out_style style;
        struct query_message m = {.kind = rows[i].kind,
                                  .origin = ROW_PEER,
                                  .action = ROW_FORWARDED,
                                  .finding = rows[i].finding != NULL ? slice_of(rows[i].finding)
                                                                     : (struct slice){0}};
        assert_string_equal(message_outcome_word(&m, &style), rows[i].word);
        assert_int_equal(style, rows[i].style);
    }
}

static void test_message_notes_do_not_repeat_the_message_word(void **state)
{
    (void)state;
    struct query_message m = {.kind = KIND_RESULT,
                              .origin = ROW_PEER,
                              .action = ROW_FORWARDED,
                              .request_seq = 3,
                              .seq = 4};
    notes_are(&m, false, "to 3"); /* its request is not recorded */
    m.has_request = true;
    notes_are(&m, false, "");
    m.finding = slice_of("tool-error");
    notes_are(&m, false, "");
    m.finding = slice_of("crlf,tool-error,bom");
    notes_are(&m, false, "crlf,bom");
    m = (struct query_message){.kind = KIND_REQUEST,
                               .origin = ROW_PEER,
                               .action = ROW_REFUSED,
                               .finding = slice_of("not-json,crlf")};
    notes_are(&m, false, "refused: not-json,crlf");
    m.origin = ROW_INTERPOSER;
    m.batch_seq = 9;
    notes_are(&m, true, "refused, by interposer, no answer, in batch 9: not-json,crlf");
    m.origin = ROW_PEER;
    m.batch_seq = 0;
    m.action = ROW_SWALLOWED;
    m.finding = (struct slice){0};
    notes_are(&m, false, "swallowed");
}

static void test_operation_notes_name_the_call_that_a_message_continues_or_ends(void **state)
{
    (void)state;
    struct listed_operation of = {.seq = 3,
                                  .direction = ROW_C2S,
                                  .requests = 2,
                                  .duration_us = 20100000,
                                  .person_us = 20000000};
    struct listed_hop hops[] = {{5, 3}, {7, 3}}, ends[] = {{6, 3}};
    struct operation_list l = {
        .operation = &of, .n = 1, .hop = hops, .hop_n = 2, .end = ends, .end_n = 1};
    static const struct {
        int64_t seq;
        enum row_kind kind;
        enum row_direction direction;
        const char *want;
    } rows[] = {
        {3, KIND_REQUEST, ROW_C2S, ""},
        {5, KIND_REQUEST, ROW_C2S, "continues 3"},
        {7, KIND_REQUEST, ROW_S2C, "for 3"},
        {6, KIND_RESULT, ROW_S2C, "ends 3: 2 requests in 20.1s, of which a person took 20.0s"},
        {8, KIND_RESULT, ROW_S2C, ""},
    };
    for (size_t i = 0; i < MI_COUNT(rows); i++) {
        struct buf b = {0};
        struct query_message m = {
            .seq = rows[i].seq, .kind = rows[i].kind, .direction = rows[i].direction};
        operation_notes_append(&b, &m, &l);
        assert_string_equal(buf_str(&b), rows[i].want);
        buf_close(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_word_is_the_status_for_answers_and_the_kind_for_others),
        cmocka_unit_test(test_message_notes_do_not_repeat_the_message_word),
        cmocka_unit_test(test_operation_notes_name_the_call_that_a_message_continues_or_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
