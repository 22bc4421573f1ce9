#include "cli/mcp/tool_rows.h"

#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>

/* Reads a cursor, SESSION.N.BEFORE. Returns false if it is invalid. */
static bool read_cursor(const char *text, struct rows *r)
{
    int end = 0;
    long long session, n, before;
    if (sscanf(text, "%18lld.%18lld.%18lld%n", &session, &n, &before, &end) != 3 ||
        text[end] != '\0' || session < 1 || n < 0 || before < 0)
        return false;
    r->first = (struct rows_place){session, n};
    r->before = before;
    return true;
}

int rows_open(struct rows *r, struct tool_call *c, const char *name, int64_t limit)
{
    *r = (struct rows){.c = c, .name = name, .limit = tool_get_number_argument(c, "limit", limit)};
    const char *cursor = tool_get_text_argument(c, "cursor");
    if (cursor != NULL && !read_cursor(cursor, r)) {
        buf_adds(&c->error, "invalid cursor: use next_cursor of the previous page, unchanged");
        return MI_EINVAL;
    }
    json_out_array(&c->j, name);
    return 0;
}

bool rows_page_is_full(const struct rows *r)
{
    return r->n == r->limit || r->count_until_us != 0;
}

bool rows_begin_row(struct rows *r, int64_t session, int64_t n)
{
    r->row = (struct rows_place){session, n};
    r->counted++;
    r->skipped = rows_page_is_full(r);
    if (r->skipped)
        return false;
    r->mark = r->c->j;
    r->json_n = r->c->json.n;
    r->text_n = r->c->text.n;
    json_out_object(&r->c->j, NULL);
    return true;
}

/* Counts a row that belongs to the next page. Returns whether further rows should be counted. */
static bool count_row_of_next_page(struct rows *r)
{
    int64_t now_us = clock_mono_us();
    if (r->count_until_us == 0) {
        r->next = r->row;
        r->count_until_us = now_us + ROWS_COUNT_US;
    }
    r->stopped = now_us > r->count_until_us;
    return !r->stopped && tool_should_continue(r->c);
}

bool rows_end_row(struct rows *r)
{
    struct tool_call *c = r->c;
    if (r->skipped)
        return count_row_of_next_page(r);
    json_out_end(&c->j);
    buf_addc(&c->text, '\n');
    if (r->n > 0 && c->json.n + c->text.n > ROWS_BYTES) {
        c->j = r->mark;
        c->json.n = r->json_n;
        c->text.n = r->text_n;
        return count_row_of_next_page(r);
    }
    r->n++;
    return tool_should_continue(c);
}

/* Adds a line such as: SERVER "files", TOOL "read_file", CALLS 12, P50 1.00ms. Times are in UTC,
 * as in the argument `since`. */
static void mcp_rows_add_text(struct buf *b, const struct show_list *l, const void *row)
{
    struct buf cell = {0};
    const char *comma = "";
    for (const struct show_column *c = l->column; c < l->column + l->n; c++) {
        if (c->table.title == NULL || c->value != NULL || !show_list_has_column(l, c))
            continue;
        buf_clear(&cell);
        struct cell v = field_get(&c->field, row);
        if (c->field.type == VALUE_TIME && c->text == NULL && v.type == CELL_INT)
            buf_adds(&cell, clock_format_utc(v.number).s);
        else
            (void)show_cell(&cell, c, row);
        b->failed |= cell.failed;
        buf_printf(b, "%s%s ", comma, c->table.title);
        if (show_column_is_number(c) || slice_is(buf_slice(&cell), "-"))
            buf_slice_add(b, buf_slice(&cell));
        else
            append_quoted_text_or_dash(b, buf_slice(&cell), SHOWN_NAME);
        comma = ", ";
    }
    buf_close(&cell);
}

bool rows_add_row(struct rows *r, int64_t session, int64_t n, const struct show_list *l,
                  const void *row)
{
    if (rows_begin_row(r, session, n)) {
        show_row_as_json_members(&r->c->j, l, row);
        mcp_rows_add_text(&r->c->text, l, row);
    }
    return rows_end_row(r);
}

bool rows_should_end_page(struct rows *r, int64_t session, int64_t n)
{
    bool full = r->count_until_us != 0;
    bool late =
        full ? clock_mono_us() > r->count_until_us : r->worked && tool_page_took_too_long(r->c);
    r->worked = true;
    r->stopped |= late;
    if (late && !full)
        r->next = (struct rows_place){session, n};
    return late || !tool_should_continue(r->c);
}

void rows_set_total(struct rows *r, int64_t total, bool all)
{
    if (all || total - r->before > r->counted)
        r->counted = total - r->before;
    r->stopped = !all;
}

void rows_close(struct rows *r, const char *none)
{
    struct tool_call *c = r->c;
    char cursor[64];
    int64_t last = r->before + r->n, total = r->before + r->counted;
    json_out_end(&c->j);
    json_out_int(&c->j, r->stopped ? "total_at_least" : "total", total);
    if (r->n > 0)
        json_out_int(&c->j, "first", r->before + 1);
    if (r->n > 0)
        buf_printf(&c->text, "These are %s %lld to %lld of %s%lld.\n", r->name,
                   (long long)r->before + 1, (long long)last, r->stopped ? "at least " : "",
                   (long long)total);
    if (r->next.session == 0) {
        if (r->n == 0)
            text_append_as_sentence(&c->text, slice_of(none));
        if (r->n == 0)
            buf_addc(&c->text, '\n');
        return;
    }
    snprintf(cursor, sizeof cursor, "%lld.%lld.%lld", (long long)r->next.session,
             (long long)r->next.n, (long long)last);
    json_out_str(&c->j, "next_cursor", cursor);
    buf_printf(&c->text, "There is more: call again with cursor \"%s\".\n", cursor);
}
