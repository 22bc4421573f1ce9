/* list.h - lists that are described once: each is a command with a table, --json and --csv, a tool of `mcp`, and a view
 * of `ui`.
 *
 * Owns      nothing: lists are static. Rows are borrowed for the call.
 * Errors    a reading returns 0, MI_ENOMEM, or another error with a sentence in `error` or in query_error().
 * Blocks    on the vault. */
#ifndef MI_CLI_LISTS_LIST_H
#define MI_CLI_LISTS_LIST_H

#include "cli/frame/list_out.h"
#include "vault/query/reader.h"

struct list_reading {
    struct query *q;                         /* NULL: only the directory of the vault is read */
    const char *vault;                       /* its path */
    bool (*row)(void *ctx, const void *row); /* false: no further row is wanted */
    void *ctx;
    /* For a command with options that select rows: what is asked for. NULL, false, 0: all that other lists have. */
    const struct filter *filter;
    bool sent;     /* of sessions that `send` made, too */
    int64_t limit; /* rows; 0: all */
    const char *none; /* for an empty list; NULL: that of the list */
    bool older;    /* result: there are rows beyond the limit */
    bool watched;              /* for `ui`, which reads again and again */
    const void *const *before; /* watched: the rows of the reading before */
    size_t before_n;
    struct buf error, note; /* owned; note: what else a person should know */
    bool incomplete;        /* something could not be read; the note says what */
};

struct list {
    struct command command;
    struct show_list shown;
    const char *name;      /* in the names of its tool and its view; NULL: `mcp` has a tool of its own for it */
    const char *one, *all; /* what a row is, and several: "running server" */
    const char *none;      /* for an empty list: "no session runs" */
    int (*read)(struct list_reading *r);
    const char *
        sql; /* instead of read: a statement (query_ask_calls()) with these columns in their order */
};

MI_MUST int list_read(const struct list *l, struct list_reading *r);

/* Reads the list, closes r->note and r->error, and prints it. The exit status. */
MI_MUST int list_print(const struct list *l, const struct settings *s, struct list_reading *r);
/* The same with the vault of the command: run() of most lists. */
MI_MUST int list_run(const struct settings *s);

extern const struct opt list_options[]; /* of a list without options of its own */
extern const struct list list_running, list_escalations, list_asked, list_cost;
struct escalation_row {
    struct slice file, name; /* name: without the suffix */
    struct escalation_head head;
};
/* All of them, ended by NULL (all.c). */
extern const struct list *const lists[];

#endif
