/* verdict_json.c - prints the verdict as a JSON object. */
#include "cli/audit/check_verdict.h"

#include "base/base64.h"
#include "base/json_out.h"
#include "base/log.h"
#include "cli/frame/out.h"
#include "cli/frame/session.h"
#include "vault/proof/bundle_record.h"
#include "wire/json/scan.h"

/* Adds the value as a number, or null if the value is 0. */
static void json_add_int_or_null(struct json_out *j, const char *name, int64_t value)
{
    if (value != 0)
        json_out_int(j, name, value);
    else
        json_out_null(j, name);
}

static void add_checkpoint(struct json_out *j, const struct verdict *v)
{
    struct buf text = {0};
    json_out_object(j, "checkpoint");
    json_out_text(j, "origin", v->b->checkpoint.origin);
    json_out_uint(j, "size", v->b->checkpoint.size);
    base64_encode(&text, v->b->checkpoint.root.b, DIGEST_N);
    json_out_text(j, "root", buf_slice(&text));
    buf_clear(&text);
    key_write_public(&text, &v->b->signer);
    json_out_text(j, "key", buf_slice(&text));
    json_out_bool(j, "compared", v->anchor != NULL);
    json_out_end(j);
    j->b->failed = j->b->failed || text.failed;
    buf_close(&text);
}

static bool verdict_json_add_session(struct json_out *j, const struct bundle *b)
{
    struct bundle_walk first = bundle_begin_walk(b), last = first;
    struct bundle_record start, end;
    struct query_session s;
    bool good = bundle_next_record(b, &first, &start) && bundle_read_end_record(b, &last, &end);
    if (good) {
        bundle_record_to_session(&s, &start);
        bundle_record_to_session_end(&s, &end);
        json_out_object(j, "session");
        json_out_text(j, "uid", s.uid);
        json_out_text(j, "name", s.name);
        json_out_text(j, "command", s.command);
        json_out_text(j, "host", s.host);
        json_out_text(j, "cwd", s.cwd);
        json_out_text(j, "client_name", s.client_name);
        json_out_text(j, "client_version", s.client_version);
        json_out_text(j, "server_name", s.server_name);
        json_out_text(j, "server_version", s.server_version);
        json_out_text(j, "protocol_version", s.protocol_version);
        json_out_text(j, "record_level", s.record_level);
        json_out_text(j, "interposer_version", s.interposer_version);
        json_out_int(j, "started_at_us", s.started_at_us);
        json_out_int(j, "ended_at_us", s.ended_at_us);
        json_out_text(j, "end_reason", s.end_reason);
        json_out_int(j, "sealed_at_us", b->leaf[b->seal].leaf.at_us);
        json_add_int_or_null(j, "redacted_at_us", start.redacted_at_us);
        json_add_int_or_null(j, "end_redacted_at_us", end.redacted_at_us);
        json_out_end(j);
    }
    bundle_walk_close(&first);
    bundle_walk_close(&last);
    return good;
}

static void verdict_json_add_message(struct json_out *j, const struct bundle_record *r)
{
    struct query_message m = bundle_record_to_message(r);
    json_out_object(j, NULL);
    json_out_int(j, "seq", m.seq);
    json_out_int(j, "t_us", m.t_us);
    json_out_text(j, "direction", r->field[BUNDLE_MESSAGE_direction]);
    json_out_text(j, "origin", r->field[BUNDLE_MESSAGE_origin]);
    json_out_text(j, "kind", r->field[BUNDLE_MESSAGE_kind]);
    json_out_text(j, "action", r->field[BUNDLE_MESSAGE_action]);
    json_out_text(j, "method", m.method);
    json_out_text(j, "target", m.target);
    json_add_int_or_null(j, "request_seq", m.request_seq);
    json_out_text(j, "finding", m.finding);
    json_add_int_or_null(j, "redacted_at_us", r->redacted_at_us);
    /* Adds a JSON body as JSON. Adds other text, and JSON that is nested too deeply for other
     * parsers, as a string. */
    struct json_scan scan;
    if (m.body.p != NULL && json_scan(m.body, NULL, NULL, &scan) == 0 && !scan.deep)
        json_out_add_visible_json(j, "body", scan.root);
    else
        json_out_text(j, "body", m.body);
    json_out_end(j);
}

static bool add_messages(struct json_out *j, const struct bundle *b)
{
    struct bundle_walk w = bundle_begin_walk(b);
    struct bundle_record r;
    json_out_array(j, "messages");
    while (bundle_next_record(b, &w, &r))
        if (r.kind == BUNDLE_MESSAGE)
            verdict_json_add_message(j, &r);
    json_out_end(j);
    bool good = !w.text.failed;
    bundle_walk_close(&w);
    return good;
}

int verdict_print_json(const struct verdict *v)
{
    struct out o;
    out_open(&o);
    struct json_out j = json_out_to(&o.b);
    bool good = true;
    json_out_object(&j, NULL);
    json_out_str(&j, "type", "verdict");
    json_out_bool(&j, "proven", v->proven);
    if (v->proven) {
        add_checkpoint(&j, v);
        good = verdict_json_add_session(&j, v->b);
        json_out_uint(&j, "records", v->b->records_n);
        json_out_int(&j, "sealed_records", v->b->leaf[v->b->seal].leaf.records);
        good = good && add_messages(&j, v->b);
    } else {
        json_out_str(&j, "why", v->why);
    }
    json_out_end(&j);
    out_end_line(&o);
    int status = out_close(&o);
    if (!good)
        log_error("out of memory");
    return good ? status : EXIT_TROUBLE;
}
