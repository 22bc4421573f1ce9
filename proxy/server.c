/* server.c - the life of the server's process: its start, what happens to it, its end, and the end of the session
 * with it. Another process is the matter of restart.c. */
#include "proxy/proxy_inner.h"

#include "base/clock.h"
#include "base/log.h"
#include "proxy/message.h"
#include "wire/method.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define EXIT_FOLLOWS_S 0.1 /* the end of its output is mostly the end of the process */
#define LAST_READS 4       /* of its stderr: a full pipe, and its end */
#define CLIENT_LOOK_S 0.1  /* how often we look whether the client still reads */

static const char *server_name_of(const struct proxy *p)
{
    return p->cfg->name;
}

/* ---- starting ------------------------------------------------------------------------------- */

/* For people, and for who asks the server all the same. */
static void say_not_started(struct proxy *p, const char *server, int e)
{
    struct buf *b = &p->not_started;
    const char *path = getenv("PATH");
    bool in_path = e == ENOENT && strchr(server, '/') == NULL;
    buf_clear(b);
    if (in_path)
        buf_printf(b,
                   "cannot find the server '%s'; give its full path, or add its directory to PATH",
                   server);
    else if (e == ENOENT)
        buf_printf(b,
                   "cannot find the server '%s', or the interpreter that its first line names; "
                   "correct the path",
                   server);
    else
        buf_printf(b, "cannot start the server '%s': %s%s", server, strerror(e),
                   e == EACCES || e == ENOEXEC ? "; name an executable file" : "");
    if (b->failed)
        buf_clear(b);
    log_error("%s%s%s", b->n > 0 ? buf_str(b) : "cannot start the server", in_path ? "=" : "",
              in_path && path != NULL ? path : "");
}

/* The server starts before the vault is opened, so that both take their time at once. */
int server_start(struct proxy *p, struct child_pipes *ret)
{
    if (child_start(&p->child, p->cfg->argv, ret) < 0) {
        int e = errno;
        say_not_started(p, p->cfg->argv[0], e);
        p->end_reason = "server-failed";
        p->exit_status = e == ENOENT ? PROXY_NOT_FOUND : PROXY_NO_EXEC;
        return MI_EIO;
    }
    attendant_guard(&p->attendant, p->child.group);
    return 0;
}

static void note_spawn(struct proxy *p)
{
    char detail[64];
    snprintf(detail, sizeof detail, "{\"pid\":%d}", (int)p->child.pid);
    recorder_event(p->recorder, "spawn", detail);
    if (p->running.pid == 0)
        running_self(&p->running); /* once: whoever started us may be gone later */
    running_server(&p->running, p->child.pid, p->child.group);
    recorder_running(p->recorder, &p->running);
}

void server_connect(struct proxy *p, struct child_pipes pipes)
{
    note_spawn(p);
    trouble_new_process(&p->trouble);
    p->trouble.base = (struct postmortem_base){0};
    relay_write_to(&p->relay[ROW_C2S], stream_own(pipes.in));
    relay_read_from(&p->relay[ROW_S2C], stream_own(pipes.out));
    relay_read_from(&p->err, stream_own(pipes.err));
}

/* ---- the end of the session ----------------------------------------------------------------- */

static bool has_crashed(const struct proxy *p, int status)
{
    return status != 0 && p->not_started.n == 0 && !p->unlike && !p->hung && !p->closed_early &&
           p->child.last_signal == 0;
}

static void say_last_words(const struct proxy *p, struct buf *b)
{
    struct buf words = {0};
    trouble_last_words(&p->trouble, &words);
    if (words.n > 0 && !words.failed)
        buf_printf(b, "; it had said \"%s\"", buf_str(&words));
    buf_close(&words);
}

void server_say_end(const struct proxy *p, struct buf *b)
{
    int status = child_exit_status(&p->child);
    if (p->not_started.n > 0)
        buf_slice_add(b, buf_slice(&p->not_started));
    else if (p->unlike)
        buf_printf(b, "the server %s was started again and did not answer initialize as before",
                   server_name_of(p));
    else if (p->hung)
        buf_printf(b, "the server %s was ended because it hung", server_name_of(p));
    else if (p->closed_early)
        buf_printf(b, "the server %s closed its output before it answered", server_name_of(p));
    else if (status >= 128)
        buf_printf(b, "the server %s was ended by signal %d before it answered", server_name_of(p),
                   status - 128);
    else
        buf_printf(b, "the server %s exited with status %d before it answered", server_name_of(p),
                   status);
    if (has_crashed(p, status))
        say_last_words(p, b);
    if (p->given_up > 0)
        buf_printf(b,
                   "; it had been started again %u time%s within a minute before, so no other is "
                   "started",
                   p->given_up, p->given_up == 1 ? "" : "s");
}

const char *server_end_cause(const struct proxy *p)
{
    return p->not_started.n > 0 ? "server-failed"
           : p->unlike          ? "restart-changed"
           : p->hung            ? "server-killed"
           : p->closed_early    ? "server-closed"
                                : "server-exited";
}

