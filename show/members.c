/* members.c - a row as a JSON object, or as a line of CSV. */
#include "show/show.h"

#include "base/text.h"
#include "wire/json/scan.h"
#include "wire/json/text.h"

#include <stdlib.h>

bool show_list_has_column(const struct show_list *l, const struct show_column *c)
{
    return c->when == 0 || (c->when & l->when) != 0;
}

const struct show_column *show_list_find_column(const struct show_list *l, const char *name)
{
    for (const struct show_column *c = l->column; c < l->column + l->n; c++)
        if (c->field.name != NULL && strcmp(c->field.name, name) == 0)
            return c;
    return NULL;
}

/* ---- JSON ---- */

/* Newlines between the tokens of JSON become blanks. JSON that is nested too deeply for other
 * parsers is written as a string, because such a parser would reject the whole line. */
void show_text_as_json_member(struct json_out *j, const char *name, struct slice text)
{
    struct json_scan scan;
    if (text.p == NULL || json_scan(text, NULL, NULL, &scan) < 0 || scan.deep)
        json_out_text(j, name, text);
    else
        json_out_add_visible_json(j, name, scan.root);
}

static void add_field_member(struct json_out *j, const struct record_field *f, const void *record)
{
    struct cell c = field_get(f, record);
    if (f->type == VALUE_JSON)
        show_text_as_json_member(j, f->name, c.text);
    else if (f->type == VALUE_FLAG)
        json_out_bool(j, f->name, c.number != 0);
    else if (c.type == CELL_INT)
        json_out_int(j, f->name, c.number);
    else
        json_out_text(j, f->name, c.text); /* writes null for CELL_NULL */
}

void show_add_json_fields(struct json_out *j, const struct record_fields *s, const void *record,
                          int64_t started_at_us)
{
    for (const struct record_field *f = s->list; f < s->list + s->n; f++) {
        if (f->json)
            add_field_member(j, f, record);
        if (f->json && f->type == VALUE_SINCE)
            json_out_int(j, "at_us", started_at_us + field_get(f, record).number);
    }
}

void show_row_as_json_members(struct json_out *j, const struct show_list *l, const void *row)
{
    if (l->type != NULL)
        json_out_str(j, "type", l->type);
    for (const struct show_column *c = l->column; c < l->column + l->n; c++) {
        if (!c->json || !show_list_has_column(l, c))
            continue;
        if (c->record != NULL)
            show_add_json_fields(j, c->record, (const char *)row + c->field.at, 0);
        else if (c->value != NULL)
            c->value(j, c->field.name, row);
        else
            add_field_member(j, &c->field, row);
    }
}

void show_row_as_json(struct json_out *j, const struct show_list *l, const void *row)
{
    json_out_object(j, NULL);
    show_row_as_json_members(j, l, row);
    json_out_end(j);
}

/* ---- CSV ---- */

void show_text_as_csv(struct buf *b, struct slice text)
{
    struct buf visible = {0};
    if (text.n > 0 && memchr("=+-@", text.p[0], 4) != NULL)
        buf_addc(&visible, '\'');
    if (text.p != NULL)
        text_append_visible(&visible, text);
    struct slice s = buf_slice(&visible);
    bool blank = s.n > 0 && (s.p[0] == ' ' || s.p[s.n - 1] == ' ');
    bool quoted = blank || memchr(s.p, '"', s.n) != NULL || memchr(s.p, ',', s.n) != NULL;
    buf_adds(b, quoted ? "\"" : "");
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '"')
            buf_addc(b, '"');
        buf_addc(b, s.p[i]);
    }
    buf_adds(b, quoted ? "\"" : "");
    b->failed |= visible.failed;
    buf_close(&visible);
}

void show_row_as_csv(struct buf *b, const struct show_list *l, const void *row)
{
    struct buf json = {0}, text = {0};
    struct json_out j = json_out_to(&json);
    struct slice key;
    struct json_value v;
    void *zeros = calloc(1, l->size); /* an empty row, for the line of column names */
    bool first = true;
    struct show_list untyped = *l;
    untyped.type = NULL; /* omit `type`, because it is the same in each line */
    if (zeros != NULL)
        show_row_as_json(&j, &untyped, row != NULL ? row : zeros);
    const char *object = buf_str(&json);
    b->failed |= object[0] != '{' || zeros == NULL;
    struct json_walk w = b->failed ? (struct json_walk){0} : json_walk_begin_at_bracket(object);
    for (; w.p != NULL && json_walk_next(&w, &key, &v); first = false) {
        buf_adds(b, first ? "" : ",");
        buf_clear(&text);
        if (v.type == JSON_STRING)
            json_unescape(&text, json_string_raw(v));
        if (row == NULL)
            buf_slice_add(b, key);
        else if (v.type == JSON_NUMBER)
            buf_slice_add(b, v.text);
        else if (v.type != JSON_NULL)
            show_text_as_csv(b, v.type == JSON_STRING ? buf_slice(&text) : v.text);
        b->failed |= text.failed;
    }
    free(zeros);
    buf_close(&json);
    buf_close(&text);
}
