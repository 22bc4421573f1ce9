#include "proxy/incidents.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/text.h"
#include "redact/sanitizer.h"

void incidents_open(struct incidents *t, struct recorder *r, const struct forms *forms)
{
    t->recorder = r;
    t->forms = forms;
}

void incidents_close(struct incidents *t)
{
    stderr_reason_close(&t->reason);
}

static void copy_beginning_of_message(struct message_head *h, struct slice text)
{
    h->n = 0;
    if (text.n == 0)
        return;
    struct slice head = {text.p, size_min(text.n, INCIDENTS_HEAD_MAX)};
    h->n = head.n < text.n ? find_end_of_whole_words(head, REDACT_WORD_MAX) : head.n;
    memcpy(h->text, text.p, h->n);
}

/* Returns the client's message without the secrets that were entered in forms; {NULL, 0} if out of
 * memory. */
static struct slice hide_form_secrets(const struct incidents *t, struct slice text, struct buf *b)
{
    size_t n = 0;
    if (forms_hide_secrets(t->forms, text, b, &n) < 0)
        return (struct slice){0};
    return n > 0 ? buf_slice(b) : text;
}

void incidents_save_message_prefix(struct incidents *t, enum row_direction dir,
                                   const struct line *line)
{
    struct slice text = {line->p, line->n};
    struct buf b = {0};
    /* Only the start of a message is kept. It contains no secrets if no form asks for a secret and
     * it does not contain `content`, the member with answers to unknown forms. */
    if (dir == ROW_C2S &&
        (forms_have_secrets(t->forms) ||
         memmem(text.p, size_min(text.n, INCIDENTS_HEAD_MAX), "content", 7) != NULL))
        text = hide_form_secrets(t, text, &b);
    copy_beginning_of_message(&t->last[dir], text);
    buf_close(&b);
}

void incidents_add_stderr_line(struct incidents *t, struct slice clean)
{
    copy_beginning_of_message(&t->err[t->err_n++ % ESCALATION_LINES_MAX], clean);
    stderr_reason_read_line(&t->reason, clean);
}

static struct slice get_message_head_text(const struct message_head *h)
{
    return h->n > 0 ? (struct slice){h->text, h->n} : (struct slice){0};
}

void incidents_forget_stderr_reason(struct incidents *t)
{
    stderr_reason_clear(&t->reason);
}

bool incidents_append_end_reason(const struct incidents *t, struct buf *b)
{
    if (recorder_get_level(t->recorder) == RECORD_MINIMAL)
        return false;
    return stderr_reason_append(&t->reason, b);
}

bool incidents_reason_will_recur(const struct incidents *t)
{
    return stderr_reason_will_recur(&t->reason);
}

/* Fills in the fields that do not depend on the cause. The recorder adds the names of the server
 * and the session, and the command. */
static void send_escalation(struct incidents *t, struct escalation *e,
                            const struct incident_call *c)
{
    struct slice lines[ESCALATION_LINES_MAX];
    struct buf request = {0};
    size_t n = t->err_n < ESCALATION_LINES_MAX ? (size_t)t->err_n : ESCALATION_LINES_MAX;
    for (size_t i = 0; i < n; i++)
        lines[i] = get_message_head_text(&t->err[(t->err_n - n + i) % ESCALATION_LINES_MAX]);
    e->at_us = clock_wall_us();
    bool bodies = recorder_get_level(t->recorder) != RECORD_MINIMAL;
    if (bodies) {
        e->stderr_lines = lines;
        e->stderr_n = n;
        e->last_to_server = get_message_head_text(&t->last[ROW_C2S]);
        e->last_to_client = get_message_head_text(&t->last[ROW_S2C]);
    } else {
        e->answer = (struct slice){0};
    }
    e->seq = c->seq;
    e->method = c->method;
    if (bodies && c->text.p != NULL)
        e->request = hide_form_secrets(t, c->text, &request);
    if (slice_is(c->method, "tools/call"))
        e->tool = c->target;
    recorder_escalate(t->recorder, e);
    buf_close(&request);
    e->request = (struct slice){0};
    /* `lines` is a local variable, so e->stderr_lines must not point to it any more */
    e->stderr_lines = NULL;
    e->stderr_n = 0;
}

static void escalate_request(struct incidents *t, struct escalation *e, const struct pending *q)
{
    struct incident_call c = {0};
    if (q != NULL)
        c = (struct incident_call){q->request_seq, q->method, q->target, q->text};
    send_escalation(t, e, &c);
}

