/* The fields of records, without their names. */
#include "model/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static const struct record_fields *const records[] = {
    &fields_of_session, &fields_of_message, &fields_of_call,
    &fields_of_event,   &fields_of_problem, &fields_of_escalation_head};

/* As large as any record. */
union record {
    struct session_record session;
    struct message_record message;
    struct event_record event;
    struct call_record call;
    struct problem_record problem;
    struct escalation_head head;
};

/* A value of a field, which is another one for each i. */
static struct cell value_of_field(const struct record_field *f, size_t i, char *text)
{
    if (f->type == VALUE_WORD)
        return (struct cell){.type = CELL_TEXT,
                             .text =
                                 slice_of(value_get_word(f->words, (unsigned)(i % f->words->n)))};
    if (!field_is_text(f))
        return (struct cell){.type = CELL_INT, .number = (int64_t)i + 1};
    text[0] = (char)('a' + i);
    return (struct cell){.type = CELL_TEXT, .text = {text, 1}};
}

static bool same(const struct cell *a, const struct cell *b)
{
    return a->type == b->type && a->number == b->number && slice_eq(a->text, b->text);
}

static void test_fields_each_value_is_read_as_it_was_set(void **state)
{
    (void)state;
    for (size_t r = 0; r < MI_COUNT(records); r++) {
        const struct record_fields *s = records[r];
        char text[64][2];
        union record x = {{{0}, {0}}};
        for (size_t i = 0; i < s->n; i++)
            field_set(&s->list[i], &x, value_of_field(&s->list[i], i, text[i]));
        for (size_t i = 0; i < s->n; i++) {
            struct cell want = value_of_field(&s->list[i], i, text[i]);
            struct cell is = field_get(&s->list[i], &x);
            if (!same(&is, &want))
                fail_msg("%s", s->list[i].name);
        }
    }
}

static void test_fields_null_is_read_as_null_where_a_field_may_be(void **state)
{
    (void)state;
    for (size_t r = 0; r < MI_COUNT(records); r++) {
        union record x;
        memset(&x, 0x55, sizeof x);
        for (size_t i = 0; i < records[r]->n; i++) {
            const struct record_field *f = &records[r]->list[i];
            field_set(f, &x, (struct cell){.type = CELL_NULL});
            bool null = field_get(f, &x).type == CELL_NULL;
            if (null != (f->null != VALUE_NOT_NULL || field_is_text(f)))
                fail_msg("%s", f->name);
        }
    }
}

static void test_fields_members_have_the_names_of_the_table(void **state)
{
    (void)state;
    struct message_record m = {.error_code = -32601, .has_error_code = true, .batch_seq = 0};
    struct session_record s = {.name = slice_of("files"), .exit_status = 0};
    for (size_t i = 0; i < fields_of_message.n; i++) {
        const struct record_field *f = &fields_of_message.list[i];
        struct cell c = field_get(f, &m);
        if (strcmp(f->name, "error_code") == 0)
            assert_int_equal(c.number, -32601);
        if (strcmp(f->name, "batch_seq") == 0)
            assert_int_equal(c.type, CELL_NULL);
    }
    for (size_t i = 0; i < fields_of_session.n; i++) {
        const struct record_field *f = &fields_of_session.list[i];
        struct cell c = field_get(f, &s);
        if (strcmp(f->name, "name") == 0)
            assert_true(slice_is(c.text, "files"));
        if (strcmp(f->name, "exit_status") == 0)
            assert_int_equal(c.type, CELL_NULL);
    }
}

static void test_fields_a_word_that_is_not_known_is_unknown(void **state)
{
    (void)state;
    struct message_record m;
    for (size_t i = 0; i < fields_of_message.n; i++)
        field_set(&fields_of_message.list[i], &m,
                  (struct cell){.type = CELL_TEXT, .text = slice_of("hologram")});
    assert_int_equal(m.kind, KIND_UNKNOWN);
    assert_int_equal(m.direction, ROW_DIRECTION_UNKNOWN);
}

static void test_fields_a_flag_is_one_byte(void **state)
{
    (void)state;
    struct row {
        bool flag, next;
    } row = {false, true};
#define RECORD struct row
    static const struct record_field f = {FIELD_HEAD("flag", flag, FLAG, NOT_NULL)};
#undef RECORD
    field_set(&f, &row, (struct cell){.type = CELL_INT, .number = 1 << 8});
    assert_int_equal(field_get(&f, &row).number, 1);
    field_set(&f, &row, (struct cell){.type = CELL_NULL});
    assert_int_equal(field_get(&f, &row).number, 0);
    assert_true(row.next);
}

static void test_fields_texts_are_copied_with_a_nul(void **state)
{
    (void)state;
    char uid[] = "01M82", name[] = "files";
    struct session_record s = {.uid = slice_of(uid), .name = slice_of(name)};
    size_t n = fields_text_bytes(&fields_of_session, &s);
    char *copy = malloc(n);
    assert_non_null(copy);
    assert_ptr_equal(fields_copy_texts(&fields_of_session, &s, copy), copy + n);
    memset(uid, 'x', sizeof uid);
    memset(name, 'x', sizeof name);
    assert_string_equal(s.uid.p, "01M82");
    assert_string_equal(s.name.p, "files");
    assert_null(s.command.p);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_each_value_is_read_as_it_was_set),
        cmocka_unit_test(test_fields_null_is_read_as_null_where_a_field_may_be),
        cmocka_unit_test(test_fields_members_have_the_names_of_the_table),
        cmocka_unit_test(test_fields_a_word_that_is_not_known_is_unknown),
        cmocka_unit_test(test_fields_a_flag_is_one_byte),
        cmocka_unit_test(test_fields_texts_are_copied_with_a_nul),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
