/* Entries as bytes: what was written is read again, and damaged bytes are rejected or read within their bounds. */
#include "journal/entry_form.h"

#include "journal/message_entry.h"
#include "journal/uid.h"
#include "tests/support/entry_equal.h"
#include "tests/support/unit.h"

static const char line[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"tools/call\",\"params\":{"
                           "\"name\":\"search\",\"arguments\":{}}}";
static const enum entry_kind kinds[] = {
    ENTRY_MESSAGE,    ENTRY_EVENT,        ENTRY_UPDATE, ENTRY_RUNNING, ENTRY_INVOCATION,
    ENTRY_ESCALATION, ENTRY_TOOLS_WANTED, ENTRY_LOST,   ENTRY_RULES,
};

static struct slice part(const char *text)
{
    const char *p = strstr(line, text);
    assert_non_null(p);
    return (struct slice){p, strlen(text)};
}

/* Bytes of an entry, in memory that ends with them. */
static struct slice bytes_of(const struct entry *e)
{
    size_t n = form_size_of_entry(e);
    char *p = malloc(n + 1);
    assert_non_null(p);
    memset(p, 0x5a, n + 1);
    form_write_entry(e, p);
    assert_int_equal(p[n], 0x5a);
    char *exact = unit_copy(p, n);
    free(p);
    return (struct slice){exact, n};
}

static void drop(struct slice bytes)
{
    free((void *)(uintptr_t)bytes.p);
}

static bool lies_in(struct slice bytes, struct slice s)
{
    return s.p == NULL || (s.p >= bytes.p && s.p + s.n <= bytes.p + bytes.n);
}

static void check_round_trip(const struct entry *e)
{
    struct slice bytes = bytes_of(e);
    struct entry back;
    memset(&back, 0xff, sizeof back);
    assert_int_equal(form_read_entry(e->kind, bytes, &back), 0);
    assert_true(same_entry(e, &back));
    if (e->kind == ENTRY_MESSAGE) {
        assert_true(lies_in(bytes, back.row.body) && lies_in(bytes, back.row.rpc_id) &&
                    lies_in(bytes, back.row.method) && lies_in(bytes, back.row.target));
        assert_null(back.row.event);
    }
    drop(bytes);
}

static void check_rejected(const struct entry *e)
{
    struct slice bytes = bytes_of(e);
    struct entry back;
    assert_int_equal(form_read_entry(e->kind, bytes, &back), MI_EINVAL);
    drop(bytes);
}

static struct row full_row(void)
{
    return (struct row){
        .kind = KIND_REQUEST,
        .seq = 12,
        .t_us = 345678,
        .direction = ROW_S2C,
        .origin = ROW_INTERPOSER,
        .action = ROW_SWALLOWED,
        .rpc_id = part("7"),
        .method = part("tools/call"),
        .target = part("search"),
        .body = {line, sizeof line - 1},
        .not_json = true,
        .size = sizeof line + 1,
        .redactions = 3,
        .request_seq = 9,
        .has_error_code = true,
        .error_code = -32001,
        .batch_seq = 11,
        .findings = FINDING(FIND_CRLF) | FINDING(FIND_COUNT - 1),
        .rules = RULE(0) | RULE(RULE_COUNT - 1),
    };
}

static struct invocation full_invocation(void)
{
    return (struct invocation){
        .wall_us = 1785542399123456,
        .seq = 4,
        .status = CALL_OPEN,
        .method = slice_of("tools/call"),
        .target = slice_of("search"),
        .arguments = slice_of("{\"q\":1"),
        .arguments_n = 5000,
        .error_code = slice_of("-32000"),
        .error_message = slice_of("\"gone\""),
        .duration_us = 77,
        .request_bytes = 88,
        .response_bytes = 99,
        .result = slice_of("text"),
        .result_escaped = true,
    };
}

static const struct slice stderr_lines[ESCALATION_LINES_MAX + 5] = {
    {"dropped", 7}, {"dropped", 7}, {"dropped", 7}, {"dropped", 7}, {"dropped", 7},
    {"first", 5},   {"", 0},        {NULL, 0},      {"4", 1},       {"5", 1},
    {"6", 1},       {"7", 1},       {"8", 1},       {"9", 1},       {"10", 2},
    {"11", 2},      {"12", 2},      {"13", 2},      {"14", 2},      {"15", 2},
    {"16", 2},      {"17", 2},      {"18", 2},      {"19", 2},      {"last", 4},
};

/* An entry with every field set. */
static struct entry full(enum entry_kind kind)
{
    struct entry e = {.kind = kind};
    switch (kind) {
    case ENTRY_MESSAGE:
        e.row = full_row();
        break;
    case ENTRY_EVENT:
        e.row = (struct row){.event = "spawn", .t_us = -5, .body = slice_of("{\"pid\":1}")};
        break;
    case ENTRY_UPDATE:
        e.update = (struct session_update){
            .client_name = slice_of("client"),
            .client_version = slice_of("1.0"),
            .server_name = slice_of("server"),
            .server_version = slice_of(""),
            .protocol_version = slice_of("2025-06-18"),
            .end_reason = slice_of("client-closed"),
            .has_exit_status = true,
            .exit_status = -9,
            .ended_at_us = 1785542399123456,
        };
        break;
    case ENTRY_RUNNING:
        e.running = (struct running){
            .boot = "0b0e1f2a-0000-4000-8000-123456789abc",
            .pid_namespace = 4026531836,
            .pid = 100,
            .pid_start = UINT64_MAX,
            .client_pid = 99,
            .client_start = 5,
            .server_pid = INT32_MAX,
            .server_start = 6,
            .server_group = 101,
            .server_session = 102,
        };
        break;
    case ENTRY_INVOCATION:
        e.invocation = full_invocation();
        break;
    case ENTRY_ESCALATION:
        e.escalation = (struct escalation){
            .cause = ESCALATION_RECORD_ERROR,
            .at_us = 1785542399123456,
            .seq = 4,
            .method = slice_of("tools/call"),
            .tool = slice_of("search"),
            .request = {line, sizeof line - 1},
            .answer = slice_of("{}"),
            .action = "killed, restarted",
            .happened = slice_of("It hung."),
            .done = slice_of("It was killed."),
            .look = slice_of("- logs"),
            .post_mortem = slice_of("It slept."),
            .post_mortem_json = slice_of("{\"state\":\"S\"}"),
            .stderr_lines = stderr_lines + 5,
            .stderr_n = ESCALATION_LINES_MAX,
            .last_to_server = slice_of("{\"a\":1}"),
            .last_to_client = slice_of("{\"b\":2}"),
        };
        e.t_us = 42;
        break;
    case ENTRY_LOST:
        e.lost = (struct lost_messages){.n = 3, .first_seq = 10, .last_seq = 14, .t_us = 9};
        break;
    case ENTRY_RULES:
        e.added = (struct added_rules){.seq = 12, .rules = RULE(RULE_TOOL_CHANGED)};
        break;
    case ENTRY_TOOLS_WANTED:
        break;
    }
    return e;
}

/* The texts of a kind that may be missing. */
static size_t texts_of(struct entry *e, struct slice *ret[16])
{
    size_t n = 0;
    switch (e->kind) {
    case ENTRY_MESSAGE:
        ret[n++] = &e->row.rpc_id;
        ret[n++] = &e->row.method;
        ret[n++] = &e->row.target;
        break;
    case ENTRY_EVENT:
        ret[n++] = &e->row.body;
        break;
    case ENTRY_UPDATE:
        ret[n++] = &e->update.client_name;
        ret[n++] = &e->update.client_version;
        ret[n++] = &e->update.server_name;
        ret[n++] = &e->update.server_version;
        ret[n++] = &e->update.protocol_version;
        ret[n++] = &e->update.end_reason;
        break;
    case ENTRY_INVOCATION:
        ret[n++] = &e->invocation.method;
        ret[n++] = &e->invocation.target;
        ret[n++] = &e->invocation.arguments;
        ret[n++] = &e->invocation.error_code;
        ret[n++] = &e->invocation.error_message;
        ret[n++] = &e->invocation.result;
        break;
    case ENTRY_ESCALATION:
        ret[n++] = &e->escalation.method;
        ret[n++] = &e->escalation.tool;
        ret[n++] = &e->escalation.request;
        ret[n++] = &e->escalation.answer;
        ret[n++] = &e->escalation.happened;
        ret[n++] = &e->escalation.done;
        ret[n++] = &e->escalation.look;
        ret[n++] = &e->escalation.post_mortem;
        ret[n++] = &e->escalation.post_mortem_json;
        ret[n++] = &e->escalation.last_to_server;
        ret[n++] = &e->escalation.last_to_client;
        break;
    case ENTRY_RUNNING:
    case ENTRY_LOST:
    case ENTRY_RULES:
    case ENTRY_TOOLS_WANTED:
        break;
    }
    return n;
}

static void test_form_every_kind_is_read_as_it_was_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(kinds); i++) {
        struct entry e = full(kinds[i]);
        check_round_trip(&e);
    }
}

