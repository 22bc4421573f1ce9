#include "cli/check/recording_check.h"

#include "base/text.h"
#include "cli/check/recheck.h"
#include "cli/frame/session.h"
#include "model/context.h"
#include "vault/cassette/cassette_file.h"
#include "wire/json/text.h"

/* maximum bytes of a body that is checked against the current rules */
#define BODY_MAX ((size_t)16 << 20)
#define TEXT_SHOWN 80 /* maximum number of bytes shown of an invalid line */

/* The recording being checked. */
struct recording_check {
    struct check_report *report;
    struct query *q;  /* reads the vault; NULL: the recording is a file */
    struct slice uid; /* the uid of the session */
    const struct filter *filter;
    const struct recording_check_limit *limit; /* limit of the check; NULL: none */
    int64_t started_at_us;                     /* when the session began; 0 for a file */
    struct recheck recheck;
    struct buf body;                     /* owned; holds the body if the message is large */
    const struct query_message *message; /* the message being checked */
    struct slice text;                   /* the body of `message` */
    breaches broken;                     /* the rules that `message` breaks */
    int status;                          /* the error that ended the reading; 0: none */
};

/* Appends the invalid member, the text of an invalid line, or the error that the interposer sent
 * instead of the server. */
static void recording_check_add_detail(void *ctx, const struct finding_info *info, struct buf *b)
{
    struct recording_check *c = ctx;
    struct rpc rpc;
    struct buf text = {0};
    if ((info->rule & c->broken & RULE(RULE_LARGE_RESULT)) != 0) {
        buf_printf(b, "about %lld tokens", (long long)c->report->tokens);
    } else if ((info->rule & c->broken) != 0) {
        recheck_explain_breach(&c->recheck, (enum rule)__builtin_ctzll(info->rule), b);
    } else if (c->text.p == NULL || info->finding == 0) {
        return;
    } else if (c->message->kind == KIND_NOISE) {
        buf_addc(b, '"');
        text_append_visible(b, text_prefix(c->text, TEXT_SHOWN));
        buf_adds(b, c->text.n > TEXT_SHOWN ? "…\"" : "\"");
    } else if (c->message->origin == ROW_INTERPOSER && rpc_read(c->text, &rpc) == 0) {
        json_unescape(&text, json_string_raw(rpc.error_message));
        text_append_visible(b, buf_slice(&text));
    }
    buf_close(&text);
}

static bool recording_check_on_message(void *ctx, const struct query_message *m)
{
    struct recording_check *c = ctx;
    struct slice body = {0};
    const char *error;
    if (c->limit != NULL && !c->limit->goes_on(c->limit->ctx))
        return false;
    if (!m->is_large || (c->q != NULL && (size_t)m->body_length <= BODY_MAX))
        c->status = session_read_body(c->q, c->uid, m, BODY_MAX, &c->body, &body, &error);
    if (c->status < 0) /* the check fails, because findings in this body would be missed */
        return false;
    c->message = m;
    c->text = body;
    struct rpc rpc;
    bool counts = query_message_is_answer(m) && m->direction == ROW_S2C &&
                  context_counts_method_results(m->request_method);
    c->report->tokens = -1; /* -1: the number of tokens is unknown, or no model reads the message */
    if (counts && body.p != NULL && rpc_read(body, &rpc) == 0)
        c->report->tokens = context_result(&rpc).tokens;
    c->status = recheck_message(&c->recheck, m, body, &c->broken);
    if (c->report->tokens > c->report->large_result)
        c->broken |= RULE(RULE_LARGE_RESULT);
    if (c->status < 0 ||
        (filter_matches_message(c->filter, c->started_at_us, m) &&
         !check_report_add_message(c->report, m, c->broken, recording_check_add_detail, c)))
        c->status = MI_ENOMEM;
    return c->status == 0;
}

static bool recording_check_set_server_name(void *ctx, const struct query_session *s)
{
    struct recording_check *c = ctx;
    check_report_set_server(c->report, s->name);
    return true;
}

static int recording_check_close(struct recording_check *c, int status)
{
    recheck_close(&c->recheck);
    buf_close(&c->body);
    return status == 0 ? c->status : status;
}

int recording_check_run_on_file(struct check_report *r, const struct filter *f, const char *path,
                                struct buf *error)
{
    struct recording_check c = {.report = r, .filter = f};
    recheck_open(&c.recheck);
    check_report_add_recording(r, slice_of(path), 0, 0);
    return recording_check_close(&c, cassette_read(path, recording_check_set_server_name,
                                                   recording_check_on_message, &c, error));
}

int recording_check_run_on_session(struct check_report *r, const struct filter *f, struct query *q,
                                   const struct query_session *s,
                                   const struct recording_check_limit *limit)
{
    struct recording_check c = {.report = r,
                                .q = q,
                                .uid = s->uid,
                                .filter = f,
                                .limit = limit,
                                .started_at_us = s->started_at_us};
    int64_t last_seq = limit != NULL ? limit->last_seq : INT64_MAX;
    recheck_open(&c.recheck);
    check_report_add_recording(r, s->uid, s->number,
                               session_get_uid_prefix(s, SESSION_UID_SHOWN).n);
    check_report_set_server(r, s->name);
    return recording_check_close(
        &c, query_timeline(q, s->id, 1, last_seq, recording_check_on_message, NULL, &c));
}
