/* fields.h - accesses the fields of a record (model/records.h) by index, at run time.
 *
 *     for (size_t i = 0; i < fields_of_session.n; i++)
 *         show(fields_of_session.list[i].name, field_get(&fields_of_session.list[i], &session));
 *
 * Record    struct session_record and the others below, or a struct that begins with the same
 *           members.
 * Owns      nothing: texts of cells are borrowed from the record.
 * Blocks    never. Pure. */
#ifndef MI_MODEL_FIELDS_H
#define MI_MODEL_FIELDS_H

#include "model/cell.h"
#include "model/records.h"
#include "model/values.h"

/* ---- members of a struct ---- */

#define FIELD_C_NUMBER int64_t
#define FIELD_C_TIME int64_t
#define FIELD_C_SINCE int64_t
#define FIELD_C_TOOK int64_t
#define FIELD_C_SIZE int64_t
#define FIELD_C_TEXT struct slice
#define FIELD_C_JSON struct slice
#define FIELD_C_FLAG bool
#define FIELD_C_WORD(type, words) enum type
#define FIELD_FLAG_NOT_NULL
#define FIELD_FLAG_NO_TEXT
#define FIELD_FLAG_ZERO
#define FIELD_FLAG_MINUS_ONE
#define FIELD_FLAG_UNLESS(flag) bool flag;
/* Declares the struct member of a field. If the field has a flag, declares the flag as well. Pass
 * this macro to the tables of model/records.h. */
#define FIELD_MEMBER(name, ...) FIELD_MEMBER_(name, __VA_ARGS__, )
#define FIELD_MEMBER_(name, type, null, ...)                                                       \
    FIELD_C_##type name;                                                                           \
    FIELD_FLAG_##null

