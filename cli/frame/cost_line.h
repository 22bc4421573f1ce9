/* cost_line.h - what the tools of a server cost (vault/query/cost.h), as rows of a list: their columns, for all forms.
 * cli/lists/cost.c has those of servers.
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
    int64_t most; /* the largest definition of the server, for the bar */
    bool utf8;    /* of the terminal */
};

#define COST_BAR 1u /* in show_list.when: the bar is shown */
extern const struct show_list cost_tools;   /* of struct cost_tool_line */

/* The tools of a server as an array of s->tool_n lines, those with the largest definition first. MI_ENOMEM. */
MI_MUST int cost_tool_lines(const struct cost_server *s, struct cost_tool_line **ret);
/* What the table of the tools leaves out, as a sentence: instructions, prompts, resources. */
void cost_rest_text(struct buf *b, const struct cost_server *s);

#endif
