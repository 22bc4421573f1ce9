#include "replay/mock/misses.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"

#define LOGGED_MAX 100       /* maximum number of findings that are logged */
#define NEVER_ASKED_MAX 1000 /* maximum number of requests in `never_asked` of the JSON report */

static const struct {
    const char *name, *sentence;
} kinds[MISS_KINDS] = {
    [MISS_UNKNOWN_METHOD] = {"unknown-method", "a method that was never recorded"},
    [MISS_UNKNOWN_TARGET] = {"unknown-target", "never recorded"},
    [MISS_DIFFERENT] = {"different", "not recorded with these parameters"},
    [MISS_EXHAUSTED] = {"exhausted", "requested more often than recorded"},
    [MISS_OUT_OF_ORDER] = {"out-of-order", "recorded, but at another point of the session"},
    [MISS_NO_ANSWER] = {"no-answer", "recorded without an answer"},
    [MISS_VERSION] = {"version", "another protocol revision than the recorded one"},
    [MISS_NOT_A_MESSAGE] = {"not-a-message", "the client sent an invalid message"},
    [MISS_ANSWER_DIFFERS] = {"answer-differs", "the client answered differently than recorded"},
    [MISS_CAPABILITIES] = {"capabilities",
                           "the client declares other capabilities than the recorded one"},
    [MISS_UNANSWERED] = {"unanswered", "the live server did not answer"},
};

const char *miss_kind_name(enum miss_kind kind)
{
    return kinds[kind].name;
}

void misses_close(struct misses *r)
{
    buf_close(&r->json);
    report_close(&r->report);
}

/* ---- sentences ---- */

static void misses_append_value(struct buf *b, struct slice json)
{
    if (json.p == NULL) {
        buf_adds(b, "nothing");
        return;
    }
    struct slice head = text_prefix(json, MISS_VALUE_MAX);
    buf_slice_add(b, head);
    if (head.n < json.n)
        buf_adds(b, "…");
}

static void misses_append_differences(struct buf *b, const struct miss *f)
{
    size_t listed = size_min(f->differences, MISS_DIFFERENCES_MAX);
    for (size_t i = 0; i < listed; i++) {
        const struct miss_difference *d = &f->difference[i];
        buf_adds(b, i == 0 ? " at " : ", ");
        if (d->pointer.n > 0)
            buf_slice_add(b, d->pointer);
        else
            buf_adds(b, "the whole value");
        buf_adds(b, " (recorded ");
        misses_append_value(b, d->recorded);
        buf_adds(b, ", now ");
        misses_append_value(b, d->asked);
        buf_addc(b, ')');
    }
    if (listed < f->differences)
        buf_adds(b, " and more");
}

static void misses_append_sentence(struct buf *b, const struct miss *f)
{
    buf_adds(b, kinds[f->kind].sentence);
    if (f->method.p != NULL) {
        buf_adds(b, ": ");
        buf_slice_add(b, f->method);
        if (f->target.n > 0) {
            buf_addc(b, ' ');
            buf_slice_add(b, f->target);
        }
    }
    if (f->nearest_seq != 0)
        buf_printf(b, "; %s seq %llu", f->kind == MISS_NO_ANSWER ? "it is" : "the nearest is",
                   (unsigned long long)f->nearest_seq);
    if (f->differences > 0) {
        buf_adds(b, ", which differs");
        misses_append_differences(b, f);
    }
    if (f->answered_live) {
        buf_adds(b, "; the live server answers");
    } else if (f->accept.n > 0) {
        buf_adds(b, "; to accept it: ");
        buf_slice_add(b, f->accept);
    }
}

/* ---- JSON ---- */

/* Writes a value. A value longer than MISS_VALUE_MAX becomes a string with its first characters. */
static void misses_write_value(struct json_out *j, const char *name, struct slice json)
{
    if (json.p == NULL)
        return;
    if (json.n <= MISS_VALUE_MAX) {
        json_out_add_visible_json(j, name, json);
        return;
    }
    json_out_name(j, name);
    text_append_shortened_json(j->b, json, MISS_VALUE_MAX);
}

static void misses_write_request(struct json_out *j, struct slice method, struct slice target)
{
    if (method.p != NULL)
        json_out_text(j, "method", method);
    if (target.n > 0)
        json_out_text(j, "target", target);
}

