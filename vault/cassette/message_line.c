#include "vault/cassette/message_line.h"

#include "vault/cassette/cassette_file.h"
#include "vault/cassette/members.h"
#include "wire/json/text.h"

/* clang-format off */
/* The members in the order of docs/cassette.md, which is the order in which they are written. */
#define LINE_MEMBERS(MEMBER)                                      \
    /* name, type, required, first version, field (records.h) */  \
    MEMBER(t,          NUMBER, true,    0,    t_us)               \
    MEMBER(dir,        STRING, true,    0,    direction)          \
    MEMBER(kind,       STRING, false,   0,    kind)               \
    MEMBER(origin,     STRING, false,   0,    origin)             \
    MEMBER(action,     STRING, false,   0,    action)             \
    MEMBER(size,       NUMBER, false,   0,    size)               \
    MEMBER(redactions, NUMBER, false,   0,    redactions)         \
    MEMBER(re,         NUMBER, false,   0,    request_seq)        \
    MEMBER(member,     TRUE,   false,   0,    batch_seq)          \
    MEMBER(finding,    STRING, false,   0,    finding)            \
    MEMBER(id,         NONE,   false,   0,    rpc_id)             \
    MEMBER(method,     STRING, false,   0,    method)             \
    MEMBER(target,     STRING, false,   0,    target)             \
    MEMBER(code,       NUMBER, false,   0,    error_code)         \
    MEMBER(revision,   STRING, false,   2,    revision)           \
    MEMBER(msg,        NONE,   false,   0,    body)               \
    MEMBER(text,       STRING, false,   0,    body)
/* clang-format on */

#define NUMBERED(name, ...) M_##name,
#define DESCRIBED(name, type, required, since, field) {#name, JSON_##type, required, since},
#define PLACED(name, type, required, since, field) MESSAGE_AT_##field,
enum { LINE_MEMBERS(NUMBERED) M_COUNT };
static const struct cassette_member members[M_COUNT] = {LINE_MEMBERS(DESCRIBED)};
static const int fields[M_COUNT] = {LINE_MEMBERS(PLACED)};

static const struct record_field *get_field_of_member(int member)
{
    return &fields_of_message.list[fields[member]];
}

/* ---- reading ---- */

static int parse_member_as_listed_word(struct json_value v, const char *name,
                                       const struct value_words *words, struct buf *texts,
                                       unsigned *ret, struct buf *why)
{
    struct slice text = {0};
    int st = cassette_read_string(v, name, texts, &text, why);
    if (st < 0)
        return st;
    *ret = value_find_by_word(words, text);
    if (*ret < words->n)
        return 0;
    buf_printf(why, "`%s` must be one of: ", name);
    for (unsigned i = 0; i < words->n; i++)
        buf_printf(why, "%s%s", i > 0 ? ", " : "", value_get_word(words, i));
    return MI_EPROTO;
}

static int read_member(int member, struct json_value v, struct buf *texts, struct query_message *m,
                       struct buf *why)
{
    const struct record_field *f = get_field_of_member(member);
    const char *name = members[member].name;
    if (f->type == VALUE_WORD)
        return parse_member_as_listed_word(v, name, f->words, texts,
                                           field_get_unsigned_pointer(f, m), why);
    if (f->type == VALUE_TEXT || member == M_text)
        return cassette_read_string(v, name, texts, field_get_text_in_record(f, m), why);
    switch (member) {
    case M_id:
    case M_msg:
        *field_get_text_in_record(f, m) = v.text;
        return 0;
    case M_member:
        m->batch_seq = 1;
        return 0;
    case M_code:
        m->has_error_code = json_int(v, &m->error_code);
        if (m->has_error_code)
            return 0;
        buf_adds(why, "`code` must be a whole number");
        return MI_EPROTO;
    default:
        return cassette_read_unsigned_number(v, name, field_get_number_in_record(f, m), why);
    }
}

int message_line_read(struct slice line, int version, struct buf *texts, struct query_message *ret,
                      struct buf *why)
{
    struct json_value v[M_COUNT];
    int st = cassette_read_members(line, members, M_COUNT, version, v, why);
    *ret = (struct query_message){
        .direction = ROW_DIRECTION_UNKNOWN, .kind = KIND_UNKNOWN, .size = -1, .request_seq = -1};
    for (int i = 0; st == 0 && i < M_COUNT; i++)
        if (v[i].type != JSON_NONE)
            st = read_member(i, v[i], texts, ret, why);
    if (st == 0 && v[M_msg].type != JSON_NONE && v[M_text].type != JSON_NONE) {
        buf_adds(why, "a line has either `msg` or `text`, not both");
        st = MI_EPROTO;
    }
    return st;
}

/* ---- writing ---- */

/* Whether the line must have this field: its value is known and cannot be derived. */
static bool field_must_be_written(const struct record_field *f, const struct query_message *message,
                                  const struct cassette_derived *derived)
{
    /* the casts remove const; neither struct is changed */
    void *m = (void *)(uintptr_t)message, *d = (void *)(uintptr_t)derived;
    if (field_is_text(f))
        return field_get_text_in_record(f, m)->p != NULL &&
               !slice_eq(*field_get_text_in_record(f, m), *field_get_text_in_record(f, d));
    if (f->type == VALUE_WORD)
        return *field_get_unsigned_pointer(f, m) != *field_get_unsigned_pointer(f, d) ||
               *field_get_unsigned_pointer(f, m) >= f->words->n;
    int64_t n = *field_get_number_in_record(f, m);
    if (f->null == VALUE_UNLESS)
        return *field_get_flag_in_record(f, m) &&
               (!*field_get_flag_in_record(f, d) || n != *field_get_number_in_record(f, d));
    return n >= 0 && n != *field_get_number_in_record(f, d);
}

static void write_member(struct json_out *j, int member, const struct query_message *m)
{
    const struct record_field *f = get_field_of_member(member);
    const char *name = members[member].name;
    struct cell c = field_get(f, m);
    if (member == M_member)
        json_out_bool(j, name, true);
    else if (f->type == VALUE_JSON)
        json_out_add_visible_json(j, name, c.text);
    else if (c.type == CELL_TEXT)
        json_out_text(j, name, c.text);
    else
        json_out_int(j, name, c.number);
}

void message_line_write(struct json_out *j, int version, const struct query_message *m,
                        const struct cassette_derived *derived, bool is_msg)
{
    json_out_object(j, NULL);
    for (int i = 0; i < M_msg; i++)
        if (members[i].since <= version &&
            (members[i].required || field_must_be_written(get_field_of_member(i), m, derived)))
            write_member(j, i, m);
    if (m->body.p != NULL && is_msg)
        json_out_raw(j, "msg", m->body);
    else if (m->body.p != NULL)
        json_out_text(j, "text", m->body);
    json_out_end(j);
}