/* Declares the struct member of a field if the field can change while the session runs. */
#define FIELD_UPDATE_MEMBER(name, type, null, since, evidence, cassette, store, json, journal)     \
    FIELD_IF(FIELD_UPDATE_##journal)(FIELD_MEMBER(name, type, null, journal))

struct session_record {
    SESSION_FIELDS(FIELD_MEMBER)
};
struct update_record {
    SESSION_FIELDS(FIELD_UPDATE_MEMBER)
};
struct message_record {
    MESSAGE_FIELDS(FIELD_MEMBER)
};
struct event_record {
    EVENT_FIELDS(FIELD_MEMBER)
};
struct call_record {
    CALL_FIELDS(FIELD_MEMBER)
};
struct operation_record {
    OPERATION_FIELDS(FIELD_MEMBER)
};
struct problem_record {
    PROBLEM_FIELDS(FIELD_MEMBER)
};
struct escalation_head {
    ESCALATION_HEAD_FIELDS(FIELD_MEMBER)
};

/* ---- tables of fields ---- */

enum value_type {
    VALUE_NUMBER,
    VALUE_TIME,
    VALUE_SINCE,
    VALUE_TOOK,
    VALUE_SIZE,
    VALUE_TEXT,
    VALUE_JSON,
    VALUE_FLAG, /* true or false; used for lists that commands print, not in fields_of_* */
    VALUE_WORD,
};
enum value_null { VALUE_NOT_NULL, VALUE_NO_TEXT, VALUE_ZERO, VALUE_MINUS_ONE, VALUE_UNLESS };
enum field_cover { COVERED_NOT, COVERED_OPEN, COVERED_BODY, COVERED_TAIL, COVERED_END };

struct record_field {
    const char *name;
    enum value_type type;
    enum value_null null;
    const struct value_words *words; /* VALUE_WORD */
    /* at: offset of the member in the record; flag: offset of its flag (VALUE_UNLESS) */
    size_t at, flag;
    int since;                 /* first version of the schema that has the column */
    enum field_cover evidence; /* which record of the evidence covers the field */
    int cassette; /* first cassette version whose header has the field; 0: no version */
    bool needed;  /* every cassette of version `cassette` or later has the field in its header */
    bool stored;  /* the field is sent to stores */
    bool json;    /* the field is a member of the objects that --json prints */
};

/* The first members of a struct record_field, made from the words in model/records.h. RECORD must
 * be defined as the struct of the record. */
#define FIELD_HEAD(as, member, of_type, if_null)                                                   \
    .name = as, .type = FIELD_TYPE_##of_type, .null = FIELD_NULL_##if_null,                        \
    .at = offsetof(RECORD, member)
#define FIELD_TYPE_NUMBER VALUE_NUMBER
#define FIELD_TYPE_TIME VALUE_TIME
#define FIELD_TYPE_SINCE VALUE_SINCE
#define FIELD_TYPE_TOOK VALUE_TOOK
#define FIELD_TYPE_SIZE VALUE_SIZE
#define FIELD_TYPE_TEXT VALUE_TEXT
#define FIELD_TYPE_JSON VALUE_JSON
#define FIELD_TYPE_FLAG VALUE_FLAG
#define FIELD_TYPE_WORD(type, table) VALUE_WORD, .words = &(table)
#define FIELD_NULL_NOT_NULL VALUE_NOT_NULL
#define FIELD_NULL_NO_TEXT VALUE_NO_TEXT
#define FIELD_NULL_ZERO VALUE_ZERO
#define FIELD_NULL_MINUS_ONE VALUE_MINUS_ONE
#define FIELD_NULL_UNLESS(member) VALUE_UNLESS, .flag = offsetof(RECORD, member)

struct record_fields {
    const struct record_field *list;
    size_t n;
};
extern const struct record_fields fields_of_session, fields_of_message, fields_of_event,
    fields_of_call, fields_of_operation, fields_of_problem, fields_of_escalation_head;
extern const struct record_fields fields_of_update; /* the fields of struct update_record */

/* Indexes of the fields in fields_of_message, fields_of_escalation_head and fields_of_update. */
/* clang-format off */
#define FIELD_AT_MESSAGE(name, ...) MESSAGE_AT_##name,
#define FIELD_AT_ESCALATION_HEAD(name, ...) ESCALATION_HEAD_AT_##name,
#define FIELD_AT_UPDATE(name, type, null, since, evidence, cassette, store, json, journal)         \
    FIELD_IF(FIELD_UPDATE_##journal)(UPDATE_AT_##name,)
enum { MESSAGE_FIELDS(FIELD_AT_MESSAGE) FIELDS_OF_MESSAGE };
enum { ESCALATION_HEAD_FIELDS(FIELD_AT_ESCALATION_HEAD) FIELDS_OF_ESCALATION_HEAD };
enum { SESSION_FIELDS(FIELD_AT_UPDATE) FIELDS_OF_UPDATE };
/* clang-format on */

static inline bool field_is_text(const struct record_field *f)
{
    return f->type == VALUE_TEXT || f->type == VALUE_JSON;
}

/* ---- where a field is, by its type ---- */

static inline struct slice *field_get_text_in_record(const struct record_field *f, void *record)
{
    return (struct slice *)((char *)record + f->at);
}
static inline int64_t *field_get_number_in_record(const struct record_field *f, void *record)
{
    return (int64_t *)((char *)record + f->at);
}
static inline unsigned *field_get_unsigned_pointer(const struct record_field *f, void *record)
{
    return (unsigned *)((char *)record + f->at);
}
/* call only for fields with VALUE_UNLESS */
static inline bool *field_get_flag_in_record(const struct record_field *f, void *record)
{
    return (bool *)((char *)record + f->flag);
}

/* Returns the number that stands for NULL. Not for fields with VALUE_NOT_NULL or VALUE_UNLESS. */
static inline int64_t field_get_number_for_null(const struct record_field *f)
{
    return f->null == VALUE_MINUS_ONE ? -1 : 0;
}

/* ---- any field ---- */

/* Returns a cell: CELL_NULL, CELL_INT, or CELL_TEXT for texts and words. */
static inline struct cell field_get(const struct record_field *f, const void *record)
{
    void *from = (void *)(uintptr_t)record; /* the cast is safe because the record is only read */
    if (field_is_text(f)) {
        struct slice text = *field_get_text_in_record(f, from);
        return (struct cell){text.p != NULL ? CELL_TEXT : CELL_NULL, 0, text};
    }
    if (f->type == VALUE_WORD)
        return (struct cell){
            CELL_TEXT, 0, value_get_word_as_slice(f->words, *field_get_unsigned_pointer(f, from))};
    int64_t n =
        f->type == VALUE_FLAG ? *((bool *)from + f->at) : *field_get_number_in_record(f, from);
    bool null = f->null == VALUE_UNLESS
                    ? !*field_get_flag_in_record(f, from)
                    : f->null != VALUE_NOT_NULL && n == field_get_number_for_null(f);
    return (struct cell){null ? CELL_NULL : CELL_INT, null ? 0 : n, {NULL, 0}};
}

/* Stores the value of a cell in a field. A CELL_BLOB counts as a text. Any other cell that has not
 * the type of the field counts as NULL. For NULL, the value that stands for NULL is stored: a
 * missing text, 0, -1, or UNKNOWN. For a word that is not in the table, UNKNOWN is stored. */
void field_set(const struct record_field *f, void *record, struct cell v);

/* Returns the number of bytes that fields_copy_texts() writes. */
size_t fields_text_bytes(const struct record_fields *s, const void *record);
/* Copies the texts of a record to `to`, each with a NUL after it, and makes the record point there.
 * Returns the end of the copies. */
char *fields_copy_texts(const struct record_fields *s, void *record, char *to);

#endif