/* Fields of model/records.h that a journal has. journal/message_entry.c names each of them. */
#define IN_YES 1
#define IN_NO 0
#define SET_NUMBER(to) to = n++;
#define SET_SINCE(to) to = n++;
#define SET_SIZE(to) to = n++;
#define SET_TIME(to) to = n++;
#define SET_TOOK(to) to = n++;
#define SET_COUNT(to) to = n++;
#define SET_FLAG(to) to = true;
#define SET_TEXT(to) to = (struct slice){line + n++, 3};
#define SET_JSON(to) SET_TEXT(to)
#define SET_WORD(type, words) SET_##type
#define SET_row_direction(to) to = ROW_DIRECTION_UNKNOWN - 1;
#define SET_row_origin(to) to = ROW_ORIGIN_UNKNOWN - 1;
#define SET_row_kind(to) to = KIND_UNKNOWN - 1;
#define SET_row_action(to) to = ROW_ACTION_UNKNOWN - 1;
#define SET_call_status(to) to = CALL_UNKNOWN - 1;
#define FLAG_NOT_NULL
#define FLAG_NO_TEXT
#define FLAG_ZERO
#define FLAG_UNLESS(flag) was.flag = true;
#define SET(name, type, null, since, evidence, cassette, store, json, journal, usual)              \
    FIELD_IF(IN_##journal)(SET_##type(was.name) FLAG_##null)
#define COMPARE_NUMBER(name) assert_true(was.name == e.row.name);
#define COMPARE_SINCE(name) COMPARE_NUMBER(name)
#define COMPARE_SIZE(name) COMPARE_NUMBER(name)
#define COMPARE_TEXT(name) assert_true(same_text(was.name, e.row.name));
#define COMPARE_JSON(name) COMPARE_TEXT(name)
#define COMPARE_WORD(type, words) COMPARE_NUMBER
#define COMPARE(name, type, null, since, evidence, cassette, store, json, journal, usual)          \
    FIELD_IF(IN_##journal)(COMPARE_##type(name))

static void test_form_each_field_of_a_message_is_read_as_it_was_written(void **state)
{
    (void)state;
    uint8_t n = 1;
    struct row was = {0};
    MESSAGE_FIELDS(SET)
    char *bytes = malloc(message_written_size(&was, NULL));
    struct entry e = {.kind = ENTRY_MESSAGE};
    struct slice written = {bytes, message_written_size(&was, NULL)};
    assert_non_null(bytes);
    message_write(&was, NULL, bytes);
    assert_int_equal(message_read(written, &e.row, &e.invocation), 0);
    MESSAGE_FIELDS(COMPARE)
    assert_true(e.row.has_error_code);
    free(bytes);
}

#define SET_OF_INVOCATION(name, type, null) SET_##type(e.invocation.name)

static void test_form_each_field_of_an_invocation_is_read_as_it_was_written(void **state)
{
    (void)state;
    uint8_t n = 1;
    struct entry e = {.kind = ENTRY_INVOCATION};
    INVOCATION_FIELDS(SET_OF_INVOCATION)
    e.invocation.arguments_n = 1000; /* not less than what is logged of them */
    check_round_trip(&e);
    e.kind = ENTRY_MESSAGE;
    e.row = full_row();
    e.row.ends_invocation = true;
    check_round_trip(&e);
}

static void test_form_a_missing_text_stays_missing_and_an_empty_one_empty(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(kinds); i++) {
        struct entry e = full(kinds[i]);
        struct slice *texts[16];
        size_t n = texts_of(&e, texts);
        for (unsigned set = 0; set < 1u << n; set++) {
            struct entry some = e;
            (void)texts_of(&some, texts);
            for (size_t k = 0; k < n; k++)
                if ((set & 1u << k) != 0)
                    *texts[k] = (struct slice){0};
            check_round_trip(&some);
        }
        for (size_t k = 0; k < n; k++) {
            struct entry some = e;
            (void)texts_of(&some, texts);
            *texts[k] = (struct slice){"", 0};
            check_round_trip(&some);
        }
    }
}

static void test_form_entries_with_nothing_set(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(kinds); i++) {
        struct entry e = {.kind = kinds[i]};
        if (e.kind == ENTRY_EVENT)
            e.row.event = ""; /* an event has a kind */
        check_round_trip(&e);
    }
}

