#include "replay/mock/report.h"

#include "base/clock.h"
#include "base/junit.h"
#include "base/log.h"
#include "base/text.h"

#include <stdio.h>

#define LOGGED_MAX 100       /* findings that are logged */
#define NEVER_ASKED_MAX 1000 /* requests listed in `never_asked` of the JSON report */

static const struct {
    const char *name, *sentence;
} kinds[REPORT_KINDS] = {
    [REPORT_UNKNOWN_METHOD] = {"unknown-method", "a method that was never recorded"},
    [REPORT_UNKNOWN_TARGET] = {"unknown-target", "never recorded"},
    [REPORT_DIFFERENT] = {"different", "not recorded with these parameters"},
    [REPORT_EXHAUSTED] = {"exhausted", "requested more often than recorded"},
    [REPORT_OUT_OF_ORDER] = {"out-of-order", "recorded, but not at this point"},
    [REPORT_NO_ANSWER] = {"no-answer", "recorded without an answer"},
    [REPORT_VERSION] = {"version", "another protocol revision than the recorded one"},
    [REPORT_NOT_A_MESSAGE] = {"not-a-message", "the client sent an invalid message"},
    [REPORT_ANSWER_DIFFERS] = {"answer-differs", "the client answered differently than recorded"},
    [REPORT_CAPABILITIES] = {"capabilities",
                             "the client declares other capabilities than the recorded one"},
    [REPORT_UNANSWERED] = {"unanswered", "the live server did not answer"},
};

const char *report_kind_name(enum report_kind kind)
{
    return kinds[kind].name;
}

void report_close(struct report *r)
{
    buf_close(&r->json);
    buf_close(&r->cases);
}

/* ---- sentences ---- */

static void put_value(struct buf *b, struct slice json)
{
    if (json.p == NULL) {
        buf_adds(b, "nothing");
        return;
    }
    struct slice head = text_head(json, REPORT_VALUE_MAX);
    buf_slice_add(b, head);
    if (head.n < json.n)
        buf_adds(b, "…");
}

static void put_differences(struct buf *b, const struct report_finding *f)
{
    size_t listed = size_min(f->differences, REPORT_DIFFERENCES_MAX);
    for (size_t i = 0; i < listed; i++) {
        const struct report_difference *d = &f->difference[i];
        buf_adds(b, i == 0 ? " at " : ", ");
        if (d->pointer.n > 0)
            buf_slice_add(b, d->pointer);
        else
            buf_adds(b, "the whole value");
        buf_adds(b, " (recorded ");
        put_value(b, d->recorded);
        buf_adds(b, ", now ");
        put_value(b, d->asked);
        buf_addc(b, ')');
    }
    if (listed < f->differences)
        buf_adds(b, " and more");
}

static void put_sentence(struct buf *b, const struct report_finding *f)
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
        buf_printf(b, "; %s seq %llu", f->kind == REPORT_NO_ANSWER ? "it is" : "the nearest is",
                   (unsigned long long)f->nearest_seq);
    if (f->differences > 0) {
        buf_adds(b, ", which differs");
        put_differences(b, f);
    }
    if (f->answered_live) {
        buf_adds(b, "; the live server answers");
    } else if (f->accept.n > 0) {
        buf_adds(b, "; to accept it: ");
        buf_slice_add(b, f->accept);
    }
}

/* ---- JSON ---- */

/* A value that is longer than REPORT_VALUE_MAX becomes a string with its first characters. */
static void put_json_value(struct json_out *j, const char *name, struct slice json)
{
    if (json.p == NULL)
        return;
    if (json.n <= REPORT_VALUE_MAX) {
        json_out_visible(j, name, json);
        return;
    }
    json_out_name(j, name);
    text_json_head(j->b, json, REPORT_VALUE_MAX);
}

static void put_request(struct json_out *j, struct slice method, struct slice target)
{
    if (method.p != NULL)
        json_out_text(j, "method", method);
    if (target.n > 0)
        json_out_text(j, "target", target);
}