uint64_t server_read(const struct proxy *p)
{
    uint64_t taken = outbox_taken(&p->traffic.out[ROW_C2S]), unread = p->relay[ROW_C2S].unread;
    return taken > unread ? taken - unread : 0;
}

void server_end_session(struct proxy *p, const char *reason)
{
    struct buf why = {0};
    bool by_itself = p->end_reason == NULL;
    uint64_t read = server_read(p);
    proxy_reason(p, reason);
    relay_read_rest(&p->relay[ROW_C2S]); /* what the client has asked by now is answered as well */
    size_t open = p->traffic.open[ROW_C2S].open.count;
    server_say_end(p, &why);
    if (by_itself && (p->exit_status != 0 || open > 0))
        log_warn("the server ended: server=%s status=%d open_requests=%zu", server_name_of(p),
                 p->exit_status, open);
    outbox_break(&p->traffic.out[ROW_C2S]);
    if (!by_itself)
        traffic_end_listens(&p->traffic);
    traffic_server_gone(&p->traffic, server_end_cause(p),
                        why.failed ? "the server ended" : buf_str(&why), read);
    buf_close(&why);
    relay_stop_reading(&p->relay[ROW_C2S]);
    relay_stop_reading(&p->relay[ROW_S2C]);
    turn_linger(p);
}

void server_never_was(struct proxy *p)
{
    if (p->not_started.n == 0 || p->finishing || p->traffic.open[ROW_C2S].open.count == 0)
        return;
    outbox_break(&p->traffic.out[ROW_C2S]);
    for (struct pending *q; (q = p->traffic.open[ROW_C2S].open.oldest) != NULL;)
        message_answer_for_server(&p->traffic, q, "server-failed", buf_str(&p->not_started));
    relay_stop_reading(&p->relay[ROW_C2S]);
    turn_linger(p);
}

static bool is_between(struct proxy *p)
{
    return ev_is_active(&p->start_timer);
}

/* A client that says no more may well listen: `echo REQUEST | mcp-interposer …`. Its requests have their deadlines;
 * those that have none by their nature are of no use to it any more, and none is after a `shutdown`. */
static bool answers_are_awaited(const struct proxy *p)
{
    struct pollfd client = {.fd = p->relay[ROW_S2C].out.fd, .events = 0};
    if (p->traffic.leaving || client.fd < 0 ||
        poll(&client, 1, 0) != 0) /* what is reported unasked: nobody reads */
        return false;
    for (const struct pending *q = p->traffic.open[ROW_C2S].open.oldest; q != NULL; q = q->next)
        if (!(q->flags & METHOD_PATIENT) && !q->called_off)
            return true;
    return false;
}

static void end_process(struct proxy *p)
{
    ev_timer_stop(p->loop, &p->drain_timer);
    if (is_between(p)) {
        ev_timer_stop(p->loop, &p->start_timer);
        server_end_session(p, "client-closed");
    }
    child_stop(&p->child);
}

void server_drain(struct proxy *p)
{
    if (ev_is_active(&p->drain_timer) && !answers_are_awaited(p))
        end_process(p);
}

static void on_drain(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)w, (void)revents; /* the end of this turn looks again */
}

void server_end_input(struct proxy *p)
{
    if (is_between(p) || !answers_are_awaited(p)) {
        end_process(p);
        return;
    }
    p->drain_us = clock_mono_us();
    ev_timer_again(p->loop, &p->drain_timer);
}

void server_stop(struct proxy *p)
{
    relay_stop_reading(&p->relay[ROW_C2S]);
    if (outbox_bytes(&p->traffic.out[ROW_C2S]) == 0)
        relay_close_out(&p->relay[ROW_C2S]);
    end_process(p);
}

void server_signalled(struct proxy *p)
{
    bool waited =
        ev_is_active(&p->drain_timer) && clock_mono_us() - p->drain_us >= p->cfg->grace_us / 2;
    server_stop(p);
    if (waited)
        child_kill(&p->child);
}

void server_leave(struct proxy *p)
{
    ev_timer_stop(p->loop, &p->greet_timer);
    ev_timer_stop(p->loop, &p->drain_timer);
    if (ev_is_active(&p->broken_timer)) {
        ev_timer_stop(p->loop, &p->broken_timer);
        relay_hold(&p->relay[ROW_C2S], p->holding);
    }
    relay_close_out(&p->relay[ROW_C2S]);
    if (restart_allowed(p))
        outbox_mend(&p->traffic.out[ROW_C2S]);
    timers_away(&p->traffic.timers, true, recorder_now_us(p->recorder));
}

/* ---- what happens to the process ------------------------------------------------------------ */

bool server_hung(void *owner, const struct pending *q, int64_t waited_us, struct buf *why)
{
    struct proxy *p = owner;
    if (!p->cfg->kill_hung || p->child.state != CHILD_RUNNING || p->end_reason != NULL)
        return false;
    trouble_hang(&p->trouble, p->child.pid, p->child.group, p->relay[ROW_C2S].out.fd, q, waited_us,
                 restart_allowed(p), why);
    log_error("the server hangs and is ended: server=%s pid=%d", server_name_of(p),
              (int)p->child.pid);
    p->hung = true;
    server_leave(p);
    child_kill(&p->child);
    return true;
}