static void test_form_an_event_without_a_kind_is_rejected(void **state)
{
    (void)state;
    struct entry e = {.kind = ENTRY_EVENT}, back;
    struct slice bytes = bytes_of(&e);
    assert_int_equal(form_read_entry(ENTRY_EVENT, bytes, &back), MI_EINVAL);
    drop(bytes);
}

static void test_form_texts_within_the_body_are_not_written_twice(void **state)
{
    (void)state;
    struct entry e = full(ENTRY_MESSAGE), none = e;
    none.row.rpc_id = none.row.method = none.row.target = (struct slice){0};
    size_t place = 8;
    assert_true(form_size_of_entry(&e) == form_size_of_entry(&none) + 3 * place);
    e.row.rpc_id = (struct slice){line, sizeof line - 1}; /* all of it */
    e.row.method = (struct slice){line, 0};               /* its begin and its end */
    e.row.target = (struct slice){line + sizeof line - 1, 0};
    assert_true(form_size_of_entry(&e) == form_size_of_entry(&none) + 3 * place);
    check_round_trip(&e);
}

/* An answer with the invocation that it ends. */
static struct entry full_answer(void)
{
    struct entry e = full(ENTRY_MESSAGE);
    e.row.ends_invocation = true;
    e.invocation = full_invocation();
    return e;
}

