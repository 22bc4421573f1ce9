/* log_records.c - writes findings and events as log records. */
#include "vault/otlp/part.h"

#include "base/text.h"
#include "wire/json/text.h"
#include "wire/mcp/rule.h"

#define DETAIL_MAX 256 /* longest text in the detail of an event, in bytes */
#define KEY_MAX 40

static const struct {
    int number;
    const char *text;
} levels[] = {[SEVERITY_NOTE] = {9, "INFO"},
              [SEVERITY_WARNING] = {13, "WARN"},
              [SEVERITY_ERROR] = {17, "ERROR"}};

/* Writes the beginning of a log record, up to its attributes. */
static void otlp_begin_log_record(struct otlp_request *r, const struct otlp_session *s,
                                  int64_t t_us, enum severity severity, struct slice body)
{
    struct json_out *j = &r->j;
    json_out_object(j, NULL);
    otlp_add_time(j, "timeUnixNano", s->s->started_at_us + t_us);
    otlp_add_time(j, "observedTimeUnixNano", s->s->started_at_us + t_us);
    json_out_int(j, "severityNumber", levels[severity].number);
    json_out_str(j, "severityText", levels[severity].text);
    json_out_object(j, "body");
    json_out_text(j, "stringValue", body);
    json_out_end(j);
}

static void otlp_end_log_record(struct otlp_request *r, const struct otlp_session *s,
                                const struct otlp_origin *o)
{
    otlp_add_attribute(&r->j, "mcp_interposer.session", s->s->uid);
    json_out_end(&r->j);
    /* Without a call, the log record belongs to the trace of the session. */
    struct otlp_context context = otlp_read_trace_context(o->body);
    if (o->seq != 0)
        otlp_add_ids(&r->j, s, o->seq, &context);
    else
        json_out_str(&r->j, "traceId", s->trace);
    json_out_end(&r->j);
}

/* ---- findings ---- */

void otlp_add_finding(struct otlp_request *r, const struct otlp_session *s, struct slice name,
                      const struct query_message *m, const struct otlp_origin *o)
{
    struct json_out *j = &r->j;
    struct finding_info info;
    /* A finding is unknown if a newer version of this program has recorded it. */
    bool known = finding_by_name(name, &info);
    struct slice method = m->method.p != NULL ? m->method : m->request_method;
    struct slice target = m->method.p != NULL ? m->target : m->request_target;
    otlp_begin_log_record(r, s, m->t_us, known ? info.severity : SEVERITY_NOTE,
                          known ? slice_of(info.meaning) : name);
    json_out_str(j, "eventName", "mcp_interposer.finding");
    json_out_array(j, "attributes");
    otlp_add_attribute(j, "mcp_interposer.finding", name);
    otlp_add_attribute(j, "mcp_interposer.direction", slice_of(row_direction_name(m->direction)));
    otlp_add_attribute(j, "mcp.method.name", method);
    if (slice_is(method, "tools/call"))
        otlp_add_attribute(j, "gen_ai.tool.name", target);
    otlp_add_int_attribute(j, "mcp_interposer.seq", m->seq);
    otlp_end_log_record(r, s, o);
}

/* ---- events ---- */

static enum severity severity_of_event(struct slice kind)
{
    static const struct {
        const char *kind;
        enum severity severity;
    } table[] = {
        {"kill", SEVERITY_WARNING},
        {"timeout", SEVERITY_WARNING},
        {"hang", SEVERITY_ERROR},
        {"escalation", SEVERITY_ERROR},
        {"restart", SEVERITY_WARNING},
        {"restart-changed", SEVERITY_ERROR},
        {"repaired", SEVERITY_WARNING},
        {"tool-changed", SEVERITY_WARNING},
        {"tools-rule", SEVERITY_WARNING},
        {"repeat", SEVERITY_WARNING},
        {"repeats-full", SEVERITY_WARNING},
        {"unfinished-line", SEVERITY_WARNING},
        {"gap", SEVERITY_ERROR},
        {"unrecordable", SEVERITY_ERROR},
    };
    for (size_t i = 0; i < MI_COUNT(table); i++)
        if (slice_is(kind, table[i].kind))
            return table[i].severity;
    return SEVERITY_NOTE;
}

static struct json_value parse_event_detail(const struct query_event *e)
{
    struct json_scan scan;
    if (e->detail.p == NULL || json_scan(e->detail, NULL, NULL, &scan) < 0)
        return (struct json_value){0};
    return (struct json_value){scan.type, scan.root};
}

int64_t otlp_read_seq_of_event(const struct query_event *e)
{
    struct json_value detail = parse_event_detail(e);
    int64_t seq = 0;
    if (detail.type != JSON_OBJECT || !json_int(json_get(detail, "seq"), &seq))
        return 0;
    return seq;
}

/* Makes "mcp_interposer.KEY". false: the key has other characters than a-z, 0-9 and _, or is empty
 * or too long. */
static bool make_attribute_key(char ret[KEY_MAX], struct slice key)
{
    static const char prefix[] = "mcp_interposer.";
    size_t at = sizeof prefix - 1;
    if (key.n == 0 || at + key.n >= KEY_MAX)
        return false;
    memcpy(ret, prefix, at);
    for (size_t i = 0; i < key.n; i++) {
        char c = key.p[i];
        if ((c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_')
            return false;
        ret[at++] = c;
    }
    ret[at] = '\0';
    return true;
}

static void add_event_detail(struct otlp_request *r, struct json_value detail)
{
    struct json_walk w = json_walk_begin(detail);
    struct slice key;
    struct json_value v;
    char name[KEY_MAX];
    int64_t n;
    while (json_walk_next(&w, &key, &v)) {
        if (!make_attribute_key(name, key))
            continue;
        if (v.type == JSON_STRING) {
            buf_clear(r->text);
            json_unescape(r->text, json_string_first_bytes(v.text.p, DETAIL_MAX));
            otlp_add_attribute(&r->j, name, buf_slice(r->text));
        } else if (json_int(v, &n)) {
            otlp_add_int_attribute(&r->j, name, n);
        } else if (v.type == JSON_TRUE || v.type == JSON_FALSE) {
            otlp_add_attribute(&r->j, name, v.text);
        }
    }
}

void otlp_add_event(struct otlp_request *r, const struct otlp_session *s,
                    const struct query_event *e, const struct otlp_origin *o)
{
    struct json_out *j = &r->j;
    struct json_value detail = parse_event_detail(e);
    otlp_begin_log_record(r, s, e->t_us, severity_of_event(e->kind), e->kind);
    buf_clear(r->text);
    buf_adds(r->text, "mcp_interposer.");
    buf_slice_add(r->text, e->kind);
    json_out_text(j, "eventName", buf_slice(r->text));
    json_out_array(j, "attributes");
    otlp_add_attribute(j, "mcp_interposer.event", e->kind);
    if (detail.type == JSON_OBJECT)
        add_event_detail(r, detail);
    otlp_end_log_record(r, s, o);
}
