#include "vault/store/columns.h"

#include "model/fields.h"
#include "vault/store/schema.h"

#define LETTERS "abcdefghijklmnopqrstuvwxyz_"

/* The arguments of columns_expand_statement(). */
struct expanding {
    int64_t version;
    bool store;
    struct buf *to;
};

static void add_column(const struct expanding *x, const struct record_field *f, const char *table)
{
    if (x->store ? f->stored : f->since <= x->version)
        buf_printf(x->to, ", %s%s", table, f->name);
    else
        buf_adds(x->to, ", NULL");
}

static void add_columns_from_index(const struct expanding *x, const struct record_fields *s,
                                   size_t from, const char *table)
{
    for (size_t i = from; i < s->n; i++)
        add_column(x, &s->list[i], table);
}

static void add_columns_by_evidence_kind(const struct expanding *x, const struct record_fields *s,
                                         enum field_cover cover)
{
    for (size_t i = 0; i < s->n; i++)
        if (s->list[i].evidence == cover)
            add_column(x, &s->list[i], "");
}

static void add_record_columns(const struct expanding *x, const struct record_fields *s)
{
    add_columns_by_evidence_kind(x, s, COVERED_OPEN);
    add_columns_by_evidence_kind(x, s, COVERED_TAIL);
}

static void add_columns_of_name(const struct expanding *x, struct slice name)
{
    if (slice_is(name, "session"))
        add_columns_from_index(x, &fields_of_session, 0, "s.");
    else if (slice_is(name, "message"))
        add_columns_from_index(x, &fields_of_message, 1, "m.");
    else if (slice_is(name, "event"))
        add_columns_from_index(x, &fields_of_event, 1, "e.");
    else if (slice_is(name, "session_record"))
        add_record_columns(x, &fields_of_session);
    else if (slice_is(name, "message_record"))
        add_record_columns(x, &fields_of_message);
    else if (slice_is(name, "event_record"))
        add_record_columns(x, &fields_of_event);
    else if (slice_is(name, "end_record"))
        add_columns_by_evidence_kind(x, &fields_of_session, COVERED_END);
    else if (slice_is(name, "number"))
        buf_adds(x->to, x->store ? "s.number" : "s.id");
    else if (slice_is(name, "sent"))
        buf_adds(x->to, x->store ? "s.sent IS 1"
                                 : "EXISTS (SELECT 1 FROM events e WHERE e.session_id = s.id"
                                   " AND e.kind = 'sent')");
    else if (slice_is(name, "revision"))
        buf_adds(x->to, x->store || x->version >= SCHEMA_CALLS ? "m.revision" : "NULL");
    else if (x->store || x->version >= SCHEMA_EVIDENCE)
        buf_adds(x->to, "(s.salt IS NOT NULL)"
                        " + (s.salt IS NOT NULL AND s.end_commitment IS NOT NULL)");
    else
        buf_adds(x->to, "0");
}

void columns_expand_statement(const char *sql, int64_t version, bool store, struct buf *ret)
{
    struct expanding x = {version, store, ret};
    for (const char *at; (at = strchr(sql, '@')) != NULL;) {
        struct slice name = {at + 1, strspn(at + 1, LETTERS)};
        buf_add(ret, sql, (size_t)(at - sql));
        add_columns_of_name(&x, name);
        sql = name.p + name.n;
    }
    buf_adds(ret, sql);
}

sqlite3_stmt *columns_prepare_statement(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *q = NULL;
    struct buf text = {0};
    columns_expand_statement(sql, SCHEMA_VERSION, false, &text);
    if (!text.failed)
        (void)sqlite3_prepare_v2(db, buf_str(&text), -1, &q, NULL);
    buf_close(&text);
    return q;
}
