/* show.h - how a row is shown: a table of columns defines its JSON members, CSV and cells.
 *
 *     struct row { int64_t pid; struct slice server; };
 *     #define RECORD struct row
 *     static const struct show_column columns[] = {
 *         {SHOW(pid, NUMBER, ZERO), .json = true, .table = {"PID", 10, 0}, .ui = {"pid", 9, 60}},
 *         {SHOW(server, TEXT, NOT_NULL), .json = true, .table = {"SERVER", 24, -8}},
 *     };
 *
 * Rules     a form shows the columns that it has, in the order of the table; a member may have several columns.
 *           CSV has the names and the values of the JSON members: a text made visible (show_csv_text()), JSON as JSON text,
 *           null as nothing.
 * Owns      nothing: texts of a row are borrowed, output is appended to buffers of the caller, which report errors.
 * Blocks    never. Pure. */
#ifndef MI_SHOW_SHOW_H
#define MI_SHOW_SHOW_H

#include "base/json_out.h"
#include "model/fields.h"
#include "show/style.h"

struct show_column {
    struct record_field field;
    const struct record_fields *record; /* if not NULL, the column stands for all fields of the
                                         * record at field.at */
    bool json;                          /* the column is a member of the JSON object */
    struct {
        const char *title; /* NULL: the column is not in the table */
        size_t max;
        int spare;
    } table; /* the column in a table on a terminal (cli/frame/table.h) */
    struct {
        const char *title; /* NULL: the column is not in `ui` */
        size_t width,
            from; /* from: shown if the list is at least this many columns wide. The first column
                   * gets the remaining width */
    } ui;
    unsigned when;        /* bits of show_list.when with which the column exists; 0: always */
    enum out_style style; /* style of the cell; a value of 0 is plain */
    /* Optional callbacks: the style of the cell; its text, from the value v; its JSON value. */
    enum out_style (*style_of)(const void *row);
    void (*text)(struct buf *b, const void *row, struct cell v);
    void (*value)(struct json_out *j, const char *name, const void *row);
};

/* Describes the field of a column, a member of RECORD. type and null: as in model/records.h. The
 * member's
 * name is also the name in JSON. */
#define SHOW(member, type, null) SHOW_AS(#member, member, type, null)
#define SHOW_AS(name, member, type, null) .field = {FIELD_HEAD(name, member, type, null)}
#define SHOW_RECORD(member, fields) .field.at = offsetof(RECORD, member), .record = &(fields)

struct show_list {
    const char *type; /* member `type` of each JSON object; NULL: no such member */
    const struct show_column *column;
    size_t n, size; /* n: number of columns; size: size of a row in bytes */
    unsigned when;
};
#define SHOW_LIST(type, columns) type, columns, MI_COUNT(columns), sizeof(RECORD)

const struct show_column *show_find(const struct show_list *l,
                                    const char *name); /* returns NULL if there is no such column */
bool show_has(const struct show_list *l, const struct show_column *c);

/* The fields with `json` of a record as members. A time in a session is followed by the time of day. */
void show_fields(struct json_out *j, const struct record_fields *s, const void *record,
                 int64_t started_at_us);
/* adds valid JSON as JSON, other text as a string */
void show_text(struct json_out *j, const char *name, struct slice text);
void show_members(struct json_out *j, const struct show_list *l, const void *row);
/* writes the row as one JSON object */
void show_json(struct json_out *j, const struct show_list *l, const void *row);

/* A line of CSV (RFC 4180) without its end; row NULL: the names. */
void show_csv(struct buf *b, const struct show_list *l, const void *row);
/* Appends one cell. An apostrophe precedes text that a spreadsheet would interpret as a formula. */
void show_csv_text(struct buf *b, struct slice text);
#define SHOW_CSV_END "\r\n" /* RFC 4180, section 2 */

/* Appends a value in the form for people, or "-" if there is none. Returns its style. */
enum out_style show_cell(struct buf *b, const struct show_column *c, const void *row);
bool show_is_number(const struct show_column *c); /* whether the column is aligned on the right */

#endif
