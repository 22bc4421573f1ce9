#include "cli/mcp/rows.h"

#include <stdio.h>

static bool read_place(const char *text, struct rows_place *ret)
{
    int end = 0;
    long long session, n;
    if (sscanf(text, "%18lld.%18lld%n", &session, &n, &end) != 2 || text[end] != '\0' ||
        session < 1 || n < 0)
        return false;
    *ret = (struct rows_place){session, n};
    return true;
}

int rows_open(struct rows *r, struct tool_call *c, const char *name, int64_t limit)
{
    *r = (struct rows){.c = c, .limit = tool_number(c, "limit", limit)};
    const char *cursor = tool_text(c, "cursor");
    if (cursor != NULL && !read_place(cursor, &r->first)) {
        buf_adds(&c->error, "invalid cursor: use next_cursor of the page before, unchanged");
        return MI_EINVAL;
    }
    json_out_array(&c->j, name);
    return 0;
}

bool rows_begin(struct rows *r, int64_t session, int64_t n)
{
    r->row = (struct rows_place){session, n};
    r->skipped = r->n == r->limit;
    if (r->skipped)
        return false;
    r->mark = r->c->j;
    r->json_n = r->c->json.n;
    r->text_n = r->c->text.n;
    json_out_object(&r->c->j, NULL);
    return true;
}

bool rows_end(struct rows *r)
{
    struct tool_call *c = r->c;
    if (r->skipped) {
        r->next = r->row;
        return false;
    }
    json_out_end(&c->j);
    buf_addc(&c->text, '\n');
    if (r->n > 0 && c->json.n + c->text.n > ROWS_BYTES) {
        c->j = r->mark;
        c->json.n = r->json_n;
        c->text.n = r->text_n;
        r->next = r->row;
        return false;
    }
    r->n++;
    return true;
}

bool rows_is_late(struct rows *r, int64_t session, int64_t n)
{
    bool late = r->worked && tool_is_late(r->c);
    r->worked = true;
    if (late)
        r->next = (struct rows_place){session, n};
    return late;
}

void rows_close(struct rows *r, const char *none)
{
    struct tool_call *c = r->c;
    char cursor[48];
    json_out_end(&c->j);
    if (r->next.session != 0) {
        snprintf(cursor, sizeof cursor, "%lld.%lld", (long long)r->next.session,
                 (long long)r->next.n);
        json_out_str(&c->j, "next_cursor", cursor);
        buf_printf(&c->text, "There is more: call again with cursor \"%s\".\n", cursor);
    } else if (r->n == 0) {
        buf_printf(&c->text, "%s.\n", none);
    }
}