static void test_form_an_answer_is_read_with_the_invocation_that_it_ends(void **state)
{
    (void)state;
    struct entry e = full_answer();
    check_round_trip(&e);
    e.invocation.result_escaped = false;
    for (int v = 0; v < CALL_UNKNOWN; v++) {
        e.invocation.status = (enum call_status)v;
        check_round_trip(&e);
    }
    struct slice *text[] = {&e.invocation.method,        &e.invocation.target,
                            &e.invocation.arguments,     &e.invocation.error_code,
                            &e.invocation.error_message, &e.invocation.result};
    for (size_t i = 0; i < MI_COUNT(text); i++) {
        *text[i] = (struct slice){"", 0};
        check_round_trip(&e);
        *text[i] = (struct slice){0};
        check_round_trip(&e);
    }
    e.invocation = (struct invocation){0};
    check_round_trip(&e);
}

static void test_form_the_texts_of_an_invocation_may_lie_in_the_answer(void **state)
{
    (void)state;
    struct entry e = full_answer();
    size_t before = form_size_of_entry(&e), n = e.invocation.result.n;
    e.invocation.result = part("arguments");
    assert_true(form_size_of_entry(&e) == before - n);
    e.row.body = (struct slice){0}; /* now it lies elsewhere */
    e.row.not_json = false;
    check_round_trip(&e);
}

static void test_form_an_answer_whose_invocation_cannot_be_is_rejected(void **state)
{
    (void)state;
    static char text[INVOCATION_RESULT_MAX + 1];
    struct entry e = full_answer();
    e.invocation.status = CALL_UNKNOWN;
    check_rejected(&e);
    e = full_answer();
    e.invocation.arguments_n = e.invocation.arguments.n - 1;
    check_rejected(&e);
    e = full_answer();
    e.invocation.result = (struct slice){text, sizeof text};
    check_rejected(&e);
    e.invocation.result.n--;
    check_round_trip(&e);
}

