#include "proxy/session/invalid_line.h"

#include "base/log.h"
#include "proxy/session/answer.h"
#include "proxy/session/invocation.h"
#include "proxy/session/request.h"
#include "proxy/session/stray.h"
#include "redact/sanitizer.h"
#include "wire/lenient.h"

#define START_READ 1024 /* bytes at the start of a line that append_start_of_line() sanitizes */

/* ---- quotes --------------------------------------------------------------------------------- */

/* Sanitizes the text like a text that is stored. The complete text is needed, because a part of a
 * secret would not be recognized. *ret_n: number of secrets replaced; if it is 0, the text is
 * unchanged and was not copied. */
static int sanitize_excerpt(struct slice text, struct buf *clean, size_t *ret_n)
{
    struct redact *r = redact_get_current_sanitizer();
    struct buf first = {0};
    size_t more = 0;
    if (r == NULL)
        return MI_ENOMEM;
    int st = redact_message(r, text, REDACT_SECRETS, &first, ret_n);
    if (st == 0)
        st = redact_text(r, *ret_n > 0 ? buf_slice(&first) : text, clean, &more);
    if (st == 0 && more == 0) {
        buf_close(clean);
        *clean = first;
    } else {
        buf_close(&first);
    }
    *ret_n += more;
    return st;
}

/* Appends ": " and the text around the offset `at`. If a secret is near this offset, appends
 * nothing. */
static void append_excerpt(struct buf *b, struct slice text, size_t at)
{
    struct buf clean = {0}, excerpt = {0};
    size_t n = 0;
    int st = sanitize_excerpt(text, &clean, &n);
    if (st == 0 && n > 0) {
        /* number of equal bytes at the start and at the end of `text` and `clean` */
        size_t head = 0, tail = 0;
        size_t shorter = size_min(text.n, clean.n);
        while (head < shorter && text.p[head] == clean.p[head])
            head++;
        while (tail < shorter - head && text.p[text.n - 1 - tail] == clean.p[clean.n - 1 - tail])
            tail++;
        size_t tail_at = text.n - tail;
        if (at + LENIENT_EXCERPT <= head) {
            text.n = head;
        } else if (at >= tail_at + LENIENT_EXCERPT) {
            text = (struct slice){text.p + tail_at, tail};
            at -= tail_at;
        } else {
            st = MI_ENOENT;
        }
    }
    if (st == 0)
        lenient_json_append_excerpt(text, at, &excerpt);
    if (excerpt.n > 0 && !excerpt.failed)
        buf_printf(b, ": %s", buf_str(&excerpt));
    buf_close(&excerpt);
    buf_close(&clean);
}

/* Appends the sanitized start of the line `text`. */
static void append_start_of_line(struct buf *b, struct slice text)
{
    struct buf clean = {0};
    size_t n = 0;
    if (text.n > START_READ)
        text.n = find_end_of_whole_words((struct slice){text.p, START_READ}, START_READ);
    if (sanitize_excerpt(text, &clean, &n) == 0)
        lenient_json_append_excerpt(n > 0 ? buf_slice(&clean) : text, 0, b);
    buf_close(&clean);
}

void invalid_line_save_line_start(struct traffic *t, struct slice text)
{
    buf_clear(&t->invalid_lines.quote);
    append_start_of_line(&t->invalid_lines.quote, text);
    t->invalid_lines.quoted_at = ++t->timers.server_messages;
}

void invalid_line_append_explanation(const struct traffic *t, const struct pending *p,
                                     struct buf *why)
{
    const struct buf *quote = &t->invalid_lines.quote;
    if (quote->n > 0 && !quote->failed && t->invalid_lines.quoted_at > p->server_messages)
        buf_printf(why, " (the server sent a line that answers no request: %.*s)", (int)quote->n,
                   quote->p);
}

/* ---- answers that nobody can read ----------------------------------------------------------- */

static struct pending *find_pending_request(struct traffic *t, struct json_value id)
{
    bool type_changed;
    return pending_find(&t->open[ROW_C2S], id, &type_changed);
}

static void refuse_answer_of_request(struct traffic *t, struct message *x, struct pending *p,
                                     const char *why)
{
    x->m.findings |= FINDING(FIND_MALFORMED_ANSWER);
    x->m.id = (struct json_value){JSON_STRING, p->id};
    answer_replace_rejected_answer(t, x, p, why, "malformed-answer");
}

/* Sends the next waiting error whose time has passed at now_us (INT64_MAX: the next error in any
 * case). Sends nothing if the request is not pending any more, or if the error is about HTTP and
 * the server has answered a request meanwhile. Returns false if there is no such error. */
