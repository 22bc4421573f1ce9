#include "journal/running.h"

#include <unistd.h>

void running_describe_own_process(struct running *r)
{
    *r = (struct running){
        .pid_namespace = process_pid_namespace(),
        .pid = getpid(),
        .client_pid = getppid(),
    };
    process_read_boot_id(r->boot);
    r->pid_start = process_start(r->pid);
    r->client_start = process_start(r->client_pid);
}

void describe_running_server(struct running *r, pid_t pid, pid_t group)
{
    struct process p;
    r->server_pid = 0; /* server_group is not cleared: the group may still have members */
    if (pid <= 0 || process_read(pid, &p) < 0)
        return;
    r->server_pid = pid;
    r->server_start = p.start_ticks;
    r->server_group = group;
    r->server_session = p.session;
}

void running_share_server(const struct running *r, struct ring_shared *page)
{
    atomic_store(&page->server_group, 0);
    if (r == NULL)
        return;
    atomic_store(&page->server_session, r->server_session);
    atomic_store(&page->server_start, r->server_start);
    /* server_group is written last: who reads its new value also reads those of the others */
    atomic_store(&page->server_group, r->server_group);
}

bool running_copy_shared_server(struct running *r, const struct ring_shared *page)
{
    pid_t group = atomic_load(&page->server_group);
    uint64_t start = atomic_load(&page->server_start);
    if (group <= 1 || start == 0 || (group == r->server_group && start == r->server_start))
        return false;
    r->server_pid = r->server_group = group;
    r->server_start = start;
    r->server_session = atomic_load(&page->server_session);
    return true;
}
