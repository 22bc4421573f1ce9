#include "journal/running.h"

#include <unistd.h>

void describe_running_self(struct running *r)
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