static void test_form_texts_outside_the_body(void **state)
{
    (void)state;
    char *target = unit_copy("elsewhere", 9);
    struct entry e = full(ENTRY_MESSAGE);
    size_t before = form_size_of_entry(&e);
    e.row.target = (struct slice){target, 9};
    assert_true(form_size_of_entry(&e) == before + 9);
    check_round_trip(&e);
    e.row.rpc_id = slice_of("\"an id\"");
    e.row.method = slice_of("ping");
    check_round_trip(&e);
    /* one that begins in the body and ends after it, or begins before it */
    e.row.body.n = (size_t)(part("search").p - line) + 2;
    e.row.target = part("search");
    check_round_trip(&e);
    e.row.body = (struct slice){line + 5, 50};
    e.row.method = (struct slice){line, 10};
    check_round_trip(&e);
    e.row.body = (struct slice){0};
    e.row.method = e.row.target = part("search");
    check_round_trip(&e);
    e.row.body = (struct slice){"", 0};
    check_round_trip(&e);
    free(target);
}

static void test_form_every_value_of_an_enum(void **state)
{
    (void)state;
    struct entry e = full(ENTRY_MESSAGE);
    for (int v = 0; v < KIND_UNKNOWN; v++) {
        e.row.kind = (enum row_kind)v;
        check_round_trip(&e);
    }
    for (int v = 0; v < 2 * 2 * 3 * 4; v++) {
        e.row.direction = v % 2 ? ROW_S2C : ROW_C2S;
        e.row.origin = v / 2 % 2 ? ROW_PEER : ROW_INTERPOSER;
        e.row.action = (enum row_action)(v / 4 % 3);
        e.row.not_json = v / 12 % 2;
        e.row.has_error_code = v / 24 % 2;
        check_round_trip(&e);
    }
    e = full(ENTRY_INVOCATION);
    for (int v = 0; v < CALL_UNKNOWN; v++) {
        e.invocation.status = (enum call_status)v;
        check_round_trip(&e);
    }
    e = full(ENTRY_ESCALATION);
    for (int v = 0; v < ESCALATION_CAUSE_UNKNOWN; v++) {
        e.escalation.cause = (enum escalation_cause)v;
        check_round_trip(&e);
    }
}

static void test_form_values_that_are_not_one_of_the_enum_are_rejected(void **state)
{
    (void)state;
    struct entry e = full(ENTRY_MESSAGE);
    e.row.kind = KIND_UNKNOWN;
    check_rejected(&e);
    e = full(ENTRY_MESSAGE);
    e.row.direction = ROW_DIRECTION_UNKNOWN;
    check_rejected(&e);
    e = full(ENTRY_MESSAGE);
    e.row.origin = ROW_ORIGIN_UNKNOWN;
    check_rejected(&e);
    e = full(ENTRY_MESSAGE);
    e.row.action = ROW_ACTION_UNKNOWN;
    check_rejected(&e);
    e = full(ENTRY_MESSAGE);
    e.row.findings = FINDING(FIND_COUNT);
    check_rejected(&e);
    e = full(ENTRY_MESSAGE);
    e.row.rules = RULE(RULE_COUNT);
    check_rejected(&e);
    e = full(ENTRY_INVOCATION);
    e.invocation.status = CALL_UNKNOWN;
    check_rejected(&e);
    e = full(ENTRY_INVOCATION);
    e.invocation.arguments_n = e.invocation.arguments.n - 1;
    check_rejected(&e);
    e = full(ENTRY_ESCALATION);
    e.escalation.cause = ESCALATION_CAUSE_UNKNOWN;
    check_rejected(&e);
    e = full(ENTRY_RUNNING);
    e.running.server_group = -1;
    check_rejected(&e);
    e = full(ENTRY_RULES);
    e.added.rules = RULE(RULE_COUNT);
    check_rejected(&e);
}