void report_data(struct json_out *j, const struct report_finding *f)
{
    size_t listed = size_min(f->differences, REPORT_DIFFERENCES_MAX);
    put_request(j, f->method, f->target);
    if (f->nearest_seq != 0)
        json_out_uint(j, "nearest_seq", f->nearest_seq);
    if (listed > 0)
        json_out_array(j, "differences");
    for (size_t i = 0; i < listed; i++) {
        const struct report_difference *d = &f->difference[i];
        json_out_object(j, NULL);
        json_out_text(j, "pointer", d->pointer);
        put_json_value(j, "recorded", d->recorded);
        put_json_value(j, "asked", d->asked);
        json_out_end(j);
    }
    if (listed > 0)
        json_out_end(j);
    if (f->accept.n > 0)
        json_out_text(j, "accept", f->accept);
}

static bool is_failure(const struct report_finding *f)
{
    return !f->is_note && !f->answered_live;
}

static void add_json(struct report *r, const struct report_finding *f, struct slice sentence)
{
    struct json_out j = json_out_more(&r->json);
    json_out_space(&j, "\n    ");
    json_out_object(&j, NULL);
    json_out_str(&j, "kind", report_kind_name(f->kind));
    json_out_bool(&j, "failure", is_failure(f));
    if (f->answered_live)
        json_out_bool(&j, "live", true);
    json_out_text(&j, "message", sentence);
    report_data(&j, f);
    json_out_end(&j);
}

/* ---- JUnit ---- */

static void put_case(struct buf *b, struct slice method, struct slice target, uint64_t seq,
                     struct junit_case *c)
{
    struct buf name = {0};
    buf_slice_add(&name, target.n > 0 ? target : method.n > 0 ? method : slice_of("not a message"));
    if (seq != 0)
        buf_printf(&name, " (seq %llu)", (unsigned long long)seq);
    c->classname = method.n > 0 ? method : slice_of("line");
    c->name = buf_slice(&name);
    c->time = "0";
    junit_case(b, c);
    b->failed |= name.failed;
    buf_close(&name);
}

/* ---- findings ---- */

void report_add(struct report *r, const struct report_finding *f, struct buf *message)
{
    struct buf text = {0};
    put_sentence(&text, f);
    struct slice sentence = buf_slice(&text);
    r->counts.notes += f->is_note;
    if (f->kind == REPORT_UNANSWERED)
        r->counts.unanswered++;
    else
        r->counts.missed += is_failure(f);
    if (r->kept < LOGGED_MAX)
        log_line(f->is_note         ? LOG_INFO
                 : f->answered_live ? LOG_NOTE
                                    : LOG_WARN,
                 "%s", buf_str(&text));
    else if (r->kept == LOGGED_MAX)
        log_warn("further findings are not logged; see --report");
    if (r->kept < REPORT_FINDINGS_MAX) {
        add_json(r, f, sentence);
        if (!f->is_note) {
            r->cases_n++;
            r->failures += is_failure(f);
            put_case(&r->cases, f->method, f->target, 0,
                     &(struct junit_case){.outcome = is_failure(f) ? JUNIT_FAILED : JUNIT_PASSED,
                                          .type = report_kind_name(f->kind),
                                          .message = sentence});
        }
    }
    r->kept++;
    if (message != NULL) {
        buf_slice_add(message, sentence);
        message->failed |= text.failed;
    }
    buf_close(&text);
}

/* ---- what was never requested ---- */

static void log_never_asked(const struct report_request *q)
{
    struct slice target = text_head(q->target, REPORT_VALUE_MAX);
    log_error("never requested: %.*s%s%.*s seq=%llu", (int)q->method.n, q->method.p,
              target.n > 0 ? " " : "", (int)target.n, target.n > 0 ? target.p : "",
              (unsigned long long)q->seq);
}

uint64_t report_log_never_asked(report_next_fn next, void *ctx)
{
    struct report_request q;
    uint64_t n = 0, at = 0;
    while (next(ctx, &q))
        n += q.needed && !q.asked;
    if (n == 0)
        return 0;
    log_error("recorded but not requested: requests=%llu", (unsigned long long)n);
    while (next(ctx, &q))
        if (q.needed && !q.asked && ++at <= REPORT_LOGGED_MAX)
            log_never_asked(&q);
    if (n > REPORT_LOGGED_MAX)
        log_error("and %llu more; --report lists them",
                  (unsigned long long)(n - REPORT_LOGGED_MAX));
    return n;
}

/* ---- the files ---- */

struct never_asked {
    struct buf json; /* owned; members of an array */
    uint64_t recorded, n;
};

