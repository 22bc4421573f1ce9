#include "vault/proof/bundle_record.h"

/* Copies values of the record `r`, from r->field[at] on, to members of *ret: to the fields in `s`
 * whose member `evidence` is `cover`. Returns the index in r->field after the last copied value. */
static size_t bundle_record_fill_row_fields(const struct record_fields *s, enum field_cover cover,
                                            const struct bundle_record *r, size_t at, void *ret)
{
    for (const struct record_field *f = s->list; f < s->list + s->n; f++) {
        if (f->evidence != cover)
            continue;
        struct slice v = r->field[at++];
        struct cell c = {.type = CELL_NULL};
        if (v.p != NULL && (field_is_text(f) || f->type == VALUE_WORD))
            c = (struct cell){.type = CELL_TEXT, .text = v};
        else if (v.p != NULL)
            c = (struct cell){.type = CELL_INT, .number = bundle_parse_number(v)};
        field_set(f, ret, c);
    }
    return at;
}

struct query_message bundle_record_to_message(const struct bundle_record *r)
{
    struct query_message m = {0};
    size_t at = bundle_record_fill_row_fields(&fields_of_message, COVERED_OPEN, r, 0, &m);
    at = bundle_record_fill_row_fields(&fields_of_message, COVERED_BODY, r, at, &m);
    bundle_record_fill_row_fields(&fields_of_message, COVERED_TAIL, r, at, &m);
    return m;
}

void bundle_record_to_session(struct query_session *s, const struct bundle_record *r)
{
    *s = (struct query_session){0};
    size_t at = bundle_record_fill_row_fields(&fields_of_session, COVERED_OPEN, r, 0, s);
    bundle_record_fill_row_fields(&fields_of_session, COVERED_TAIL, r, at, s);
}

void bundle_record_to_session_end(struct query_session *s, const struct bundle_record *r)
{
    bundle_record_fill_row_fields(&fields_of_session, COVERED_END, r, 0, s);
}
