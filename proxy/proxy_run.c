/* proxy_run.c - opens and closes the live proxy, and passes the lines that the relays read to the
 * session. */
#include "proxy/live.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/os/inspect.h"
#include "base/random.h"
#include "base/reserve.h"
#include "base/text.h"
#include "journal/uid.h"
#include "proxy/refuse.h"
#include "proxy/session/stray.h"
#include "proxy/session/tool_changes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* maximum bytes that are recorded of a line of the server's stderr */
#define STDERR_LINE_MAX ((size_t)8 << 10)

static const int end_signals[] = {SIGTERM, SIGINT, SIGHUP};

static void proxy_on_end_signal(struct ev_loop *loop, ev_signal *w, int revents)
{
    (void)loop, (void)revents;
    log_info("stopping: signal=%d", w->signum);
    server_handle_event(w->data, SERVER_EV_SIGNAL);
}

/* ---- callbacks of the relays ---------------------------------------------------------------- */

static enum row_direction direction_of_relay(const struct relay *r)
{
    const struct proxy *p = r->data;
    return r == &p->relay[ROW_C2S] ? ROW_C2S : ROW_S2C;
}

/* Reports that the client has asked the server to shut down, or that the server has rejected that
 * request. before: client_said_shutdown before the last line was handled. */
static void report_client_shutdown(struct proxy *p, bool before)
{
    if (p->traffic.client_said_shutdown != before)
        server_handle_event(p, before ? SERVER_EV_SHUTDOWN_FAILED : SERVER_EV_SHUTDOWN);
}

static void proxy_on_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    bool shutdown = p->traffic.client_said_shutdown;
    incidents_save_message_prefix(&p->incidents, direction_of_relay(r), line);
    traffic_handle_line(&p->traffic, direction_of_relay(r), line);
    report_client_shutdown(p, shutdown);
    server_handle_received_line(p);
}

static void proxy_on_too_long_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    traffic_handle_long_line(&p->traffic, direction_of_relay(r), line);
}

static void proxy_on_last_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    bool shutdown = p->traffic.client_said_shutdown;
    traffic_handle_last_line(&p->traffic, direction_of_relay(r), line);
    report_client_shutdown(p, shutdown);
}

static void proxy_on_unfinished_line(struct relay *r, size_t n)
{
    struct proxy *p = r->data;
    traffic_report_incomplete_line(&p->traffic, direction_of_relay(r), n);
}

static void proxy_on_client_closed(struct relay *r)
{
    server_on_client_closed(r->data);
}

static void on_client_not_reading(struct relay *r)
{
    log_info("the client has stopped reading messages");
    server_handle_event(r->data, SERVER_EV_CLIENT_NOT_READING);
}

static void on_server_closed_output(struct relay *r)
{
    server_on_output_closed(r->data);
}

static void on_server_closed_input(struct relay *r)
{
    struct proxy *p = r->data;
    log_info("the server closed its stdin: server=%s", p->cfg->name);
    server_handle_event(p, SERVER_EV_INPUT_CLOSED);
}

static void proxy_on_no_memory(struct relay *r)
{
    struct proxy *p = r->data;
    log_error("out of memory, ending the session: server=%s", p->cfg->name);
    server_handle_event(p, SERVER_EV_NO_MEMORY);
    p->exit_status = PROXY_FAILED;
}

static bool line_must_wait_for_recorder(struct relay *r, size_t n, int64_t waited_us)
{
    struct proxy *p = r->data;
    return recorder_is_behind(p->recorder, n, waited_us);
}

static const struct relay_calls client_calls = {
    .line = proxy_on_line,
    .must_wait = line_must_wait_for_recorder,
    .too_long = proxy_on_too_long_line,
    .last_line = proxy_on_last_line,
    .closed = proxy_on_client_closed,
    .write_failed = on_server_closed_input, /* the client's relay writes to the server */
    .unfinished = proxy_on_unfinished_line,
    .no_memory = proxy_on_no_memory,
};

