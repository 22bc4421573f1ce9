/* server_process.c - starts and connects the server process, counts the bytes that it has read, and
 * describes how it ended. */
#include "proxy/live.h"

#include "base/clock.h"
#include "base/log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Maximum number of bytes of PATH that an error shows; enough for the usual PATH of a desktop. */
#define PATH_SHOWN_MAX 72

/* ---- starting ------------------------------------------------------------------------------- */

/* Appends the number of directories in PATH, and the first directories: they show whether PATH
 * comes from a shell or from a desktop. */
static void append_summary_of_path_variable(struct buf *b)
{
    const char *path = getenv("PATH");
    size_t n = path != NULL ? strlen(path) : 0, directories = 1;
    if (n == 0) {
        buf_adds(b, "; PATH is not set");
        return;
    }
    for (const char *at = path; *at != '\0'; at++)
        directories += *at == ':';
    bool whole = n <= PATH_SHOWN_MAX;
    if (!whole)
        for (n = PATH_SHOWN_MAX; n > 0 && path[n] != ':'; n--)
            continue;
    buf_printf(b, "; %zu director%s searched", directories,
               directories == 1 ? "y was" : "ies were");
    if (n > 0)
        buf_printf(b, ": %.*s%s", (int)n, path, whole ? "" : ":...");
}

/* Logs why the server could not be started, and keeps the text for the errors that requests get. e:
 * an errno. */
static void set_start_error(struct proxy *p, const char *server, int e)
{
    struct buf *b = &p->start_error;
    bool by_path = e == ENOENT && strchr(server, '/') == NULL;
    buf_clear(b);
    if (by_path)
        buf_printf(b,
                   "cannot find the server '%s'; give its full path, or add its directory to PATH",
                   server);
    else if (e == ENOENT)
        buf_printf(b,
                   "cannot find the server '%s', or the interpreter named in its first line; "
                   "correct the path",
                   server);
    else
        buf_printf(b, "cannot start the server '%s': %s%s", server, strerror(e),
                   e == EACCES || e == ENOEXEC ? "; name an executable file" : "");
    p->start_error_short = b->n;
    if (by_path)
        append_summary_of_path_variable(b);
    if (b->failed)
        buf_clear(b);
    p->start_error_short = size_min(p->start_error_short, b->n);
    log_error("%s", b->n > 0 ? buf_str(b) : "cannot start the server");
}

/* The process tells who it is before it executes the server's program. If the proxy is killed
 * during the start, what the program has started can still be found and ended. */
void server_process_announce_itself(void *data)
{
    struct proxy *p = data;
    describe_running_server(&p->running, getpid(), getpid());
    recorder_set_server(p->recorder, &p->running);
}

int server_process_start(struct proxy *p, struct process_pipes *ret)
{
    if (p->running.pid == 0) {
        /* read only once: getppid() changes when our parent exits */
        running_describe_own_process(&p->running);
        recorder_record_processes(p->recorder, &p->running);
    }
    if (child_start(&p->child, p->cfg->argv, ret) < 0) {
        int e = errno;
        recorder_set_server(p->recorder, NULL);
        set_start_error(p, p->cfg->argv[0], e);
        p->exit_status = e == ENOENT ? PROXY_NOT_FOUND : PROXY_NO_EXEC;
        return MI_EIO;
    }
    recorder_record_processes(p->recorder, &p->running);
    char detail[64];
    snprintf(detail, sizeof detail, "{\"pid\":%d}", (int)p->child.pid);
    journal_append_event(p->journal, "spawn", detail);
    return 0;
}

void server_process_connect(struct proxy *p, struct process_pipes pipes)
{
    incidents_forget_stderr_reason(&p->incidents);
    silence_on_new_process(p);
    relay_set_output(&p->relay[ROW_C2S], stream_take_over_fd(pipes.in));
    relay_watch_for_closing(&p->relay[ROW_C2S]);
    relay_set_input(&p->relay[ROW_S2C], stream_take_over_fd(pipes.out));
    relay_set_input(&p->server_stderr, stream_take_over_fd(pipes.err));
}

/* ---- how it ended --------------------------------------------------------------------------- */

static void append_exit_and_reason(const struct proxy *p, struct buf *b)
{
    struct buf reason = {0};
    int status = child_exit_status(&p->child);
    if (status >= 128)
        buf_printf(b, "the server %s was killed by signal %d before it answered", p->cfg->name,
                   status - 128);
    else
        buf_printf(b, "the server %s exited with status %d before it answered", p->cfg->name,
                   status);
    /* The server's stderr may say why it ended. After status 0, the last line of stderr may be an
     * ordinary log line. */
    bool known = incidents_append_end_reason(&p->incidents, &reason);
    if (reason.n > 0 && !reason.failed && (known || status != 0))
        buf_printf(b, "; its %s was \"%s\"", known ? "error message" : "last output",
                   buf_str(&reason));
    buf_close(&reason);
}

void server_process_append_end_cause(const struct proxy *p, struct buf *b)
{
    switch (p->machine.cause) {
    case SERVER_CAUSE_START_FAILED:
        buf_add(b, buf_slice(&p->start_error).p, p->start_error_short);
        break;
    case SERVER_CAUSE_CHANGED:
        buf_printf(b, "the server %s was restarted and answered initialize differently than before",
                   p->cfg->name);
        break;
    case SERVER_CAUSE_HUNG:
        buf_printf(b, "the server %s was killed because it hung", p->cfg->name);
        break;
    case SERVER_CAUSE_CLOSED:
        buf_printf(b, "the server %s closed its output before it answered", p->cfg->name);
        break;
    case SERVER_CAUSE_STOPPED:
        buf_printf(b, "%s ended the session before the server %s answered",
                   p->machine.reason == SERVER_REASON_SIGNAL ? "a signal" : "the client",
                   p->cfg->name);
        break;
    case SERVER_CAUSE_NO_MEMORY:
        buf_printf(b, "the interposer ran out of memory before the server %s answered",
                   p->cfg->name);
        break;
    case SERVER_CAUSE_EXIT:
        append_exit_and_reason(p, b);
        break;
    }
}

uint64_t server_process_count_read_bytes(const struct proxy *p)
{
    const struct relay *r = &p->relay[ROW_C2S];
    if (r->priority != NULL && !r->priority_complete)
        return 0; /* the process has received only the repeated initialize, and has not answered */
    uint64_t taken = outbox_count_accepted_bytes(r->priority != NULL ? r->priority : r->box);
    return taken > r->unread ? taken - r->unread : 0;
}