static bool send_next_postponed_error(struct traffic *t, int64_t now_us)
{
    struct postponed_error error;
    struct pending *p = t->open[ROW_C2S].open.oldest;
    if (!postponed_errors_take_overdue(&t->invalid_lines.postponed, now_us, &error))
        return false;
    while (p != NULL && p->request_seq != error.seq)
        p = p->next;
    bool speaks_mcp = error.http && t->server_answers > 0;
    if (p != NULL && !speaks_mcp)
        answer_client_of_refused_request(t, p, buf_str(&error.why), "malformed-answer");
    buf_close(&error.why);
    return true;
}

/* Records an unreadable answer, and holds the error for its request: the error is sent unless a
 * valid answer comes within INVALID_LINE_WAIT_US after the unreadable line. If the line has waited
 * for a next line, that wait counts. */
static void record_answer_and_hold_error(struct traffic *t, struct message *x, struct pending *p,
                                         const struct server_line *line)
{
    enum json_fault_kind kind = x->m.fault.kind == JSON_DEEP    ? JSON_DEEP
                                : line->flaw_at >= line->text.n ? JSON_CUT
                                                                : JSON_SYNTAX;
    int64_t due_us = t->invalid_lines.lines.waits
                         ? t->invalid_lines.lines.until_us
                         : journal_now_us(t->journal) + INVALID_LINE_WAIT_US;
    x->m.id = (struct json_value){JSON_STRING, p->id};
    struct row row = make_message_row(t, x, KIND_NOISE, ROW_REFUSED);
    row.request_seq = p->request_seq;
    message_append_to_journal(t, &row);
    if (postponed_errors_are_full(&t->invalid_lines.postponed))
        (void)send_next_postponed_error(t, INT64_MAX);
    struct buf *why =
        &postponed_errors_add(&t->invalid_lines.postponed, p->request_seq, due_us)->why;
    buf_adds(why, "the server's answer is not valid JSON: ");
    lenient_json_append_fault(kind, line->text, line->flaw_at, why);
    buf_printf(why, " at byte %zu of the line", line->at + line->flaw_at);
    append_excerpt(why, line->text, line->flaw_at);
}

static bool is_http_header(struct slice line)
{
    size_t n = 0;
    while (n < line.n && line.p[n] != ':' && line.p[n] != ' ')
        n++;
    return n > 0 && n < line.n && line.p[n] == ':';
}

/* Notes whether a line that is not a message begins an HTTP response, or is one of its
 * headers. */
static void detect_http_response_lines(struct traffic *t, const struct server_line *line)
{
    if (line->found & FINDING(FIND_HTTP_OVER_STDIO)) {
        invalid_line_save_line_start(t, line->text);
        t->invalid_lines.http = slice_begins(line->text, "HTTP/");
    } else {
        t->invalid_lines.http = t->invalid_lines.http && is_http_header(line->text);
    }
}

/* A server that answers its first request with HTTP does not speak MCP on stdio. Log lines about
 * HTTP are not taken for a response: they have no headers, or a message follows. */
void invalid_line_on_blank_line(struct traffic *t)
{
    struct pending *p = t->open[ROW_C2S].open.oldest;
    bool response =
        t->invalid_lines.http && t->timers.server_messages == t->invalid_lines.quoted_at;
    t->invalid_lines.http = false;
    if (p == NULL || !response || t->server_answers > 0 || t->validate == VALIDATE_NONE)
        return;
    if (postponed_errors_are_full(&t->invalid_lines.postponed))
        (void)send_next_postponed_error(t, INT64_MAX);
    struct postponed_error *error =
        postponed_errors_add(&t->invalid_lines.postponed, p->request_seq,
                             journal_now_us(t->journal) + INVALID_LINE_HTTP_WAIT_US);
    error->http = true;
    buf_adds(&error->why,
             "the server answers with HTTP on its stdout, MCP over stdio expects one JSON "
             "message per line: start the server with its stdio transport, or use its URL in "
             "the client: ");
    buf_slice_add(&error->why, buf_slice(&t->invalid_lines.quote));
}

/* Refuses a line that was meant as the answer to a pending request. */
static void refuse_invalid_answer(struct traffic *t, struct message *x,
                                  const struct server_line *line)
{
    static const char several[] = "the server's answer is invalid: several JSON values on one line";
    struct pending *p = find_pending_request(t, line->id);
    t->timers.server_messages++; /* the server has sent something: it is not silent */
    if (p == NULL)
        return;
    if (line->kind == SERVER_LINE_UNREADABLE) {
        record_answer_and_hold_error(t, x, p, line);
    } else if (line->text.n == 0) {
        answer_client_of_refused_request(t, p, several, "malformed-answer");
    } else if (line->found & FINDING(FIND_SEVERAL_VALUES)) {
        refuse_answer_of_request(t, x, p, several);
    } else {
        x->m.id = line->id;
        (void)answer_malformed_line(t, x);
    }
}