static const struct relay_calls server_calls = {
    .line = proxy_on_line,
    .must_wait = line_must_wait_for_recorder,
    .too_long = proxy_on_too_long_line,
    .last_line = proxy_on_last_line,
    .closed = on_server_closed_output,
    .write_failed = on_client_not_reading,
    .unfinished = proxy_on_unfinished_line,
    .no_memory = proxy_on_no_memory,
};

static void proxy_on_stderr_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    stray_record_stderr_line(&p->traffic, line, 0);
}

static void proxy_on_long_stderr_line(struct relay *r, struct line *line)
{
    struct proxy *p = r->data;
    stray_record_stderr_line(&p->traffic, line, FINDING(FIND_TOO_LONG));
}

static void proxy_on_stderr_bytes(struct relay *r, const char *bytes, size_t n)
{
    struct proxy *p = r->data;
    stderr_relay_add(&p->stderr_relay, (struct slice){bytes, n});
    p->silence.stderr_at_us = clock_mono_us();
}

static void proxy_on_stderr_end(struct relay *r)
{
    (void)r; /* Do nothing: the server may close its stderr and continue. */
}

static const struct relay_calls stderr_calls = {
    .line = proxy_on_stderr_line,
    .too_long = proxy_on_long_stderr_line,
    .last_line = proxy_on_stderr_line,
    .closed = proxy_on_stderr_end,
    .write_failed = proxy_on_stderr_end,
    .read_bytes = proxy_on_stderr_bytes,
    .no_memory = proxy_on_no_memory,
};

/* ---- opening and closing -------------------------------------------------------------------- */

static void open_watchers(struct proxy *p)
{
    turn_open_loop_watchers(p);
    for (size_t i = 0; i < MI_COUNT(end_signals); i++) {
        struct sigaction now;
        ev_signal_init(&p->signals[i], proxy_on_end_signal, end_signals[i]);
        p->signals[i].data = p;
        if (sigaction(end_signals[i], NULL, &now) == 0 && now.sa_handler == SIG_IGN)
            /* the signal was ignored when this program started, for example because of nohup(1) */
            continue;
        ev_signal_start(p->loop, &p->signals[i]);
    }
}

static void append_command_json(struct buf *b, char *const *argv)
{
    buf_addc(b, '[');
    for (size_t i = 0; argv[i] != NULL; i++) {
        if (i > 0)
            buf_addc(b, ',');
        text_append_json(b, slice_of(argv[i]));
    }
    buf_addc(b, ']');
}

static int open_recorder(struct proxy *p)
{
    struct buf command = {0};
    append_command_json(&command, p->cfg->argv);
    struct recorder_config rc = {
        .vault = p->cfg->vault,
        .name = p->cfg->name,
        .command = buf_str(&command),
        .level = p->cfg->level,
        .tools_rule = p->cfg->tools != NULL ? buf_slice(&p->cfg->tools->text) : (struct slice){0},
        .sync_full = p->cfg->sync_full,
        .stop_on_error = p->cfg->stop_on_record_error,
        .escalate_command = p->cfg->escalate_command,
        .retention = p->cfg->retention,
        .max_message = p->cfg->max_message,
        .max_waiting = p->cfg->max_waiting,
        .ret_left = p->cfg->ret_recorder,
    };
    int st = command.failed ? MI_ENOMEM : recorder_open(&p->recorder, &rc);
    if (st == MI_ENOMEM)
        log_error("out of memory");
    buf_close(&command);
    if (st == 0)
        p->journal = recorder_get_journal(p->recorder);
    return st;
}

/* Records the event that distinguishes the sessions of `send` from others. */
static void append_event_of_send_command(struct proxy *p)
{
    struct buf detail = {0};
    struct json_out j = json_out_to(&detail);
    if (p->cfg->sent == NULL)
        return;
    json_out_object(&j, NULL);
    json_out_str(&j, "request", p->cfg->sent);
    json_out_end(&j);
    journal_append_event(p->journal, "sent", detail.failed ? NULL : buf_str(&detail));
    buf_close(&detail);
}

static void close_session(struct proxy *p)
{
    struct session_update u = {
        .end_reason = slice_of(server_reason_name(p->machine.reason)),
        .has_exit_status = true,
        .exit_status = p->exit_status,
        .ended_at_us = clock_wall_us(),
    };
    journal_append_session_update(p->journal, &u);
    recorder_close(p->recorder);
}