static void test_form_unknown_kinds_are_rejected(void **state)
{
    (void)state;
    static const unsigned other[] = {0, ENTRY_RULES + 1, 100, UINT32_MAX};
    struct entry back;
    for (size_t i = 0; i < MI_COUNT(other); i++)
        assert_int_equal(form_read_entry((enum entry_kind)other[i], slice_of(""), &back),
                         MI_EINVAL);
}

static void test_form_unknown_flags_of_a_message_are_rejected(void **state)
{
    (void)state;
    struct entry e = {.kind = ENTRY_MESSAGE}, back;
    struct slice bytes = bytes_of(&e); /* the flags are after two numbers and the body's length */
    for (size_t bit = 0; bit < 32; bit++) {
        if ((bit >= 22 && bit <= 25) || bit == 27)
            continue; /* a body, not JSON, an error code, an invocation, a link */
        char *copy = unit_copy(bytes.p, bytes.n);
        copy[20 + bit / 8] ^= (char)(1u << bit % 8); /* unknown, or its number or text is missing */
        assert_int_equal(form_read_entry(ENTRY_MESSAGE, (struct slice){copy, bytes.n}, &back),
                         MI_EINVAL);
        free(copy);
    }
    for (size_t i = bytes.n - 3; i < bytes.n; i++) { /* the fixed part ends with zeros */
        char *copy = unit_copy(bytes.p, bytes.n);
        copy[i] = 1;
        assert_int_equal(form_read_entry(ENTRY_MESSAGE, (struct slice){copy, bytes.n}, &back),
                         MI_EINVAL);
        free(copy);
    }
    drop(bytes);
}

static void test_form_only_the_last_lines_of_stderr_are_kept(void **state)
{
    (void)state;
    struct entry e = full(ENTRY_ESCALATION);
    struct entry all = e, back;
    all.escalation.stderr_lines = stderr_lines;
    all.escalation.stderr_n = MI_COUNT(stderr_lines);
    struct slice bytes = bytes_of(&all);
    assert_int_equal(form_read_entry(ENTRY_ESCALATION, bytes, &back), 0);
    assert_true(same_entry(&e, &back));
    assert_ptr_equal(back.escalation.stderr_lines, back.lines);
    drop(bytes);
    for (size_t n = 0; n < ESCALATION_LINES_MAX; n++) {
        e.escalation.stderr_n = n;
        e.escalation.stderr_lines = n > 0 ? stderr_lines : NULL;
        check_round_trip(&e);
    }
}

static void test_form_strings_end_where_their_nul_is(void **state)
{
    (void)state;
    struct entry e = full(ENTRY_EVENT), back;
    struct slice bytes = bytes_of(&e);
    char *event = memmem(bytes.p, bytes.n, "spawn", 6);
    assert_non_null(event);
    event[2] = '\0'; /* shorter than its length */
    assert_int_equal(form_read_entry(ENTRY_EVENT, bytes, &back), MI_EINVAL);
    memcpy(event, "spawns", 6); /* longer: without its NUL */
    assert_int_equal(form_read_entry(ENTRY_EVENT, bytes, &back), MI_EINVAL);
    drop(bytes);

    e = full(ENTRY_RUNNING);
    bytes = bytes_of(&e);
    char *boot = memmem(bytes.p, bytes.n, e.running.boot, strlen(e.running.boot) + 1);
    assert_non_null(boot);
    boot[0] = '\0';
    assert_int_equal(form_read_entry(ENTRY_RUNNING, bytes, &back), MI_EINVAL);
    drop(bytes);
}

static void test_form_truncated_or_longer_bytes_are_rejected(void **state)
{
    (void)state;
    for (size_t i = 0; i < MI_COUNT(kinds); i++) {
        struct entry e = full(kinds[i]), back;
        if (e.kind == ENTRY_MESSAGE) {
            e = full_answer();
            e.row.target = slice_of("not in the body");
            e.invocation.result = part("arguments");
        }
        struct slice bytes = bytes_of(&e);
        for (size_t n = 0; n < bytes.n; n++) {
            char *copy = unit_copy(bytes.p, n);
            assert_int_equal(form_read_entry(e.kind, (struct slice){copy, n}, &back), MI_EINVAL);
            free(copy);
        }
        char *longer = malloc(bytes.n + 1);
        assert_non_null(longer);
        if (bytes.n > 0)
            memcpy(longer, bytes.p, bytes.n);
        longer[bytes.n] = '\0';
        assert_int_equal(form_read_entry(e.kind, (struct slice){longer, bytes.n + 1}, &back),
                         MI_EINVAL);
        free(longer);
        drop(bytes);
    }
}

