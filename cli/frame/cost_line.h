/* cost_line.h - the tokens that each tool of a server costs (vault/query/cost.h), as rows of a list
 * with columns for table, JSON and CSV. cli/lists/cost.c has the columns for servers.
 *
 * Owns      nothing: texts are borrowed from the cost.
 * Blocks    never. Pure. */
#ifndef MI_CLI_FRAME_COST_LINE_H
#define MI_CLI_FRAME_COST_LINE_H

#include "show/show.h"
#include "vault/query/cost.h"

struct cost_tool_line {
    struct slice server;
    struct cost_tool t;
    int64_t most; /* tokens of the server's largest definition, for the bar */
    bool utf8;    /* the terminal displays UTF-8 */
};

/* Flags for show_list.when, in the lists of servers and of tools: */
#define COST_BAR 1u      /* the bar is shown */
#define COST_BINARIES 2u /* the column of images, audio and blobs is shown */
/* the list of the tools of a server; a row is a struct cost_tool_line */
extern const struct show_list cost_tools;

/* Sets *ret to an array of s->tool_n lines, the largest definition first; the caller frees the
 * array. Returns 0 or MI_ENOMEM. */
MI_MUST int cost_make_tool_lines(const struct cost_server *s, struct cost_tool_line **ret);
/* Appends the number and the size of images, audio and blobs: "3, 1.5MiB". */
void cost_line_append_binaries(struct buf *b, const struct cost_binaries *x);
/* Appends a sentence about what the table of tools leaves out: instructions, prompts, resources. */
void append_costs_not_in_table(struct buf *b, const struct cost_server *s);

#endif