static void run_loop_and_close_relays(struct proxy *p)
{
    ev_run(p->loop, 0);
    /* The relays are closed here, so that the client does not wait for the rest of the cleanup. */
    for (int i = 0; i < 2; i++)
        relay_close(&p->relay[i]);
}

static void run_session_with_server(struct proxy *p, struct stream in, struct stream out,
                                    struct process_pipes pipes)
{
    server_handle_event(p, SERVER_EV_STARTED);
    if (isatty(in.fd)) /* a person started this program: a client would use pipes */
        log_warn(
            "waiting for JSON-RPC messages on the terminal, one per line: this command is meant "
            "for the configuration of an MCP client, see `mcp-interposer wrap --help`; Ctrl-D "
            "ends it");
    server_process_connect(p, pipes);
    relay_set_output(&p->relay[ROW_S2C], out);
    relay_set_input(&p->relay[ROW_C2S], in);
    run_loop_and_close_relays(p);
}

/* Answers each request with the reason why no server was started: most clients show the answer to
 * the user, but not our stderr. At a terminal no answer is needed: the user sees stderr. */
static void serve_client_without_server(struct proxy *p, struct stream in, struct stream out)
{
    server_handle_event(p, SERVER_EV_START_FAILED);
    if (isatty(in.fd))
        return;
    outbox_discard_after_error(&p->traffic.out[ROW_C2S]); /* drops the client's messages */
    relay_set_output(&p->relay[ROW_S2C], out);
    relay_set_input(&p->relay[ROW_C2S], in);
    run_loop_and_close_relays(p);
}

static void on_missing_credentials(void *owner, const struct pending *q, struct slice answer)
{
    struct proxy *p = owner;
    incidents_escalate_auth_failure(&p->incidents, q, answer);
}

static void escalate_repeated_call(void *owner, const struct pending *q, const char *happened)
{
    struct proxy *p = owner;
    incidents_escalate_repeated_call(&p->incidents, q, happened);
}

static uint64_t count_bytes_read_by_client(void *owner)
{
    const struct proxy *p = owner;
    uint64_t accepted = outbox_count_accepted_bytes(&p->traffic.out[ROW_S2C]);
    int64_t unread = count_unread_bytes_of_fd(p->relay[ROW_S2C].out.fd);
    return unread <= 0 ? accepted : accepted > (uint64_t)unread ? accepted - (uint64_t)unread : 0;
}

static void on_sanitized_stderr_line(void *owner, struct slice clean)
{
    struct proxy *p = owner;
    incidents_add_stderr_line(&p->incidents, clean);
}

/* ---- callbacks of the recorder -------------------------------------------------------------- */

static void continue_both_relays(void *data)
{
    struct proxy *p = data;
    for (int i = 0; i < 2; i++)
        relay_continue(&p->relay[i]); /* the row is published at the end of this turn */
}

static void forward_recorder_output(void *data, struct slice bytes)
{
    struct proxy *p = data;
    stderr_relay_add(&p->stderr_relay, bytes);
}

static void on_previous_tools(void *data, struct tools *tools, const char *uid)
{
    struct proxy *p = data;
    tool_changes_take_previous_tools(&p->traffic, tools, uid);
}

static const struct recorder_calls recorder_calls = {
    .changed = continue_both_relays,
    .output = forward_recorder_output,
    .previous_tools = on_previous_tools,
};

static void on_broken_tools_rule(void *owner, const char *happened)
{
    struct proxy *p = owner;
    incidents_escalate_tools_rule(&p->incidents, happened);
}

