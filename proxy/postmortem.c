#include "proxy/postmortem.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/text.h"
#include "base/units.h"

/* A tree that used more than this percentage of one processor since the base sample is called
 * busy. */
#define BUSY_PERCENT 50

/* ---- the process that is reported ----------------------------------------------------------- */

static bool process_is_stuck(const struct postmortem_process *p)
{
    return strchr("DTt", p->p.state) != NULL;
}

static size_t choose_process_to_show(const struct postmortem *pm, size_t server)
{
    if (process_is_stuck(&pm->process[server]))
        return server;
    for (size_t i = 0; i < pm->n; i++)
        if (process_is_stuck(&pm->process[i]))
            return i;
    if (pm->has_base && pm->cpu_us * 100 > pm->since_us * BUSY_PERCENT)
        for (size_t i = 0; i < pm->n; i++)
            if (pm->process[i].p.state == 'R')
                return i;
    return server;
}

/* ---- reading -------------------------------------------------------------------------------- */

void postmortem_read_processes(struct postmortem *ret, pid_t pid, pid_t group, int stdin_fd,
                               const struct process_sample *base)
{
    struct process_tree t;
    process_tree_read(&t, pid, group);
    *ret = (struct postmortem){.n = t.n,
                               .more = t.more,
                               .pipes = -1,
                               .sockets = -1,
                               .unread_bytes =
                                   stdin_fd >= 0 ? count_unread_bytes_of_fd(stdin_fd) : -1};
    for (size_t i = 0; i < t.n; i++) {
        struct postmortem_process *p = &ret->process[i];
        p->p = t.process[i];
        p->depth = t.depth[i];
        inspect_wait(p->p.pid, &p->wait);
    }
    if (base != NULL && base->at_us != 0) {
        struct process_sample now;
        process_tree_sum_cpu_times(&t, &now);
        ret->has_base = true;
        ret->since_us = now.at_us - base->at_us;
        ret->cpu_us = process_tree_cpu_us_between(base->cpu_ticks, now.cpu_ticks);
        ret->helpers_us = process_tree_cpu_us_between(base->helper_ticks, now.helper_ticks);
    }
    if (ret->n == 0)
        return;
    ret->chosen = choose_process_to_show(ret, process_tree_find_server(&t));
    pid_t chosen = ret->process[ret->chosen].p.pid;
    (void)count_pipes_of_process(chosen, POSTMORTEM_FDS, &ret->pipes, &ret->sockets);
}

/* ---- writing -------------------------------------------------------------------------------- */

static const char *process_state_word(char state)
{
    switch (state) {
    case 'R':
        return "running";
    case 'S':
    case 'I':
        return "sleeping";
    case 'D':
        return "in an uninterruptible wait";
    case 'T':
        return "stopped";
    case 't':
        return "stopped by a debugger";
    case 'Z':
    case 'X':
        return "dead";
    default:
        return "in an unknown state";
    }
}

static void postmortem_add_process(struct json_out *j, const struct postmortem_process *p)
{
    json_out_int(j, "pid", p->p.pid);
    json_out_int(j, "parent", p->p.parent);
    json_out_str(j, "name", p->p.name);
    json_out_str(j, "state", process_state_word(p->p.state));
    if (p->wait.wchan[0] != '\0')
        json_out_str(j, "wchan", p->wait.wchan);
    if (p->wait.call[0] != '\0')
        json_out_str(j, "call", p->wait.call);
    if (p->wait.call_fd >= 0)
        json_out_int(j, "call_fd", p->wait.call_fd);
    if (p->wait.call_on[0] != '\0')
        json_out_str(j, "call_on", p->wait.call_on);
    json_out_int(j, "threads", p->p.threads);
    json_out_int(j, "rss_bytes", p->p.rss_bytes);
}

