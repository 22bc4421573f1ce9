#include "cli/wrap/row.h"

#include "base/json_out.h"
#include "cli/settings/paths.h"

#include <stdlib.h>

void server_row_open_table(struct table *t)
{
    static const struct table_column columns[] = {
        {"SERVER", false, 24, 0},
        {"CLIENT", false, 16, 1},
        {"STATE", false, 12, 0},
        {"COMMAND", false, 32, 3},
        {"FILE", false, OUT_UNLIMITED, TABLE_ABOVE},
    };
    table_open(t, columns, MI_COUNT(columns));
}

void server_row_append_path(struct buf *b, const char *path)
{
    char *home = path_in_home("");
    size_t n = home != NULL ? strlen(home) : 0;
    bool below = n > 1 && strncmp(path, home, n) == 0;
    if (below)
        buf_adds(b, "~/");
    buf_adds(b, below ? path + n : path);
    free(home);
}

void server_row_add_to_table(struct table *t, const struct server_row *r)
{
    enum out_style style = r->touched                         ? OUT_GREEN
                           : r->state_as_read == WRAP_WRAPPED ? OUT_CYAN
                           : r->state_as_read == WRAP_ODD     ? OUT_YELLOW
                                                              : OUT_DIM;
    const char *command = r->wraps != NULL ? r->wraps : r->command;
    struct buf path = {0};
    server_row_append_path(&path, r->named_path);
    table_add_cell(t, slice_of(r->server), OUT_BOLD);
    table_add_cell(t, slice_of(r->client), OUT_PLAIN);
    table_add_cell(t, slice_of(r->state), style);
    table_add_cell(t, slice_of(command != NULL ? command : "-"), OUT_PLAIN);
    table_add_buf(t, &path, OUT_DIM);
    buf_close(&path);
}

void server_row_print_json(struct out *o, const struct server_row *r)
{
    struct json_out j = json_out_to(&o->b);
    json_out_object(&j, NULL);
    json_out_str(&j, "server", r->server);
    json_out_str(&j, "client", r->client);
    json_out_str(&j, "state", r->state);
    json_out_str(&j, "command", r->command);
    json_out_str(&j, "wraps", r->wraps);
    json_out_str(&j, "why", r->why);
    json_out_str(&j, "project", r->project);
    json_out_str(&j, "file", r->path);
    json_out_end(&j);
    out_end_line(o);
}
