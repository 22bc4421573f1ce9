/* figures.h - how many calls a session has, how they ended, and how long they took: totals for all
 * calls, and for each tool.
 *
 * Rules     calls of a tool are counted under the name of the tool, other requests under their
 *           method. After FIGURES_TOOLS different names, calls with further names are counted
 *           only among all calls.
 * Owns      names and figures; figures_close() frees them.
 * Limits    about 3 KB for each name.
 * Errors    MI_ENOMEM.
 * Blocks    never. Pure. */
#ifndef MI_CLI_UI_MODEL_FIGURES_H
#define MI_CLI_UI_MODEL_FIGURES_H

#include "base/intern.h"
#include "cli/ui/model/latency.h"
#include "vault/query/reader.h"

#define FIGURES_TOOLS 256
#define FIGURES_RECENT 32

struct tool_figures {
    bool is_tool; /* true: figures of a tool; false: of a method */
    int64_t calls, failed, open;
    struct latency latency;
    /* durations of the last calls in microseconds, newest first; a failed call is stored as -1 -
     * duration */
    int64_t recent_us[FIGURES_RECENT];
    size_t recent_n;
};

struct figures {
    struct tool_figures all;
    /* others: number of requests of the server; others_failed: number of these that failed */
    int64_t others, others_failed;
    struct intern names;       /* owned */
    struct tool_figures *tool; /* owned; the name of tool[i] has index i in `names` */
    size_t tools, cap;
};

/* FIGURES_OLDER: calls are added from newest to oldest; FIGURES_NEWER: from oldest to newest. */
enum figures_order { FIGURES_OLDER, FIGURES_NEWER };

void figures_close(struct figures *f);
/* Counts an open call for the method or tool of its request. */
MI_MUST int figures_count_request(struct figures *f, struct slice method, struct slice target);
/* Counts the end of an open call. took_us below 0: unknown. */
MI_MUST int figures_count_answer(struct figures *f, struct slice method, struct slice target,
                                 enum call_status status, int64_t took_us,
                                 enum figures_order order);
/* Writes the indexes of at most `max` tools, ordered by number of calls, the highest first. Returns
 * the number of indexes. */
size_t figures_sort_tools(const struct figures *f, uint32_t *ret, size_t max);

#endif
