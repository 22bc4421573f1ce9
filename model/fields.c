#include "model/fields.h"

#define EVIDENCE_NO COVERED_NOT
#define EVIDENCE_OPEN COVERED_OPEN
#define EVIDENCE_BODY COVERED_BODY
#define EVIDENCE_TAIL COVERED_TAIL
#define EVIDENCE_END COVERED_END
#define CASSETTE_NO 0
#define CASSETTE_YES 1
#define CASSETTE_NEEDED 1, .needed = true
#define CASSETTE_V2 2
#define STORE_NO false
#define STORE_KEY true
#define STORE_YES true
#define STORE_FULL true
#define STORE_PROGRAM true
#define STORE_LATER true
#define JSON_NO false
#define JSON_YES true

/* clang-format off */
#define DESCRIBE(field_name, field_type, field_get_number_for_null, version, covered, member, sent, shown, ...)   \
    {                                                                                              \
        FIELD_HEAD(#field_name, field_name, field_type, field_get_number_for_null), .since = version,             \
        .evidence = EVIDENCE_##covered,                                                            \
        .cassette = CASSETTE_##member, .stored = STORE_##sent, .json = JSON_##shown                \
    },
/* clang-format on */

#define RECORD struct session_record
static const struct record_field sessions[] = {SESSION_FIELDS(DESCRIBE)};
#undef RECORD
#define RECORD struct update_record
#define DESCRIBE_UPDATE(name, type, null, since, evidence, cassette, store, json, journal)         \
    FIELD_IF(FIELD_UPDATE_##journal)                                                               \
    (DESCRIBE(name, type, null, since, evidence, cassette, store, json, journal))
static const struct record_field updates[] = {SESSION_FIELDS(DESCRIBE_UPDATE)};
#undef RECORD
#define RECORD struct message_record
static const struct record_field messages[] = {MESSAGE_FIELDS(DESCRIBE)};
#undef RECORD
#define RECORD struct event_record
static const struct record_field events[] = {EVENT_FIELDS(DESCRIBE)};
#undef RECORD
#define RECORD struct call_record
static const struct record_field calls[] = {CALL_FIELDS(DESCRIBE)};
#undef RECORD
#define RECORD struct operation_record
static const struct record_field operations[] = {OPERATION_FIELDS(DESCRIBE)};
#undef RECORD
#define RECORD struct problem_record
#define DESCRIBE_PROBLEM(name, type, null) DESCRIBE(name, type, null, 0, NO, NO, NO, NO, NO)
static const struct record_field problems[] = {PROBLEM_FIELDS(DESCRIBE_PROBLEM)};
#undef RECORD
#define RECORD struct escalation_head
#define DESCRIBE_HEAD(name, type, null, shown) DESCRIBE(name, type, null, 0, NO, NO, NO, shown, NO)
static const struct record_field heads[] = {ESCALATION_HEAD_FIELDS(DESCRIBE_HEAD)};

const struct record_fields fields_of_session = {sessions, MI_COUNT(sessions)};
const struct record_fields fields_of_update = {updates, MI_COUNT(updates)};
const struct record_fields fields_of_message = {messages, MI_COUNT(messages)};
const struct record_fields fields_of_event = {events, MI_COUNT(events)};
const struct record_fields fields_of_call = {calls, MI_COUNT(calls)};
const struct record_fields fields_of_operation = {operations, MI_COUNT(operations)};
const struct record_fields fields_of_problem = {problems, MI_COUNT(problems)};
const struct record_fields fields_of_escalation_head = {heads, MI_COUNT(heads)};

/* A field of type VALUE_WORD is an enum, which is read and set as an unsigned number. */
_Static_assert(sizeof(enum row_kind) == sizeof(unsigned), "an enum is an unsigned int");

void field_set(const struct record_field *f, void *record, struct cell v)
{
    bool has_text = v.type == CELL_TEXT || v.type == CELL_BLOB;
    struct slice text = has_text ? v.text : (struct slice){0};
    if (field_is_text(f))
        *field_get_text_in_record(f, record) = text;
    else if (f->type == VALUE_WORD)
        *field_get_unsigned_pointer(f, record) = value_find_by_word(f->words, text);
    else if (f->type == VALUE_FLAG)
        *((bool *)record + f->at) = v.type == CELL_INT && v.number != 0;
    else
        *field_get_number_in_record(f, record) =
            v.type == CELL_INT ? v.number : field_get_number_for_null(f);
    if (f->null == VALUE_UNLESS)
        *field_get_flag_in_record(f, record) = v.type == CELL_INT;
}

size_t fields_text_bytes(const struct record_fields *s, const void *record)
{
    void *from = (void *)(uintptr_t)record; /* the cast is safe because the record is only read */
    size_t n = 0;
    for (const struct record_field *f = s->list; f < s->list + s->n; f++)
        if (field_is_text(f) && field_get_text_in_record(f, from)->p != NULL)
            n += field_get_text_in_record(f, from)->n + 1;
    return n;
}

char *fields_copy_texts(const struct record_fields *s, void *record, char *to)
{
    for (const struct record_field *f = s->list; f < s->list + s->n; f++) {
        struct slice *text = field_get_text_in_record(f, record);
        if (!field_is_text(f) || text->p == NULL)
            continue;
        memcpy(to, text->p, text->n);
        text->p = to;
        to += text->n;
        *to++ = '\0';
    }
    return to;
}