/* Reads every byte of an entry: a sanitizer finds one outside. */
static void check_is_readable(const struct entry *e)
{
    struct slice again = bytes_of(e);
    struct entry back;
    assert_int_equal(form_read_entry(e->kind, again, &back), 0);
    assert_true(same_entry(e, &back));
    drop(again);
}

static void test_form_damaged_bytes_are_rejected_or_read_within_their_bounds(void **state)
{
    (void)state;
    static const uint64_t extreme[] = {
        0,
        1,
        2,
        7,
        INT32_MAX,
        UINT32_MAX - 2,
        UINT32_MAX - 1,
        UINT32_MAX,
        (uint64_t)INT64_MAX,
        UINT64_MAX - 1,
        UINT64_MAX,
    };
    size_t valid = 0, rejected = 0;
    for (size_t i = 0; i < MI_COUNT(kinds); i++) {
        struct entry e = full(kinds[i]), back;
        if (e.kind == ENTRY_MESSAGE) {
            e = full_answer();
            e.row.target = slice_of("not in the body");
            e.invocation.result = part("arguments");
        }
        struct slice bytes = bytes_of(&e);
        for (size_t at = 0; at < bytes.n; at++)
            for (size_t k = 0; k < 8 + 2 * MI_COUNT(extreme); k++) {
                char *copy = unit_copy(bytes.p, bytes.n);
                size_t x = k < 8 ? 0 : (k - 8) / 2, width = k % 2 ? 8 : 4;
                if (k < 8)
                    copy[at] ^= (char)(1u << k);
                else
                    memcpy(copy + at, &extreme[x], size_min(width, bytes.n - at));
                int st = form_read_entry(e.kind, (struct slice){copy, bytes.n}, &back);
                assert_true(st == 0 || st == MI_EINVAL);
                if (st == 0)
                    check_is_readable(&back);
                *(st == 0 ? &valid : &rejected) += 1;
                free(copy);
            }
        drop(bytes);
    }
    assert_true(valid > 1000 && rejected > 1000);
}

/* ---- the start of a session ---- */

static struct session_start full_start(char uid[UID_LEN + 1])
{
    assert_int_equal(uid_make(1700000000000000, uid), 0);
    return (struct session_start){
        .uid = {uid, UID_LEN},
        .vault = slice_of("/home/me/.local/state/mcp-interposer"),
        .name = slice_of("server"),
        .command = slice_of("[\"node\",\"server.js\"]"),
        .host = slice_of("machine"),
        .redact_rules = slice_of("{\"keys\":[]}"),
        .cwd = slice_of("/home/me/project"),
        .tools_rule = slice_of("tools = a"),
        .level = RECORD_MINIMAL,
        .sync_full = true,
        .stop_on_error = true,
        .started_wall_us = 1785542399123456,
        .pid = 4711,
    };
}

static void check_start(const struct session_start *s, int st)
{
    struct buf b = {0};
    buf_adds(&b, "before");
    form_append_session_start(&b, s);
    assert_false(b.failed);
    char *copy = unit_copy(b.p + 6, b.n - 6);
    struct session_start back;
    assert_int_equal(form_read_session_start((struct slice){copy, b.n - 6}, &back), st);
    if (st == 0)
        assert_true(same_start(s, &back));
    free(copy);
    buf_close(&b);
}

static void test_form_start_is_read_as_it_was_written(void **state)
{
    (void)state;
    char uid[UID_LEN + 1];
    struct session_start s = full_start(uid);
    check_start(&s, 0);
    s.name = s.command = s.host = s.redact_rules = s.cwd = s.tools_rule = (struct slice){0};
    s.sync_full = s.stop_on_error = false;
    s.level = RECORD_FULL;
    check_start(&s, 0);
    s.level = RECORD_LEVEL_UNKNOWN;
    check_start(&s, MI_EINVAL);
}

