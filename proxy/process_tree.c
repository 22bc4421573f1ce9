#include "proxy/process_tree.h"

#include "base/clock.h"
#include "base/os/inspect.h"

#include <unistd.h>

_Static_assert(PROCESS_TREE_MAX <= 32, "a set of processes is one uint32_t");

/* ---- reading -------------------------------------------------------------------------------- */

static void process_tree_add(struct process_tree *t, pid_t pid, unsigned depth)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->process[i].pid == pid)
            return;
    if (t->n == PROCESS_TREE_MAX) {
        t->more = true;
        return;
    }
    if (process_read(pid, &t->process[t->n]) == 0)
        t->depth[t->n++] = depth;
}

/* Reads the process `pid`, the processes of `group` that this process has adopted, and their
 * descendants. */
void process_tree_read(struct process_tree *t, pid_t pid, pid_t group)
{
    pid_t kids[PROCESS_TREE_MAX];
    t->n = 0;
    t->more = false;
    if (pid > 0)
        process_tree_add(t, pid, 0);
    size_t n = group > 0 ? process_read_children(getpid(), kids, MI_COUNT(kids)) : 0;
    for (size_t i = 0; i < n; i++) {
        struct process p;
        if (process_read(kids[i], &p) == 0 && p.group == group)
            process_tree_add(t, kids[i], 0);
    }
    for (size_t at = 0; at < t->n; at++) {
        n = process_read_children(t->process[at].pid, kids, MI_COUNT(kids));
        for (size_t i = 0; i < n; i++)
            process_tree_add(t, kids[i], t->depth[at] + 1);
    }
}

/* ---- the real server ------------------------------------------------------------------------ */

/* Returns the index of the only child of process[of] that has the server's stdin and stdout, or of
 * the only child if descriptors cannot be read. Returns 0 if there is no such child, or more than
 * one. */
static size_t find_server_below_launcher(const struct process_tree *t, size_t of)
{
    pid_t server = t->process[0].pid;
    bool visible = processes_have_same_open_file(server, server, STDIN_FILENO);
    size_t found = 0, n = 0;
    for (size_t i = 1; i < t->n; i++) {
        pid_t pid = t->process[i].pid;
        if (t->process[i].parent != t->process[of].pid)
            continue;
        if (visible && !(processes_have_same_open_file(server, pid, STDIN_FILENO) &&
                         processes_have_same_open_file(server, pid, STDOUT_FILENO)))
            continue;
        found = i;
        n++;
    }
    return n == 1 ? found : 0;
}

/* Returns the index of the real server, and sets a bit in *ret_marked for the server and for each
 * process that started it. A child with the same command as its parent is a worker process, even if
 * it inherits stdin and stdout. */
static size_t find_server_process(const struct process_tree *t, uint32_t *ret_marked)
{
    size_t at = 0;
    *ret_marked = 0;
    for (size_t next;; at = next) {
        *ret_marked |= (uint32_t)1 << at;
        next = find_server_below_launcher(t, at);
        if (next == 0 || processes_have_same_command(t->process[at].pid, t->process[next].pid))
            return at;
    }
}

size_t process_tree_find_server(const struct process_tree *t)
{
    uint32_t marked;
    return find_server_process(t, &marked);
}

/* ---- CPU time ------------------------------------------------------------------------------- */

void process_tree_sum_cpu_times(const struct process_tree *t, struct process_sample *ret)
{
    uint32_t marked = 0;
    *ret = (struct process_sample){.at_us = clock_mono_us()};
    size_t server = t->n > 0 ? find_server_process(t, &marked) : 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct process *p = &t->process[i];
        bool runs = p->state == 'R', helper = (marked >> i & 1) == 0;
        ret->cpu_ticks += p->cpu_ticks;
        ret->helper_ticks += helper ? p->cpu_ticks : p->waited_ticks;
        ret->runs |= runs;
        ret->helper_runs |= runs && helper;
        ret->server_runs |= runs && i == server;
    }
}

void process_tree_take_sample(struct process_sample *ret, pid_t pid, pid_t group)
{
    struct process_tree t;
    process_tree_read(&t, pid, group);
    process_tree_sum_cpu_times(&t, ret);
}

int64_t process_tree_cpu_us_between(int64_t before_ticks, int64_t after_ticks)
{
    return after_ticks > before_ticks ? process_ticks_to_us(after_ticks - before_ticks) : 0;
}
