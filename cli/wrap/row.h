/* row.h - one server in the list that `wrap` and `unwrap` print, as a row of a table or a JSON
 * object.
 *
 * Blocks    never, apart from printing. */
#ifndef MI_CLI_WRAP_ROW_H
#define MI_CLI_WRAP_ROW_H

#include "cli/frame/table.h"
#include "cli/wrap/inspect.h"

struct server_row {
    const char *server, *client;
    const char *state;             /* state of the server, in words for people */
    enum wrap_state state_as_read; /* the server's state before the command changed the file */
    bool touched;                  /* the server was changed; with --dry-run: it would be changed */
    const char *command;           /* NULL: none */
    const char *wraps;             /* the server's own command; NULL: the server is not wrapped */
    const char *why, *project;     /* NULL: none */
    /* the path of the file with links resolved, and the path at which the file was found */
    const char *path, *named_path;
};

void server_row_open_table(struct table *t); /* prepares a table whose rows are servers */
void server_row_add_to_table(struct table *t, const struct server_row *r);
void server_row_print_json(struct out *o, const struct server_row *r);
/* Appends the path, with ~ for the home directory. */
void server_row_append_path(struct buf *b, const char *path);

#endif