void misses_add_error_data(struct json_out *j, const struct miss *f)
{
    size_t listed = size_min(f->differences, MISS_DIFFERENCES_MAX);
    misses_write_request(j, f->method, f->target);
    if (f->nearest_seq != 0)
        json_out_uint(j, "nearest_seq", f->nearest_seq);
    if (listed > 0)
        json_out_array(j, "differences");
    for (size_t i = 0; i < listed; i++) {
        const struct miss_difference *d = &f->difference[i];
        json_out_object(j, NULL);
        json_out_text(j, "pointer", d->pointer);
        misses_write_value(j, "recorded", d->recorded);
        misses_write_value(j, "asked", d->asked);
        json_out_end(j);
    }
    if (listed > 0)
        json_out_end(j);
    if (f->accept.n > 0)
        json_out_text(j, "accept", f->accept);
}

static bool miss_is_failure(const struct miss *f)
{
    return !f->is_note && !f->answered_live;
}

static void misses_add_json(struct misses *r, const struct miss *f, struct slice sentence)
{
    struct json_out j = json_out_continue_list(&r->json);
    json_out_add_whitespace(&j, "\n    ");
    json_out_object(&j, NULL);
    json_out_str(&j, "kind", miss_kind_name(f->kind));
    json_out_bool(&j, "failure", miss_is_failure(f));
    if (f->answered_live)
        json_out_bool(&j, "live", true);
    json_out_text(&j, "message", sentence);
    misses_add_error_data(&j, f);
    json_out_end(&j);
}

/* ---- cases ---- */

static struct report_case *begin_report_case_of_miss(struct misses *r, struct slice method,
                                                     struct slice target, uint64_t seq)
{
    struct report_case *c = report_begin_case(&r->report);
    c->group = method.n > 0 ? method : slice_of("line");
    c->place = r->place;
    c->place.seq = (int64_t)seq;
    buf_slice_add(&c->name, target.n > 0   ? target
                            : method.n > 0 ? method
                                           : slice_of("not a message"));
    return c;
}

static const char help[] =
    "The client sent a request that differs from the recording. The message names the nearest "
    "recorded request, and "
    "the option that accepts the difference. If the change is intended, record the session again.";

static const char never_asked_help[] =
    "The client did not send a request that was recorded. If the change is intended, record the "
    "session again.";

/* Adds a case for a recorded request, whether the client has sent it or not. */
static void add_request_to_report(struct misses *r, const struct misses_request *q, bool strict)
{
    struct report_case *c = begin_report_case_of_miss(r, q->method, q->target, q->seq);
    buf_printf(&c->name, " (seq %llu)", (unsigned long long)q->seq);
    if (!q->asked && q->needed) {
        c->outcome = strict ? REPORT_FAILED : REPORT_SKIPPED;
        c->rule = (struct report_rule){"never-asked", "recorded, but never requested",
                                       never_asked_help, REPORT_ERROR};
        buf_adds(&c->message, strict ? c->rule.meaning : "");
    }
    report_add_case(&r->report);
}

/* ---- findings ---- */

void misses_add_and_log_miss(struct misses *r, const struct miss *f, struct buf *message)
{
    struct buf text = {0};
    misses_append_sentence(&text, f);
    struct slice sentence = buf_slice(&text);
    r->counts.notes += f->is_note;
    if (f->kind == MISS_UNANSWERED)
        r->counts.unanswered++;
    else
        r->counts.missed += miss_is_failure(f);
    if (r->kept < LOGGED_MAX)
        log_line(f->is_note         ? LOG_INFO
                 : f->answered_live ? LOG_NOTE
                                    : LOG_WARN,
                 "%s", buf_str(&text));
    else if (r->kept == LOGGED_MAX)
        log_warn("further findings are not logged; see --report");
    if (r->kept < MISS_FINDINGS_MAX) {
        misses_add_json(r, f, sentence);
        if (!f->is_note) {
            struct report_case *c =
                begin_report_case_of_miss(r, f->method, f->target, f->nearest_seq);
            c->outcome = miss_is_failure(f) ? REPORT_FAILED : REPORT_PASSED;
            c->rule = (struct report_rule){miss_kind_name(f->kind), kinds[f->kind].sentence, help,
                                           REPORT_ERROR};
            buf_slice_add(&c->message, sentence);
            report_add_case(&r->report);
        }
    }
    r->kept++;
    if (message != NULL) {
        buf_slice_add(message, sentence);
        message->failed |= text.failed;
    }
    buf_close(&text);
}

/* ---- recorded requests that the client did not send ---- */