static void open_traffic_and_relays(struct proxy *p)
{
    size_t max = p->cfg->max_message;
    char uid[UID_LEN + 1];
    struct hash_key key = {0};
    traffic_open(&p->traffic, p->journal, p->cfg->name, p->cfg->validate, max);
    /* Only the random part of this UID is used, as a secret. If uid_make() fails, the ids of the
     * interposer's own requests contain no secret. */
    if (uid_make(0, uid) == 0)
        handshake_set_own_id_secret(&p->traffic.handshake, uid + UID_TIME_LEN);
    p->traffic.url = p->cfg->url;
    traffic_set_deadlines(&p->traffic, p->cfg->deadlines, p->cfg->max_timeout_us);
    p->traffic.check_arguments = p->cfg->check_arguments;
    p->traffic.gate.rule = p->cfg->tools;
    /* Without random numbers the key is zero: a peer that knows the key gains little. */
    if (random_fill(&key, sizeof key) < 0)
        log_warn("cannot get random numbers: server=%s", p->cfg->name);
    repeats_open(&p->traffic.repeats, p->cfg->on_repeat, p->cfg->repeat_window_us, &key);
    p->traffic.owner = p;
    p->traffic.on_silent = server_handle_silence_timeout;
    p->traffic.on_own_answer = server_handle_answer_to_proxy;
    p->traffic.on_auth = on_missing_credentials;
    p->traffic.on_rule = on_broken_tools_rule;
    p->traffic.on_repeat = escalate_repeated_call;
    p->traffic.client_has_read = count_bytes_read_by_client;
    p->traffic.on_stderr = on_sanitized_stderr_line;
    outbox_open(&p->handshake_box);
    incidents_open(&p->incidents, p->recorder, &p->traffic.forms);
    stderr_relay_open(&p->stderr_relay, p->loop);
    recorder_attach_to_loop(p->recorder, p->loop, &recorder_calls, p);
    relay_open(&p->relay[ROW_C2S], p->loop, &client_calls, p, &p->traffic.out[ROW_C2S], max);
    relay_open(&p->relay[ROW_S2C], p->loop, &server_calls, p, &p->traffic.out[ROW_S2C], max);
    relay_open(&p->server_stderr, p->loop, &stderr_calls, p, &p->stderr_relay.box, STDERR_LINE_MAX);
}

int proxy_libev_version(void)
{
    return ev_version_major() * 100 + ev_version_minor();
}

int proxy_run(const struct proxy_config *cfg)
{
    struct proxy p = {.cfg = cfg, .exit_status = PROXY_FAILED};
    struct stream in, out;
    struct process_pipes pipes;
    sigset_t none, inherited;
    signal(SIGPIPE, SIG_IGN);
    /* The client may have blocked signals that this program needs. They are unblocked here; the
     * server gets the original mask. */
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, &inherited);
    /* Open the recorder before there are descriptors that the recorder's processes would
     * inherit. */
    if (open_recorder(&p) < 0) {
        proxy_refuse_requests("recording cannot begin; stderr of mcp-interposer has the reason");
        return PROXY_FAILED;
    }
    append_event_of_send_command(&p);
    (void)process_adopt_orphans();
    /* libev's own allocator ends the program if memory runs out */
    ev_set_allocator(reserve_realloc);
    p.loop = ev_default_loop(EVFLAG_AUTO);
    if (p.loop == NULL) {
        log_error("cannot create an event loop: %s", strerror(errno));
        recorder_close(p.recorder);
        return PROXY_FAILED;
    }
    if (stream_make_stdio_private(&in, &out) < 0) {
        log_error("cannot use stdin and stdout: %s", strerror(errno));
        recorder_close(p.recorder);
        return PROXY_FAILED;
    }
    open_watchers(&p); /* from here on, a signal ends the server and this program */
    server_open(&p, &inherited);
    bool started = server_process_start(&p, &pipes) == 0;
    open_traffic_and_relays(&p);
    if (started)
        run_session_with_server(&p, in, out, pipes);
    else
        serve_client_without_server(&p, in, out);
    child_kill_descendants(&p.child, p.cfg->grace_us / 2, recorder_pid(p.recorder));
    recorder_set_server(p.recorder, NULL);
    close_session(&p);
    relay_close(&p.server_stderr);
    stderr_relay_close(&p.stderr_relay);
    traffic_close(&p.traffic);
    incidents_close(&p.incidents);
    outbox_close(&p.handshake_box);
    buf_close(&p.start_error);
    silence_close(&p.silence);
    return p.exit_status;
}
