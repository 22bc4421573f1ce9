/* list.h - a list is described once, and becomes a command with a table, --json and --csv, a tool
 * of `mcp`, and a view of `ui`.
 *
 * Owns      nothing: lists are static. Rows are valid only during the call.
 * Errors    a reading returns 0, MI_ENOMEM, or another error; then `error` or query_error() holds a
 *           sentence.
 * Blocks    on the vault. */
#ifndef MI_CLI_LISTS_LIST_H
#define MI_CLI_LISTS_LIST_H

#include "cli/frame/list_out.h"
#include "vault/query/reader.h"

struct list_reading {
    struct query *q;   /* reads the vault; borrowed; NULL: only files are read */
    const char *vault; /* the path of the vault */
    /* called for each row; returns false to end the reading */
    bool (*row)(void *ctx, const void *row);
    void *ctx;
    /* The next three members come from the options of the command. They are NULL, false and 0 if
     * the command has no such options. */
    const struct filter *filter;
    bool sent;                 /* true: sessions that `send` made are included */
    int64_t limit;             /* maximum number of rows; 0: all */
    const char *none;          /* the text for an empty list; NULL: the text of `struct list` */
    bool older;                /* result: the vault has more rows than the limit */
    bool watched;              /* true: the list is read by `ui`, which reads it repeatedly */
    const void *const *before; /* rows of the previous reading, if `watched` is true */
    size_t before_n;
    struct buf error, note; /* owned; note: additional information for the user */
    bool incomplete;        /* something could not be read; the note says what */
};

struct list {
    struct command command;
    struct show_list shown;
    /* part of the name of the `mcp` tool and of the `ui` view; NULL: `mcp` offers this list by
     * another tool */
    const char *name;
    const char *one, *all; /* noun for one row and for several rows, such as "running server" */
    const char *none; /* text that is printed if the list is empty, such as "no session runs" */
    int (*read)(struct list_reading *r);
    /* statement for query_read_calls_as_cells() that is used instead of `read`; selects the columns
     * of `shown` in their order; NULL: none */
    const char *sql;
};

MI_MUST int list_read_rows(const struct list *l, struct list_reading *r);

/* Reads the list, prints it, and closes r->note and r->error. Returns the exit status. */
MI_MUST int list_print(const struct list *l, const struct settings *s, struct list_reading *r);
/* Opens the vault of the command, then does the same as list_print(). Most lists use this as
 * run(). */
MI_MUST int list_run(const struct settings *s);

/* options of a command that prints a list and has no options of its own */
extern const struct opt list_options[];
extern const struct list list_running, list_escalations, list_user_questions, list_cost;
/* A row of list_escalations. */
struct escalation_row {
    struct slice file, name; /* name of the file, with and without its suffix */
    struct escalation_head head;
};
/* All lists, then NULL (all.c). */
extern const struct list *const lists[];

#endif