void incidents_report_silence(struct incidents *t, const char *event, const struct incident_call *c,
                              int64_t waited_us, uint64_t question, struct slice post_mortem_json)
{
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_object(&j, NULL);
    json_out_uint(&j, "seq", c->seq);
    json_out_int(&j, "waited_ms", waited_us / 1000);
    if (question != 0)
        json_out_uint(&j, "question", question);
    json_out_raw(&j, "post_mortem", post_mortem_json);
    json_out_end(&j);
    journal_append_event(recorder_get_journal(t->recorder), event, b.failed ? NULL : buf_str(&b));
    buf_close(&b);
}

void incidents_report_hang(struct incidents *t, const struct postmortem *pm,
                           const struct incident_call *c, int64_t waited_us, bool restarts,
                           const char *happened)
{
    struct buf sentence = {0}, json = {0};
    postmortem_append_sentence(&sentence, pm);
    postmortem_append_json(&json, pm);
    incidents_report_silence(t, "hang", c, waited_us, 0, buf_slice(&json));
    struct escalation e = {
        .cause = ESCALATION_HANG,
        .action = restarts ? "killed, restarted" : "killed",
        .happened = slice_of(happened),
        .done =
            slice_of(restarts ? "The call and all other pending requests got errors. The server's "
                                "process group is killed and a new process is started."
                              : "The call and all other pending requests got errors. The server's "
                                "process group is killed. No new process is started."),
        .post_mortem = buf_slice(&sentence),
        .post_mortem_json = buf_slice(&json),
    };
    send_escalation(t, &e, c);
    buf_close(&sentence);
    buf_close(&json);
}

void incidents_report_alive_server(struct incidents *t, const struct incident_call *c,
                                   int64_t waited_us, const char *because, const char *happened)
{
    struct buf b = {0};
    struct json_out j = json_out_to(&b);
    json_out_object(&j, NULL);
    json_out_uint(&j, "seq", c->seq);
    json_out_int(&j, "waited_ms", waited_us / 1000);
    json_out_str(&j, "because", because);
    json_out_end(&j);
    journal_append_event(recorder_get_journal(t->recorder), "alive", b.failed ? NULL : buf_str(&b));
    buf_close(&b);
    struct escalation e = {
        .cause = ESCALATION_TIMEOUT,
        .action = "cancelled",
        .happened = slice_of(happened),
        .done = slice_of(
            "The call got an error, and the server got a cancellation. The server was not killed."),
    };
    send_escalation(t, &e, c);
}

void incidents_escalate_crash_loop(struct incidents *t, const char *happened,
                                   const struct pending *q)
{
    struct escalation e = {
        .cause = ESCALATION_CRASH_LOOP,
        .action = "not restarted",
        .happened = slice_of(happened),
        .done = slice_of("Pending requests got errors, and the session ended."),
    };
    escalate_request(t, &e, q);
}

void incidents_escalate_crash(struct incidents *t, const char *happened, const struct pending *q)
{
    struct escalation e = {
        .cause = ESCALATION_CRASH,
        .action = "not sent again",
        .happened = slice_of(happened),
        .done = slice_of("The call got an error. Another process of the server is started, and the "
                         "session goes on."),
    };
    escalate_request(t, &e, q);
}

void incidents_escalate_record_error(struct incidents *t, const char *happened)
{
    struct escalation e = {
        .cause = ESCALATION_RECORD_ERROR,
        .action = "session ended",
        .happened = slice_of(happened),
        .done = slice_of("Pending requests got errors, and the session ended."),
    };
    escalate_request(t, &e, NULL);
}

void incidents_escalate_repeated_call(struct incidents *t, const struct pending *q,
                                      const char *happened)
{
    struct escalation e = {
        .cause = ESCALATION_REPEAT,
        .action = "forwarded",
        .happened = slice_of(happened),
        .done = slice_of("The call was forwarded to the server."),
    };
    escalate_request(t, &e, q);
}

void incidents_escalate_auth_failure(struct incidents *t, const struct pending *q,
                                     struct slice answer)
{
    struct escalation e = {
        .cause = ESCALATION_AUTH,
        .action = "forwarded",
        .answer = answer,
        .happened = slice_of("The server answered with an error about missing, wrong or expired "
                             "credentials."),
        .done = slice_of("The answer was forwarded to the client. The call is not sent again."),
    };
    escalate_request(t, &e, q);
}

void incidents_escalate_tools_rule(struct incidents *t, const char *happened)
{
    struct buf sentence = {0};
    text_append_as_sentence(&sentence, slice_of(happened));
    struct escalation e = {
        .cause = ESCALATION_TOOLS_RULE,
        .action = "applied",
        .happened = buf_slice(&sentence),
        .done = slice_of(
            "The client got the list of tools that the rule allows. The session continues."),
    };
    escalate_request(t, &e, NULL);
    buf_close(&sentence);
}