void postmortem_append_json(struct buf *b, const struct postmortem *pm)
{
    struct json_out j = json_out_to(b);
    json_out_object(&j, NULL);
    if (pm->n > 0)
        postmortem_add_process(&j, &pm->process[pm->chosen]);
    if (pm->has_base) {
        json_out_int(&j, "cpu_ms", pm->cpu_us / 1000);
        json_out_int(&j, "helpers_cpu_ms", pm->helpers_us / 1000);
        json_out_int(&j, "since_ms", pm->since_us / 1000);
    }
    if (pm->pipes >= 0) {
        json_out_int(&j, "pipes", pm->pipes);
        json_out_int(&j, "sockets", pm->sockets);
    }
    if (pm->unread_bytes >= 0)
        json_out_int(&j, "unread_bytes", pm->unread_bytes);
    json_out_array(&j, "processes");
    for (size_t i = 0; i < pm->n; i++) {
        if (i == pm->chosen)
            continue;
        json_out_object(&j, NULL);
        postmortem_add_process(&j, &pm->process[i]);
        json_out_end(&j);
    }
    json_out_end(&j);
    if (pm->more)
        json_out_bool(&j, "more", true);
    json_out_end(&j);
}

static const struct postmortem_process *find_parent_process(const struct postmortem *pm, size_t i)
{
    for (size_t k = 0; k < pm->n; k++)
        if (pm->process[k].p.pid == pm->process[i].p.parent)
            return &pm->process[k];
    return NULL;
}

static void sentence_add_system_call(struct buf *b, const struct postmortem_process *p)
{
    static const char *const stdio[] = {" of its standard input", " of its standard output",
                                        " of its standard error"};
    if (p->wait.call[0] == '\0' && p->wait.wchan[0] == '\0')
        return;
    buf_adds(b, " in ");
    text_append_visible(b, slice_of(p->wait.call[0] != '\0' ? p->wait.call : p->wait.wchan));
    bool epoll = strncmp(p->wait.call, "epoll", 5) == 0;
    if (p->wait.call_fd >= 0 && p->wait.call_fd <= 2)
        buf_adds(b, stdio[p->wait.call_fd]);
    else if (p->wait.call_on[0] != '\0' && !epoll)
        buf_printf(b, " on a %s", p->wait.call_on);
    if (p->wait.call[0] != '\0' && p->wait.wchan[0] != '\0') {
        buf_adds(b, " (");
        text_append_visible(b, slice_of(p->wait.wchan));
        buf_addc(b, ')');
    }
}

static void sentence_add_child_processes(struct buf *b, const struct postmortem *pm)
{
    pid_t pid = pm->process[pm->chosen].p.pid;
    size_t n = 0;
    for (size_t i = 0; i < pm->n; i++)
        n += pm->process[i].p.parent == pid;
    if (n == 0) {
        buf_adds(b, " and had no children");
        return;
    }
    buf_printf(b, " and had %zu %s (", n, n == 1 ? "child" : "children");
    size_t said = 0;
    for (size_t i = 0; i < pm->n && said < 4; i++) {
        if (pm->process[i].p.parent != pid)
            continue;
        buf_adds(b, said++ > 0 ? ", " : "");
        text_append_visible(b, slice_of(pm->process[i].p.name));
    }
    buf_adds(b, n > said ? ", …)" : ")");
}

void postmortem_append_sentence(struct buf *b, const struct postmortem *pm)
{
    if (pm->n == 0) {
        buf_adds(b, "no process of the server was left");
        return;
    }
    const struct postmortem_process *p = &pm->process[pm->chosen];
    const struct postmortem_process *parent = find_parent_process(pm, pm->chosen);
    text_append_visible(b, slice_of(p->p.name));
    buf_printf(b, " (pid %d", (int)p->p.pid);
    if (parent != NULL) {
        buf_adds(b, ", started by ");
        text_append_visible(b, slice_of(parent->p.name));
    }
    buf_printf(b, ") was %s", process_state_word(p->p.state));
    if (p->p.state != 'R')
        sentence_add_system_call(b, p);
    if (pm->unread_bytes > 0) {
        buf_adds(b, ", had not read ");
        units_show_size(b, pm->unread_bytes);
        buf_adds(b, " of its input");
    }
    if (pm->has_base)
        buf_printf(b, ", used %.2f s of CPU in the last %.1f s", (double)pm->cpu_us / 1e6,
                   (double)pm->since_us / 1e6);
    if (pm->has_base && pm->helpers_us > 0)
        buf_printf(b, " (%.2f s of it in its child processes)", (double)pm->helpers_us / 1e6);
    sentence_add_child_processes(b, pm);
}
