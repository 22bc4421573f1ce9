/* show.h - how a row is shown: a table of columns defines its JSON members, CSV and cells.
 *
 *     struct row { int64_t pid; struct slice server; };
 *     #define RECORD struct row
 *     static const struct show_column columns[] = {
 *         {SHOW(pid, NUMBER, ZERO), .json = true, .table = {"PID", 10, 0}, .ui = {"pid", 9, 60}},
 *         {SHOW(server, TEXT, NOT_NULL), .json = true, .table = {"SERVER", 24, -8}},
 *     };
 *
 * Rules     each form (JSON, the table on a terminal, `ui`) shows the columns that are marked for
 *           it, in the order of the array; a member of the row may have several columns. CSV has
 *           the names and the values of the JSON members: text as show_text_as_csv() writes it,
 *           objects and arrays as JSON, null as an empty field.
 * Owns      nothing: texts of a row are borrowed, output is appended to buffers of the caller,
 *           which report errors.
 * Blocks    never. Pure. */
#ifndef MI_SHOW_SHOW_H
#define MI_SHOW_SHOW_H

#include "base/json_out.h"
#include "model/fields.h"
#include "show/style.h"

struct show_column {
    struct record_field field;
    /* If `record` is not NULL, the column shows all fields of the record at offset field.at. */
    const struct record_fields *record;
    bool json; /* the column is a member of the JSON object */
    struct {
        /* title of the column in the table; NULL: the table does not show the column */
        const char *title;
        size_t max; /* maximum width on a terminal; longer cells are truncated */
        int spare;  /* how the column is shown on a narrow terminal: see cli/frame/table.h */
    } table;
    struct {
        const char *title; /* title of the column in `ui`; NULL: `ui` does not show the column */
        size_t width;      /* the first column also gets the remaining width */
        size_t from;       /* the column is shown if the list is at least this wide */
    } ui;
    unsigned when;        /* the column exists if show_list.when has one of these bits; 0: always */
    enum out_style style; /* style of the cell; a cell with the number 0 is always plain */
    /* Optional callbacks: they return the style of the cell, append its text for the value `v`, and
     * write its JSON value. */
    enum out_style (*style_of)(const void *row);
    void (*text)(struct buf *b, const void *row, struct cell v);
    void (*value)(struct json_out *j, const char *name, const void *row);
};

/* Describes the field of a column. The field is a member of RECORD, and its name is also the name
 * in JSON. type and null: as in model/records.h. */
#define SHOW(member, type, null) SHOW_AS(#member, member, type, null)
#define SHOW_AS(name, member, type, null) .field = {FIELD_HEAD(name, member, type, null)}
#define SHOW_RECORD(member, fields) .field.at = offsetof(RECORD, member), .record = &(fields)

struct show_list {
    const char *type; /* member `type` of each JSON object; NULL: no such member */
    const struct show_column *column;
    size_t n, size; /* `n`: number of columns; `size`: size of a row in bytes */
    unsigned when;
};
#define SHOW_LIST(type, columns) type, columns, MI_COUNT(columns), sizeof(RECORD)

/* Returns the column with this name, or NULL. */
const struct show_column *show_list_find_column(const struct show_list *l, const char *name);
/* Whether the list shows the column, according to `when`. */
bool show_list_has_column(const struct show_list *l, const struct show_column *c);

/* Writes the fields of a record that have `json` as members. If a field is a time since the start
 * of the session, its member is followed by `at_us`, the time of the wall clock. */
void show_add_json_fields(struct json_out *j, const struct record_fields *s, const void *record,
                          int64_t started_at_us);
/* Writes valid JSON as JSON, other text as a string. */
void show_text_as_json_member(struct json_out *j, const char *name, struct slice text);
/* Writes the members of the row's JSON object. */
void show_row_as_json_members(struct json_out *j, const struct show_list *l, const void *row);
/* Writes the row as one JSON object. */
void show_row_as_json(struct json_out *j, const struct show_list *l, const void *row);

/* Appends a row as a line of CSV (RFC 4180), without SHOW_CSV_END. row: NULL: appends the names of
 * the columns instead. */
void show_row_as_csv(struct buf *b, const struct show_list *l, const void *row);
/* Appends a text as one field of CSV, with control characters made visible. An apostrophe precedes
 * text that a spreadsheet would interpret as a formula. */
void show_text_as_csv(struct buf *b, struct slice text);
#define SHOW_CSV_END "\r\n" /* end of a line, as in RFC 4180, section 2 */

/* Appends the text of a cell for people, "-" if there is no value. Returns the style of the
 * cell. */
enum out_style show_cell(struct buf *b, const struct show_column *c, const void *row);
/* Whether the column has numbers, which are aligned on the right. */
bool show_column_is_number(const struct show_column *c);

#endif