uint64_t misses_log_requests_not_sent(misses_next_fn next, void *ctx)
{
    struct misses_request q;
    uint64_t n = 0, at = 0;
    while (next(ctx, &q))
        n += q.needed && !q.asked;
    if (n == 0)
        return 0;
    log_error("recorded but not requested: requests=%llu", (unsigned long long)n);
    while (next(ctx, &q))
        if (q.needed && !q.asked && ++at <= MISS_LOGGED_MAX) {
            struct slice target = text_prefix(q.target, MISS_VALUE_MAX);
            log_error("never requested: %.*s%s%.*s seq=%llu", (int)q.method.n, q.method.p,
                      target.n > 0 ? " " : "", (int)target.n, target.n > 0 ? target.p : "",
                      (unsigned long long)q.seq);
        }
    if (n > MISS_LOGGED_MAX)
        log_error("and %llu more; --report lists them", (unsigned long long)(n - MISS_LOGGED_MAX));
    return n;
}

/* ---- the files ---- */

struct never_asked {
    struct buf json; /* owned; JSON text of the entries of an array */
    uint64_t recorded, n;
};

static void list_requests_not_sent(const struct misses_end *end, struct never_asked *l)
{
    struct json_out j = json_out_to(&l->json);
    struct misses_request q;
    while (end->next(end->ctx, &q)) {
        l->recorded++;
        if (q.asked || !q.needed || ++l->n > NEVER_ASKED_MAX)
            continue;
        json_out_add_whitespace(&j, "\n    ");
        json_out_object(&j, NULL);
        json_out_uint(&j, "seq", q.seq);
        misses_write_request(&j, q.method, q.target);
        json_out_end(&j);
    }
}

static void misses_write_number_member(struct json_out *j, const char *name, uint64_t n)
{
    json_out_add_whitespace(j, "\n  ");
    json_out_uint(j, name, n);
}

static void misses_write_list(struct json_out *j, const char *name, const struct buf *values)
{
    json_out_add_whitespace(j, "\n  ");
    json_out_array(j, name);
    json_out_add_written_members(j, buf_slice(values));
    json_out_end(j);
}

static void misses_write_outcome(struct json_out *j, const struct misses_end *end)
{
    char began[CLOCK_TEXT_MAX];
    clock_utc_text(end->began_us, began);
    json_out_add_whitespace(j, "\n  ");
    json_out_text(j, "recording", end->recording);
    json_out_add_whitespace(j, "\n  ");
    json_out_str(j, "started_at", began);
    json_out_add_whitespace(j, "\n  ");
    json_out_int(j, "duration_ms", end->lasted_us / 1000);
    json_out_add_whitespace(j, "\n  ");
    json_out_int(j, "exit_status", end->exit_status);
    json_out_add_whitespace(j, "\n  ");
    json_out_bool(j, "strict", end->strict);
}

void misses_write_json_report(struct misses *r, const struct misses_end *end, struct buf *b)
{
    const struct misses_counts *c = &r->counts;
    struct never_asked never = {0};
    struct json_out j = json_out_to(b);
    list_requests_not_sent(end, &never);
    json_out_object(&j, NULL);
    json_out_add_whitespace(&j, "\n  ");
    json_out_str(&j, "format", "mcp-interposer-replay-report");
    misses_write_number_member(&j, "version", 1);
    misses_write_outcome(&j, end);
    misses_write_number_member(&j, "requests", c->requests);
    misses_write_number_member(&j, "matched", c->matched);
    misses_write_number_member(&j, "repeated", c->repeated);
    misses_write_number_member(&j, "live", c->live);
    misses_write_number_member(&j, "unanswered", c->unanswered);
    misses_write_number_member(&j, "missed", c->missed);
    misses_write_number_member(&j, "notes", c->notes);
    misses_write_number_member(&j, "faults", c->faults);
    misses_write_number_member(&j, "recorded", never.recorded);
    misses_write_number_member(&j, "not_asked", never.n);
    misses_write_number_member(&j, "unplaced", end->unplaced);
    misses_write_list(&j, "findings", &r->json);
    misses_write_list(&j, "never_asked", &never.json);
    buf_addc(b, '\n');
    json_out_end(&j);
    json_out_line(&j);
    b->failed |= never.json.failed || r->json.failed;
    buf_close(&never.json);
}

void misses_add_requests(struct misses *r, const struct misses_end *end)
{
    struct misses_request q;
    while (end->next(end->ctx, &q))
        add_request_to_report(r, &q, end->strict);
}