static void list_never_asked(const struct report_end *end, struct never_asked *l)
{
    struct json_out j = json_out_to(&l->json);
    struct report_request q;
    while (end->next(end->ctx, &q)) {
        l->recorded++;
        if (q.asked || !q.needed || ++l->n > NEVER_ASKED_MAX)
            continue;
        json_out_space(&j, "\n    ");
        json_out_object(&j, NULL);
        json_out_uint(&j, "seq", q.seq);
        put_request(&j, q.method, q.target);
        json_out_end(&j);
    }
}

static void put_member(struct json_out *j, const char *name, uint64_t n)
{
    json_out_space(j, "\n  ");
    json_out_uint(j, name, n);
}

static void put_list(struct json_out *j, const char *name, const struct buf *values)
{
    json_out_space(j, "\n  ");
    json_out_array(j, name);
    json_out_members(j, buf_slice(values));
    json_out_end(j);
}

static void put_outcome(struct json_out *j, const struct report_end *end)
{
    char began[CLOCK_TEXT_MAX];
    clock_utc_text(end->began_us, began);
    json_out_space(j, "\n  ");
    json_out_text(j, "recording", end->recording);
    json_out_space(j, "\n  ");
    json_out_str(j, "started_at", began);
    json_out_space(j, "\n  ");
    json_out_int(j, "duration_ms", end->lasted_us / 1000);
    json_out_space(j, "\n  ");
    json_out_int(j, "exit_status", end->exit_status);
    json_out_space(j, "\n  ");
    json_out_bool(j, "strict", end->strict);
}

void report_json(struct report *r, const struct report_end *end, struct buf *b)
{
    const struct report_counts *c = &r->counts;
    struct never_asked never = {0};
    struct json_out j = json_out_to(b);
    list_never_asked(end, &never);
    json_out_object(&j, NULL);
    json_out_space(&j, "\n  ");
    json_out_str(&j, "format", "mcp-interposer-replay-report");
    put_member(&j, "version", 1);
    put_outcome(&j, end);
    put_member(&j, "requests", c->requests);
    put_member(&j, "matched", c->matched);
    put_member(&j, "repeated", c->repeated);
    put_member(&j, "live", c->live);
    put_member(&j, "unanswered", c->unanswered);
    put_member(&j, "missed", c->missed);
    put_member(&j, "notes", c->notes);
    put_member(&j, "faults", c->faults);
    put_member(&j, "recorded", never.recorded);
    put_member(&j, "not_asked", never.n);
    put_member(&j, "unplaced", end->unplaced);
    put_list(&j, "findings", &r->json);
    put_list(&j, "never_asked", &never.json);
    buf_addc(b, '\n');
    json_out_end(&j);
    json_out_line(&j);
    b->failed |= never.json.failed || r->json.failed;
    buf_close(&never.json);
}

static void put_requests(const struct report_end *end, struct buf *b, struct junit_suite *suite)
{
    struct report_request q;
    while (end->next(end->ctx, &q)) {
        struct junit_case c = {.outcome = JUNIT_PASSED};
        suite->tests++;
        if (!q.asked && q.needed && end->strict) {
            suite->failures++;
            c.outcome = JUNIT_FAILED;
            c.type = "never-asked";
            c.message = slice_of("recorded, but never requested");
        } else if (!q.asked && q.needed) {
            suite->skipped++;
            c.outcome = JUNIT_SKIPPED;
        }
        put_case(b, q.method, q.target, q.seq, &c);
    }
}

void report_junit(struct report *r, const struct report_end *end, struct buf *b)
{
    struct buf cases = {0};
    char began[CLOCK_TEXT_MAX], seconds[32];
    struct junit_suite suite = {.name = end->recording,
                                .tests = r->cases_n,
                                .failures = r->failures,
                                .time = seconds,
                                .timestamp = began};
    put_requests(end, &cases, &suite);
    clock_utc_text(end->began_us, began);
    began[sizeof "2026-01-31T23:59:59" - 1] = '\0'; /* JUnit: no milliseconds, no zone */
    snprintf(seconds, sizeof seconds, "%.3f", (double)end->lasted_us / 1e6);
    junit_begin(b, NULL);
    junit_begin_suite(b, &suite);
    buf_slice_add(b, buf_slice(&cases));
    buf_slice_add(b, buf_slice(&r->cases));
    junit_end_suite(b, &suite);
    junit_end(b);
    b->failed |= cases.failed || r->cases.failed;
    buf_close(&cases);
}
