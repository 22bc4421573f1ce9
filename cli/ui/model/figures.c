#include "cli/ui/model/figures.h"

#include "base/grow.h"

#include <stdlib.h>

void figures_close(struct figures *f)
{
    intern_close(&f->names);
    free(f->tool);
    *f = (struct figures){0};
}

/* Finds the figures of a tool or method. If there are none, adds them; *ret is NULL if there are
 * too many names. */
static int figures_find_or_add_tool(struct figures *f, struct slice method, struct slice target,
                                    struct tool_figures **ret)
{
    bool tool = method.p != NULL && slice_is(method, "tools/call") && target.p != NULL;
    struct slice name = tool ? target : method.p != NULL ? method : slice_of("");
    uint32_t i;
    *ret = NULL;
    /* the table is full: no name can be added */
    if (f->tools == FIGURES_TOOLS) {
        for (i = 0; i < f->tools; i++)
            if (slice_eq(intern_get_text(&f->names, i), name))
                *ret = &f->tool[i];
        return 0;
    }
    if (intern_add(&f->names, name, &i) < 0 || !GROW(f->tool, f->tools, f->cap))
        return MI_ENOMEM;
    if (i == f->tools)
        f->tool[f->tools++] = (struct tool_figures){.is_tool = tool};
    *ret = &f->tool[i];
    return 0;
}

int figures_count_request(struct figures *f, struct slice method, struct slice target)
{
    struct tool_figures *t;
    if (figures_find_or_add_tool(f, method, target, &t) < 0)
        return MI_ENOMEM;
    f->all.calls++;
    f->all.open++;
    if (t != NULL) {
        t->calls++;
        t->open++;
    }
    return 0;
}

static void figures_add_recent_duration(struct tool_figures *t, bool failed, int64_t took_us,
                                        enum figures_order order)
{
    took_us = failed ? -1 - took_us : took_us;
    if (order == FIGURES_OLDER) {
        if (t->recent_n < FIGURES_RECENT)
            t->recent_us[t->recent_n++] = took_us;
        return;
    }
    t->recent_n += t->recent_n < FIGURES_RECENT;
    memmove(&t->recent_us[1], &t->recent_us[0], (t->recent_n - 1) * sizeof t->recent_us[0]);
    t->recent_us[0] = took_us;
}

static void figures_count_call_end(struct tool_figures *t, enum call_status status, int64_t took_us,
                                   enum figures_order order)
{
    t->open--;
    t->failed += call_status_failed(status);
    if (took_us < 0)
        return;
    latency_add(&t->latency, took_us);
    figures_add_recent_duration(t, call_status_failed(status), took_us, order);
}

int figures_count_answer(struct figures *f, struct slice method, struct slice target,
                         enum call_status status, int64_t took_us, enum figures_order order)
{
    struct tool_figures *t;
    if (figures_find_or_add_tool(f, method, target, &t) < 0)
        return MI_ENOMEM;
    figures_count_call_end(&f->all, status, took_us, order);
    if (t != NULL)
        figures_count_call_end(t, status, took_us, order);
    return 0;
}

size_t figures_sort_tools(const struct figures *f, uint32_t *ret, size_t max)
{
    size_t n = 0;
    for (uint32_t i = 0; i < f->tools; i++) {
        size_t at = n < max ? n++ : max;
        for (; at > 0 && f->tool[ret[at - 1]].calls < f->tool[i].calls; at--)
            if (at < max)
                ret[at] = ret[at - 1];
        if (at < max)
            ret[at] = i;
    }
    return n;
}