/* ---- messages ------------------------------------------------------------------------------- */

/* With --validate protocol, refuses a line that would be repaired. x->m is the message after the
 * repair. */
static void refuse_repaired_line(struct traffic *t, struct message *x,
                                 const struct server_line *line)
{
    const struct repair *r = &line->repairs->list[0];
    struct pending *p = NULL;
    struct buf why = {0};
    if (x->m.kind == RPC_RESULT || x->m.kind == RPC_ERROR)
        p = find_pending_request(t, x->m.id);
    buf_printf(&why, "%s, at byte %zu of the line: %s", finding_name(r->finding), line->at + r->at,
               finding_meaning(r->finding));
    enum rpc_kind kind = x->m.kind;
    x->m.kind = RPC_INVALID;
    if (p != NULL) {
        refuse_answer_of_request(t, x, p, buf_str(&why));
    } else {
        uint64_t seq = message_record(t, x, KIND_NOISE, ROW_REFUSED);
        if (kind == RPC_REQUEST)
            answer_send_error(t, ROW_C2S, x->m.id.text, seq, RPC_INVALID_REQUEST, buf_str(&why),
                              finding_name(r->finding));
    }
    buf_close(&why);
}

/* Copies the message to *t->invalid_lines.message, and also its text if the text was repaired. */
static int invalid_line_copy_message(struct traffic *t, const struct message *from,
                                     const struct server_line *line)
{
    struct message *x = t->invalid_lines.message;
    struct repairs *r = &t->invalid_lines.repairs;
    struct line *of = x->line;
    *x = *from;
    x->line = of;
    t->invalid_lines.has_message = true;
    if (line->repairs == NULL)
        return 0;
    struct chunk *copy = chunk_new(line->text.n + 1);
    if (copy == NULL)
        return MI_ENOMEM;
    memcpy(copy->data, line->text.p, line->text.n);
    x->m.findings = 0; /* message_replace_text() determines the findings again */
    *r = *line->repairs;
    for (size_t i = 0; i < r->n; i++)
        r->list[i].at += line->at;
    return message_replace_text(x, copy, line->text.n);
}

