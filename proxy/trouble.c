#include "proxy/trouble.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "vault/redact.h"

void trouble_open(struct trouble *t, struct recorder *r, const char *server, struct slice command)
{
    t->recorder = r;
    t->server = server;
    buf_slice_add(&t->command, command);
}

void trouble_close(struct trouble *t)
{
    escalations_close(&t->written, recorder_dir_fd(t->recorder));
    notify_close(&t->notify);
    buf_close(&t->command);
}

static void keep(struct trouble_head *h, struct slice text)
{
    struct slice head = {text.p, size_min(text.n, TROUBLE_HEAD_MAX)};
    h->n = head.n < text.n ? redact_whole_words(head, REDACT_WORD_MAX) : head.n;
    memcpy(h->text, text.p, h->n);
}

void trouble_heard(struct trouble *t, enum row_direction dir, const struct line *line)
{
    keep(&t->last[dir], (struct slice){line->p, line->n});
}

void trouble_stderr(struct trouble *t, struct slice clean)
{
    keep(&t->err[t->err_n++ % ESCALATION_LINES_MAX], clean);
}

static struct slice head(const struct trouble_head *h)
{
    return h->n > 0 ? (struct slice){h->text, h->n} : (struct slice){0};
}

void trouble_new_process(struct trouble *t)
{
    t->err_from = t->err_n;
}

static bool is_blank(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
            return false;
    return true;
}

/* "ValueError: …", "Error: …", "panic: …", "fatal error: …": behind it a runtime may print its stack and its version. */
static bool tells_of_error(struct slice s)
{
    static const char *const words[] = {"rror:", "xception", "panic", "fatal", "FATAL"};
    for (size_t i = 0; i < MI_COUNT(words); i++)
        if (memmem(s.p, s.n, words[i], strlen(words[i])) != NULL)
            return true;
    return false;
}

void trouble_last_words(const struct trouble *t, struct buf *b)
{
    struct slice best = {0};
    if (recorder_level(t->recorder) == KEEP_MINIMAL)
        return;
    for (uint64_t i = t->err_n; i > t->err_from && t->err_n - i < ESCALATION_LINES_MAX; i--) {
        struct slice line = head(&t->err[(i - 1) % ESCALATION_LINES_MAX]);
        if (is_blank(line))
            continue;
        if (best.p == NULL || tells_of_error(line))
            best = line;
        if (tells_of_error(line))
            break;
    }
    if (best.p != NULL)
        text_visible(b, best);
}

static void tell(struct trouble *t, const struct escalation *e, const char *path)
{
    struct buf detail = {0}, full = {0};
    buf_printf(&detail, "{\"cause\":\"%s\",\"path\":", escalation_cause_name(e->cause));
    text_json(&detail, slice_of(path));
    buf_addc(&detail, '}');
    recorder_event(t->recorder, "escalation", detail.failed ? NULL : buf_str(&detail));
    buf_printf(&full, "%s/%s", recorder_vault(t->recorder), path);
    log_error("somebody should look at this: server=%s cause=%s file=%s", t->server,
              escalation_cause_name(e->cause), buf_str(&full));
    if (!full.failed)
        notify_run(&t->notify, buf_str(&full));
    buf_close(&detail);
    buf_close(&full);
}

/* Fills in what is the same for every cause, and writes. */
static void escalate(struct trouble *t, struct escalation *e, const struct pending *q)
{
    struct slice lines[ESCALATION_LINES_MAX];
    struct buf path = {0};
    bool new_file;
    size_t n = t->err_n < ESCALATION_LINES_MAX ? (size_t)t->err_n : ESCALATION_LINES_MAX;
    if (recorder_dir_fd(t->recorder) < 0)
        return; /* no vault, no file */
    for (size_t i = 0; i < n; i++)
        lines[i] = head(&t->err[(t->err_n - n + i) % ESCALATION_LINES_MAX]);
    e->at_us = clock_wall_us();
    e->server = t->server;
    e->session = recorder_uid(t->recorder);
    e->command = buf_str(&t->command);
    bool bodies = recorder_level(t->recorder) != KEEP_MINIMAL;
    if (bodies) {
        e->stderr_lines = lines;
        e->stderr_n = n;
        e->last_to_server = head(&t->last[ROW_C2S]);
        e->last_to_client = head(&t->last[ROW_S2C]);
    } else {
        e->answer = (struct slice){0};
    }
    if (q != NULL) {
        e->seq = q->request_seq;
        e->method = q->method;
        if (bodies)
            e->request = q->text;
        if (slice_is(q->method, "tools/call"))
            e->tool = q->target;
    }
    if (escalation_write(&t->written, recorder_dir_fd(t->recorder), e, &path, &new_file) < 0)
        log_warn("cannot write an escalation file: server=%s cause=%s", t->server,
                 escalation_cause_name(e->cause));
    else if (new_file)
        tell(t, e, buf_str(&path));
    e->stderr_lines = NULL; /* they end with this call */
    e->stderr_n = 0;
    buf_close(&path);
}

void trouble_hang(struct trouble *t, pid_t pid, pid_t group, int stdin_fd, const struct pending *q,
                  int64_t waited_us, bool restarts, struct buf *why)
{
    struct postmortem pm;
    struct buf sentence = {0}, json = {0}, event = {0};
    postmortem_read(&pm, pid, group, stdin_fd, &t->base);
    postmortem_sentence(&sentence, &pm);
    postmortem_json(&json, &pm);
    buf_adds(why, " and sent nothing else meanwhile, so it was ended: ");
    buf_slice_add(why, buf_slice(&sentence));
    buf_printf(&event, "{\"seq\":%llu,\"waited_ms\":%lld,\"post_mortem\":",
               (unsigned long long)q->request_seq, (long long)(waited_us / 1000));
    buf_slice_add(&event, buf_slice(&json));
    buf_addc(&event, '}');
    recorder_event(t->recorder, "hang", event.failed ? NULL : buf_str(&event));
    struct escalation e = {
        .cause = ESCALATION_HANG,
        .action = restarts ? "ended, to be started again" : "ended",
        .happened = buf_slice(why),
        .done =
            slice_of(restarts ? "The call and all others that were open got an error. The server's "
                                "process group is ended; a new process is started."
                              : "The call and all others that were open got an error. The server's "
                                "process group is ended; no new process is started."),
        .post_mortem = buf_slice(&sentence),
        .post_mortem_json = buf_slice(&json),
    };
    escalate(t, &e, q);
    buf_close(&sentence);
    buf_close(&json);
    buf_close(&event);
}

void trouble_crash_loop(struct trouble *t, const char *happened, const struct pending *q)
{
    struct escalation e = {
        .cause = ESCALATION_CRASH_LOOP,
        .action = "given up",
        .happened = slice_of(happened),
        .done = slice_of("Open requests got an error, and the session ended."),
    };
    escalate(t, &e, q);
}

void trouble_record_error(struct trouble *t, const char *happened)
{
    struct escalation e = {
        .cause = ESCALATION_RECORD_ERROR,
        .action = "session ended",
        .happened = slice_of(happened),
        .done = slice_of("Open requests got an error, and the session ended."),
    };
    escalate(t, &e, NULL);
}

void trouble_auth(struct trouble *t, const struct pending *q, struct slice answer)
{
    struct escalation e = {
        .cause = ESCALATION_AUTH,
        .action = "passed on",
        .answer = answer,
        .happened =
            slice_of("The server answered that it may not do this: credentials are missing, "
                     "wrong or expired."),
        .done = slice_of("The answer was passed on to the client. The call is not made again."),
    };
    escalate(t, &e, q);
}
