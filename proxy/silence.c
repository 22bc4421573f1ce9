#include "proxy/live.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "proxy/session/expire.h"
#include "proxy/session/message.h"

void silence_close(struct silence *s)
{
    struct buf *const all[] = {&s->method, &s->target, &s->text, &s->name, &s->what, &s->found};
    for (size_t i = 0; i < MI_COUNT(all); i++)
        buf_close(all[i]);
}

/* A new process has used no CPU time yet: its first sample needs no read of /proc, which would
 * delay the first answer. */
void silence_on_new_process(struct proxy *p)
{
    p->silence.base = p->silence.recent = (struct process_sample){.at_us = clock_mono_us()};
    p->silence.stderr_at_us = 0;
    p->traffic.server_answers = 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

static void take_process_sample(const struct proxy *p, struct process_sample *s)
{
    process_tree_take_sample(s, p->child.pid, p->child.group);
}

/* Returns true if the base sample was taken at about the time when a request was written. An
 * earlier sample would count CPU time used before the request. A tenth of the wait is allowed, and
 * one tick, because CPU time is measured in ticks. */
static bool base_sample_matches_send_time(const struct silence *s, int64_t written_us,
                                          int64_t waited_us)
{
    return s->base.at_us != 0 &&
           s->base.at_us >= written_us - waited_us / 10 - process_ticks_to_us(1);
}

void silence_take_process_samples(struct proxy *p)
{
    const struct timers *t = &p->traffic.timers;
    struct silence *s = &p->silence;
    const struct pending *first = t->n > 0 ? t->heap[0] : NULL;
    if (p->machine.state == SERVER_ASKED)
        return; /* keep the samples of the request because of which the server was asked */
    int64_t waited_us = first != NULL && first->written_us != 0
                            ? recorder_now_us(p->recorder) - first->written_us
                            : 0;
    int64_t written_us = clock_mono_us() - waited_us;
    if (!base_sample_matches_send_time(s, written_us, waited_us)) {
        take_process_sample(p, &s->base);
        s->recent = s->base;
    } else if (first != NULL && waited_us > 2 * (s->recent.at_us - written_us) &&
               waited_us >= first->timeout_us / 8 && waited_us <= first->timeout_us / 2) {
        take_process_sample(p, &s->recent);
    }
}

static enum liveness judge_server_at_deadline(const struct proxy *p, const struct pending *q,
                                              int64_t waited_us)
{
    const struct silence *s = &p->silence;
    struct process_sample now;
    int64_t written_us = clock_mono_us() - waited_us;
    struct liveness_facts f = {
        .on_hang = p->cfg->on_hang,
        .answered = p->traffic.server_answers > 0,
        .last = timers_max_timeout_applies(&p->traffic.timers, q),
    };
    if (f.on_hang == ON_HANG_KILL) {
        take_process_sample(p, &now);
        bool fits = base_sample_matches_send_time(s, written_us, waited_us);
        f.helpers_us =
            fits ? process_tree_cpu_us_between(s->base.helper_ticks, now.helper_ticks) : 0;
        f.helper_runs = now.helper_runs;
        f.processes_us = fits ? process_tree_cpu_us_between(s->recent.cpu_ticks, now.cpu_ticks) : 0;
        f.process_runs = now.runs;
        f.wrote_stderr = s->stderr_at_us > (fits ? s->recent.at_us : written_us);
    }
    return liveness_judge_at_deadline(&f);
}

/* ---- what is recorded ----------------------------------------------------------------------- */

static void replace_buf_content(struct buf *to, struct slice from)
{
    buf_clear(to);
    buf_slice_add(to, from);
}

static struct slice get_buf_slice_or_empty(const struct buf *b, struct slice from)
{
    return from.p != NULL && !b->failed ? buf_slice(b) : (struct slice){0};
}

static void remember_unanswered_request(struct proxy *p, const struct pending *q, int64_t waited_us,
                                        struct slice what)
{
    struct silence *s = &p->silence;
    replace_buf_content(&s->method, q->method);
    replace_buf_content(&s->target, q->target);
    replace_buf_content(&s->text, q->text);
    replace_buf_content(&s->what, what);
    buf_clear(&s->name);
    message_append_name(&s->name, q->method, q->target);
    buf_clear(&s->found);
    s->call = (struct incident_call){
        .seq = q->request_seq,
        .method = get_buf_slice_or_empty(&s->method, q->method),
        .target = get_buf_slice_or_empty(&s->target, q->target),
        .text = get_buf_slice_or_empty(&s->text, q->text),
    };
    s->asked = (struct process_sample){0};
    s->messages = p->traffic.timers.server_messages;
    s->written_us = clock_mono_us() - waited_us;
    s->modern = q->modern;
    int64_t max_us = p->traffic.timers.max_us;
    p->machine.max_timeout_at_us = max_us > 0 ? s->written_us + max_us : 0;
}

static int64_t get_request_wait_us(const struct silence *s)
{
    return clock_mono_us() - s->written_us;
}

/* Appends a sentence about the state of the server's processes. If event is not NULL, records an
 * event of this name. */
static void describe_server_processes(struct proxy *p, const char *event, uint64_t question,
                                      struct buf *sentence)
{
    struct postmortem pm;
    struct buf json = {0};
    postmortem_read_processes(&pm, p->child.pid, p->child.group, p->relay[ROW_C2S].out.fd,
                              &p->silence.base);
    postmortem_append_sentence(sentence, &pm);
    if (event != NULL) {
        postmortem_append_json(&json, &pm);
        incidents_report_silence(&p->incidents, event, &p->silence.call,
                                 get_request_wait_us(&p->silence), question, buf_slice(&json));
    }
    buf_close(&json);
}

/* Records and escalates why the server is not killed although the client got an error. */
static void report_server_not_killed(struct proxy *p, const char *because)
{
    struct silence *s = &p->silence;
    struct buf happened = {0};
    buf_slice_add(&happened, buf_slice(&s->what));
    buf_slice_add(&happened, buf_slice(&s->found));
    log_warn("the server is not killed: server=%s because=%s", p->cfg->name, because);
    incidents_report_alive_server(&p->incidents, &s->call, get_request_wait_us(s), because,
                                  buf_str(&happened));
    buf_close(&happened);
}

void silence_ask_if_server_is_alive(struct proxy *p)
{
    struct silence *s = &p->silence;
    struct buf sentence = {0};
    take_process_sample(p, &s->asked);
    log_warn("the server is silent, asking it whether it is alive: server=%s pid=%d", p->cfg->name,
             (int)p->child.pid);
    describe_server_processes(p, "asked", expire_send_liveness_request(&p->traffic, s->modern),
                              &sentence);
    buf_clear(&s->found);
    buf_printf(&s->found, " and sent nothing else in that time: %s", buf_str(&sentence));
    buf_close(&sentence);
}

void silence_report_hang(struct proxy *p)
{
    struct silence *s = &p->silence;
    struct postmortem pm;
    struct buf happened = {0}, sentence = {0};
    int64_t us = get_request_wait_us(s);
    postmortem_read_processes(&pm, p->child.pid, p->child.group, p->relay[ROW_C2S].out.fd,
                              &s->base);
    postmortem_append_sentence(&sentence, &pm);
    buf_clear(&s->found);
    if (s->asked.at_us != 0)
        buf_printf(&s->found,
                   ", sent nothing in %.1f s, and did not answer the question whether it is alive",
                   (double)us / 1e6);
    else if (p->machine.due_us != 0 && p->machine.due_us == p->machine.max_timeout_at_us)
        buf_printf(&s->found, ", and sent nothing in %.1f s", (double)us / 1e6);
    else
        buf_adds(&s->found, " and sent nothing else in that time");
    buf_printf(&s->found, ", so it was killed: %s", buf_str(&sentence));
    buf_slice_add(&happened, buf_slice(&s->what));
    buf_slice_add(&happened, buf_slice(&s->found));
    incidents_report_hang(&p->incidents, &pm, &s->call, us,
                          server_state_may_restart(&p->machine, clock_mono_us()),
                          buf_str(&happened));
    log_error("killing the server because it hangs: server=%s pid=%d", p->cfg->name,
              (int)p->child.pid);
    buf_close(&happened);
    buf_close(&sentence);
}

/* ---- decisions ------------------------------------------------------------------------------- */

static enum server_event convert_liveness_to_event(enum liveness l)
{
    switch (l) {
    case LIVENESS_AT_WORK:
        return SERVER_EV_AT_WORK;
    case LIVENESS_STARTING:
        return SERVER_EV_PREPARING;
    case LIVENESS_HUNG:
        return SERVER_EV_HUNG;
    case LIVENESS_SILENT:
    case LIVENESS_SLOW:
        break;
    }
    return SERVER_EV_SILENT;
}

bool silence_handle_timeout(struct proxy *p, const struct pending *q, int64_t waited_us,
                            const struct buf *why, enum server_event *ret)
{
    enum liveness l = LIVENESS_SILENT;
    /* In SERVER_ASKED the server was already asked because of an earlier request. */
    if (p->machine.state != SERVER_ASKED)
        l = judge_server_at_deadline(p, q, waited_us);
    if (l == LIVENESS_SLOW)
        return false;
    if (p->machine.state != SERVER_ASKED)
        remember_unanswered_request(p, q, waited_us, buf_slice(why));
    *ret = convert_liveness_to_event(l);
    return true;
}

enum liveness silence_explain_timeout(struct proxy *p, enum server_state before, struct buf *why)
{
    struct silence *s = &p->silence;
    switch (p->machine.state) {
    case SERVER_ASKED:
        /* the server was asked because of an earlier request, whose error has the details */
        if (before == SERVER_ASKED) {
            buf_adds(why,
                     " and sent nothing else in that time; it is being asked whether it is alive");
            return LIVENESS_SILENT;
        }
        buf_slice_add(why, buf_slice(&s->found));
        buf_adds(why, "; it is being asked whether it is alive, and killed if it does not answer");
        return LIVENESS_SILENT;
    case SERVER_AT_WORK:
    case SERVER_PREPARING:
        silence_report_working_server(p);
        buf_slice_add(why, buf_slice(&s->found));
        return p->machine.state == SERVER_AT_WORK ? LIVENESS_AT_WORK : LIVENESS_STARTING;
    default: /* the server was killed, or the session is ending */
        buf_slice_add(why, buf_slice(&s->found));
        return p->machine.state != before ? LIVENESS_HUNG : LIVENESS_SLOW;
    }
}

void silence_report_working_server(struct proxy *p)
{
    bool starts = p->machine.state == SERVER_PREPARING;
    struct buf sentence = {0};
    describe_server_processes(p, NULL, 0, &sentence);
    buf_clear(&p->silence.found);
    buf_printf(&p->silence.found, " and sent nothing else in that time, but %s: %s",
               starts ? "the server's processes use the CPU, so the server is starting"
                      : "the server's child processes use the CPU",
               buf_str(&sentence));
    report_server_not_killed(p, liveness_name(starts ? LIVENESS_STARTING : LIVENESS_AT_WORK));
    buf_close(&sentence);
}

bool silence_was_ended_by_message(const struct proxy *p)
{
    return server_state_missed_deadline(&p->machine) &&
           p->silence.messages != p->traffic.timers.server_messages;
}

void silence_report_server_message(struct proxy *p)
{
    struct silence *s = &p->silence;
    buf_printf(&s->found, "; it was asked whether it is alive, and sent a message after %.1f s",
               (double)(clock_mono_us() - s->asked.at_us) / 1e6);
    report_server_not_killed(p, "message");
}

enum liveness silence_judge_probed_server(const struct proxy *p)
{
    if (p->machine.state != SERVER_ASKED)
        return LIVENESS_HUNG;
    const struct process_sample *asked = &p->silence.asked;
    struct process_sample now;
    take_process_sample(p, &now);
    struct liveness_asked f = {
        .last = p->machine.max_timeout_at_us != 0 && now.at_us >= p->machine.max_timeout_at_us,
        .helpers_us = process_tree_cpu_us_between(asked->helper_ticks, now.helper_ticks),
        .helper_runs = now.helper_runs,
        .processes_us = process_tree_cpu_us_between(asked->cpu_ticks, now.cpu_ticks),
        .server_runs = now.server_runs,
    };
    return liveness_judge_probed_server(&f);
}