static void test_form_start_needs_a_uid_and_an_absolute_path(void **state)
{
    (void)state;
    char uid[UID_LEN + 1];
    struct session_start s = full_start(uid);
    static const char *const uids[] = {"", "../../../../etc/passwd0000", "short"};
    for (size_t i = 0; i < MI_COUNT(uids); i++) {
        s.uid = slice_of(uids[i]);
        check_start(&s, MI_EINVAL);
    }
    s.uid = (struct slice){0};
    check_start(&s, MI_EINVAL);
    s = full_start(uid);
    static const struct slice vaults[] = {{NULL, 0}, {"", 0}, {"vault", 5}, {"/a\0b", 4}};
    for (size_t i = 0; i < MI_COUNT(vaults); i++) {
        s.vault = vaults[i];
        check_start(&s, MI_EINVAL);
    }
}

static void test_form_start_damaged_bytes_are_rejected_or_read_within_their_bounds(void **state)
{
    (void)state;
    char uid[UID_LEN + 1];
    struct session_start s = full_start(uid), back;
    struct buf b = {0};
    form_append_session_start(&b, &s);
    for (size_t n = 0; n < b.n; n++) {
        char *copy = unit_copy(b.p, n);
        assert_int_equal(form_read_session_start((struct slice){copy, n}, &back), MI_EINVAL);
        free(copy);
    }
    for (size_t at = 0; at < b.n * 8; at++) {
        char *copy = unit_copy(b.p, b.n);
        copy[at / 8] ^= (char)(1u << at % 8);
        int st = form_read_session_start((struct slice){copy, b.n}, &back);
        assert_true(st == 0 || st == MI_EINVAL);
        if (st == 0)
            check_start(&back, 0);
        free(copy);
    }
    buf_close(&b);
}

static void test_form_start_without_memory_fails(void **state)
{
    (void)state;
    char uid[UID_LEN + 1];
    struct session_start s = full_start(uid);
    struct buf b = {.max = 50};
    form_append_session_start(&b, &s);
    assert_true(b.failed);
    assert_int_equal(b.n, 0);
    buf_close(&b);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_form_every_kind_is_read_as_it_was_written),
        cmocka_unit_test(test_form_each_field_of_a_message_is_read_as_it_was_written),
        cmocka_unit_test(test_form_each_field_of_an_invocation_is_read_as_it_was_written),
        cmocka_unit_test(test_form_a_missing_text_stays_missing_and_an_empty_one_empty),
        cmocka_unit_test(test_form_entries_with_nothing_set),
        cmocka_unit_test(test_form_an_event_without_a_kind_is_rejected),
        cmocka_unit_test(test_form_texts_within_the_body_are_not_written_twice),
        cmocka_unit_test(test_form_an_answer_is_read_with_the_invocation_that_it_ends),
        cmocka_unit_test(test_form_the_texts_of_an_invocation_may_lie_in_the_answer),
        cmocka_unit_test(test_form_an_answer_whose_invocation_cannot_be_is_rejected),
        cmocka_unit_test(test_form_texts_outside_the_body),
        cmocka_unit_test(test_form_every_value_of_an_enum),
        cmocka_unit_test(test_form_values_that_are_not_one_of_the_enum_are_rejected),
        cmocka_unit_test(test_form_unknown_kinds_are_rejected),
        cmocka_unit_test(test_form_unknown_flags_of_a_message_are_rejected),
        cmocka_unit_test(test_form_only_the_last_lines_of_stderr_are_kept),
        cmocka_unit_test(test_form_strings_end_where_their_nul_is),
        cmocka_unit_test(test_form_truncated_or_longer_bytes_are_rejected),
        cmocka_unit_test(test_form_damaged_bytes_are_rejected_or_read_within_their_bounds),
        cmocka_unit_test(test_form_start_is_read_as_it_was_written),
        cmocka_unit_test(test_form_start_needs_a_uid_and_an_absolute_path),
        cmocka_unit_test(test_form_start_damaged_bytes_are_rejected_or_read_within_their_bounds),
        cmocka_unit_test(test_form_start_without_memory_fails),
    };
    return cmocka_run_group_tests_name("form", tests, NULL, NULL);
}