static void on_exit_of_server(struct child *c)
{
    struct proxy *p = c->data;
    char detail[64];
    int status = child_exit_status(c);
    if (status >= 128)
        snprintf(detail, sizeof detail, "{\"signal\":%d}", status - 128);
    else
        snprintf(detail, sizeof detail, "{\"status\":%d}", status);
    recorder_event(p->recorder, "exit", detail);
    if (!p->unlike)
        p->exit_status = p->hung ? PROXY_HUNG : status;
    ev_timer_stop(p->loop, &p->closed_timer);
    if (status == 0 && c->state == CHILD_RUNNING && !c->output_ended)
        return; /* a launcher that has left the real server behind, or the end of its output follows */
    server_leave(p);
    if (!restart_allowed(p))
        outbox_break(&p->traffic.out[ROW_C2S]);
}

static void on_kill_of_server(struct child *c, int sig)
{
    struct proxy *p = c->data;
    char detail[64];
    snprintf(detail, sizeof detail, "{\"signal\":%d}", sig);
    recorder_event(p->recorder, "kill", detail);
    log_warn("sent signal %d to the server, which had not ended: server=%s", sig,
             server_name_of(p));
}

static void on_server_gone(struct child *c)
{
    struct proxy *p = c->data;
    bool at_rest =
        child_exit_status(c) == 0 && !p->closed_early && p->traffic.open[ROW_C2S].open.count == 0;
    for (int i = 0; i < LAST_READS && !p->err.ended; i++)
        relay_read_rest(&p->err); /* why it ended, often */
    bool ended_well = (at_rest || p->traffic.leaving) && !p->hung && !p->unlike;
    server_leave(p);
    if (!ended_well && restart_allowed(p)) {
        restart_later(p);
        return;
    }
    if (!ended_well && p->traffic.handshake.lost) {
        log_error(
            "the server is not started again, for the client's initialize was too long to keep: "
            "server=%s",
            server_name_of(p));
    } else if (!ended_well && p->end_reason == NULL && !p->unlike && p->cfg->restarts > 0) {
        struct buf what = {0};
        const struct pending *q = p->traffic.open[ROW_C2S].open.oldest;
        p->given_up = restart_recent(p, clock_mono_us());
        server_say_end(p, &what);
        trouble_crash_loop(&p->trouble, buf_str(&what),
                           q != NULL && traffic_had(q, server_read(p)) ? q : NULL);
        buf_close(&what);
    }
    server_end_session(p, p->unlike         ? "restart-changed"
                          : p->hung         ? "server-hung"
                          : p->closed_early ? "server-closed"
                                            : "server-exited");
}

/* Its output has ended, and no exit followed: a server that lives and cannot be heard. */
static void on_closed(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)revents;
    struct proxy *p = w->data;
    if (p->child.pid == 0 || p->end_reason != NULL)
        return;
    log_warn("the server closed its stdout: server=%s", server_name_of(p));
    p->closed_early = true;
    server_leave(p);
    child_kill(&p->child);
}

/* The end of its stdin is mostly the end of the process: what the client says now is for the next one. */
void server_input_broken(struct proxy *p)
{
    if (p->child.pid == 0)
        return;
    log_info("the server closed its stdin: server=%s", server_name_of(p));
    if (!restart_allowed(p) || p->child.state != CHILD_RUNNING)
        return;
    relay_hold(&p->relay[ROW_C2S], true);
    ev_timer_set(&p->broken_timer, EXIT_FOLLOWS_S, 0.);
    ev_timer_start(p->loop, &p->broken_timer);
}

static void on_broken(struct ev_loop *loop, ev_timer *w, int revents)
{
    (void)loop, (void)w, (void)revents;
    /* it lives: the end of this turn lets the client be read again */
}

void server_output_ended(struct proxy *p)
{
    if (p->child.pid > 0 && p->traffic.leaving) {
        child_stop(&p->child); /* it was told to end, and is at it */
    } else if (p->child.pid > 0 && p->end_reason == NULL) {
        ev_timer_set(&p->closed_timer, EXIT_FOLLOWS_S, 0.);
        ev_timer_start(p->loop, &p->closed_timer);
    }
    child_output_ended(&p->child);
}

void server_open(struct proxy *p, const sigset_t *mask)
{
    child_open(&p->child, p->loop, p->cfg->grace_us, mask);
    p->child.data = p;
    p->child.on_exit = on_exit_of_server;
    p->child.on_kill = on_kill_of_server;
    p->child.on_gone = on_server_gone;
    ev_init(&p->closed_timer, on_closed);
    ev_init(&p->broken_timer, on_broken);
    ev_timer_init(&p->drain_timer, on_drain, 0., CLIENT_LOOK_S);
    p->closed_timer.data = p->broken_timer.data = p->drain_timer.data = p;
}