static int invalid_line_on_server_line(void *ctx, const struct server_line *line)
{
    struct traffic *t = ctx;
    struct message x = {.dir = ROW_S2C, .text = line->text, .size = line->size};
    if (line->m != NULL)
        x.m = *line->m;
    x.repairs = line->found & ~x.m.findings;
    switch (line->kind) {
    case SERVER_LINE_MESSAGE:
        if (t->validate != VALIDATE_PROTOCOL || line->repairs == NULL || line->repairs->n == 0)
            return invalid_line_copy_message(t, &x, line);
        refuse_repaired_line(t, &x, line);
        break;
    case SERVER_LINE_BLANK:
        message_record(t, &x, KIND_NOISE, ROW_SWALLOWED);
        invalid_line_on_blank_line(t);
        break;
    case SERVER_LINE_NOISE:
        if (line->meant.n > 0)
            invalid_line_save_line_start(t, line->meant);
        stray_record_non_message(t, line->text, line->found);
        detect_http_response_lines(t, line);
        break;
    case SERVER_LINE_REFUSED:
    case SERVER_LINE_UNREADABLE:
        refuse_invalid_answer(t, &x, line);
        break;
    }
    return 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void close_connection_for_no_memory(struct traffic *t)
{
    log_error("out of memory, closing the connection: server=%s", t->server);
    outbox_discard_after_error(&t->out[ROW_S2C]);
}

bool invalid_line_handle_server_line(struct traffic *t, struct message *x)
{
    struct slice line = {x->line->p, x->line->n};
    t->invalid_lines.message = x;
    t->invalid_lines.has_message = false;
    int st = server_lines_handle_line(&t->invalid_lines.lines, line, x->repairs,
                                      journal_now_us(t->journal));
    if (st < 0)
        close_connection_for_no_memory(t);
    return st == 0 && t->invalid_lines.has_message;
}

static void invalid_line_end_waiting_line(struct traffic *t, bool cut)
{
    if (server_lines_flush_waiting(&t->invalid_lines.lines, cut) < 0)
        close_connection_for_no_memory(t);
}

int64_t invalid_line_next_timeout_us(const struct traffic *t, int64_t now_us)
{
    int64_t due_us = postponed_errors_next_due_us(&t->invalid_lines.postponed);
    if (t->invalid_lines.lines.waits && t->invalid_lines.lines.until_us < due_us)
        due_us = t->invalid_lines.lines.until_us;
    if (due_us == INT64_MAX)
        return -1;
    return due_us > now_us ? due_us - now_us : 0;
}

void invalid_line_handle_timeouts(struct traffic *t, int64_t now_us)
{
    bool line = t->invalid_lines.lines.waits && now_us >= t->invalid_lines.lines.until_us;
    /* While the server's output is not read, a line that would end a wait may be in the pipe
     * already: so a wait whose time has passed is prolonged. */
    if (t->timers.paused & TIMERS_SERVER_NOT_READ) {
        if (line)
            t->invalid_lines.lines.until_us = now_us + INVALID_LINE_WAIT_US;
        postponed_errors_postpone_until(&t->invalid_lines.postponed, now_us + INVALID_LINE_WAIT_US);
        return;
    }
    if (line)
        invalid_line_end_waiting_line(t, false);
    while (send_next_postponed_error(t, now_us))
        continue;
}

void invalid_line_on_output_ended(struct traffic *t)
{
    invalid_line_on_blank_line(t); /* the headers of the HTTP response have ended */
    while (send_next_postponed_error(t, INT64_MAX))
        continue;
    invalid_line_end_waiting_line(t, true);
    t->invalid_lines.own_pending = 0;
    t->invalid_lines.notified_seq = 0;
}

/* ---- other lines ---------------------------------------------------------------------------- */

void invalid_line_forward_invalid_line(struct traffic *t, struct message *x)
{
    struct pending *p = NULL;
    struct lenient l;
    lenient_json_read(x->text, &l);
    if (x->m.fault.kind == JSON_OK)
        l.id = x->m.id;
    if (x->dir == ROW_S2C && lenient_json_line_is_answer(&l))
        p = find_pending_request(t, l.id);
    struct row row = make_message_row(t, x, KIND_NOISE, ROW_FORWARDED);
    row.request_seq = p != NULL ? p->request_seq : 0;
    journal_append(t->journal, &row);
    message_add_text_to_outbox(t, x);
    if (p == NULL)
        return;
    if (!p->cancelled) {
        struct invocation v = invocation_make_for_request(t, p);
        v.status = CALL_ERROR;
        invocation_log_error(t, &v, RPC_INTERNAL_ERROR, "the server's answer is invalid", x->size);
    }
    t->timers.server_messages++;
    request_close(t, ROW_C2S, p);
}

void invalid_line_find_first_id(struct message *x, struct lenient *object, struct slice *ret_rest)
{
    *ret_rest = x->text;
    do {
        if (!lenient_json_read_next_object(ret_rest, object))
            return;
    } while (object->id.type == JSON_NONE);
    x->m.id = object->id;
    x->m.is_answer = object->is_answer && !object->is_call;
    /* An object without a method is a request too: the method may follow the syntax error. */
    x->m.is_call = !x->m.is_answer;
}

void invalid_line_reject_later_objects(struct traffic *t, const struct message *x,
                                       struct slice rest, const struct invalid_line_rejection *r)
{
    struct lenient l;
    for (int i = 0; i < INVALID_LINE_OTHERS_MAX && lenient_json_read_next_object(&rest, &l); i++) {
        if (l.id.type == JSON_NONE)
            continue;
        struct message other = {.dir = ROW_C2S, .text = x->text};
        other.m = (struct rpc){.id = l.id, .is_answer = l.is_answer, .is_call = l.is_call};
        if (l.is_call)
            answer_send_error(t, ROW_S2C, l.id.text, r->seq, r->code, r->why, r->cause);
        else if (l.is_answer)
            answer_server_with_error(t, &other);
    }
}

/* ---- interface ------------------------------------------------------------------------------ */

void invalid_line_open(struct traffic *t)
{
    struct server_lines_rules rules = {.max = t->max_message,
                                       .keep_flaws = t->validate == VALIDATE_PROTOCOL,
                                       .open = stray_make_request_lookup(t),
                                       .line = invalid_line_on_server_line,
                                       .ctx = t};
    server_lines_open(&t->invalid_lines.lines, &rules);
}

void invalid_line_close(struct traffic *t)
{
    server_lines_close(&t->invalid_lines.lines);
    postponed_errors_close(&t->invalid_lines.postponed);
    buf_close(&t->invalid_lines.quote);
}
