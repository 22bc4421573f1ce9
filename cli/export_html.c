/* export_html.c - a session as one page that needs nothing else: cli/report.html with its data.
 *
 * The data is JSON in a <script> of a type that no browser runs. What could end that element, or begin
 * another, is escaped, and the page makes nothing but text nodes of it. */
#include "cli/export.h"

#include "base/text.h"
#include "cli/report.h"
#include "wire/json.h"

#include <assert.h>

#define BODY_MAX ((size_t)64 << 10) /* bytes of a body that are shown */

static void add_string(struct export *x, const char *name, struct slice text)
{
    if (text.p == NULL)
        return;
    struct buf json = {0};
    text_json(&json, text);
    buf_printf(&x->b, ",\"%s\":", name);
    for (size_t i = 0; i < json.n; i++) {
        if (strchr("<>&", json.p[i]) != NULL)
            buf_printf(&x->b, "\\u%04x", (unsigned)json.p[i]);
        else
            buf_addc(&x->b, json.p[i]);
    }
    x->b.failed |= json.failed;
    buf_close(&json);
}

/* Text that a person reads: what a browser would act on, such as a change of direction, is made visible. */
static void add_text(struct export *x, const char *name, struct slice text)
{
    if (text.p == NULL)
        return;
    struct buf visible = {0};
    text_visible(&visible, text);
    add_string(x, name, buf_slice(&visible));
    x->b.failed |= visible.failed;
    buf_close(&visible);
}

static void add_number(struct export *x, const char *name, int64_t n)
{
    buf_printf(&x->b, ",\"%s\":%lld", name, (long long)n);
}

static void add_body(struct export *x, const struct query_message *m)
{
    const char *error;
    struct json_scan scan;
    struct slice body = export_body(x, m, BODY_MAX, &error);
    int64_t whole = m->is_large ? m->body_length : (int64_t)body.n;
    body = text_head(body, BODY_MAX);
    if (body.p == NULL) {
        if (error != NULL)
            add_text(x, "error", slice_of(error));
        return;
    }
    buf_clear(&x->text);
    if (json_scan(body, NULL, NULL, &scan) == 0) {
        text_json_again(&x->text, scan.root);
        add_string(x, "body", buf_slice(&x->text));
        buf_adds(&x->b, ",\"json\":true");
    } else {
        add_text(x, "body", body);
    }
    if (whole > (int64_t)body.n)
        add_number(x, "cut", whole - (int64_t)body.n);
}

static void add_call(struct export *x, const struct call *c)
{
    add_string(x, "status", slice_of(query_status_name(c->status)));
    if (c->end_us >= 0)
        add_number(x, "took", c->end_us - c->t_us);
    if (c->answer_seq > 0)
        add_number(x, "answer", c->answer_seq);
    if (c->from_server)
        buf_adds(&x->b, ",\"from_server\":true");
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct export *x = ctx;
    const struct call *c = slice_is(m->kind, "request") ? calls_find(&x->calls, m->seq) : NULL;
    if (export_skips(x, m))
        return true;
    buf_printf(&x->b, ",\n{\"seq\":%lld", (long long)m->seq);
    add_number(x, "t", m->t_us);
    add_text(x, "kind", m->kind);
    add_text(x, "id", m->rpc_id);
    add_text(x, "method", session_method(m));
    add_text(x, "target", session_target(m));
    add_text(x, "finding", m->finding);
    if (!slice_is(m->action, "forwarded"))
        add_text(x, "action", m->action);
    if (slice_is(m->direction, "c2s"))
        buf_adds(&x->b, ",\"to_server\":true");
    add_number(x, "size", m->size);
    if (c != NULL)
        add_call(x, c);
    add_body(x, m);
    buf_addc(&x->b, '}');
    return export_flush(x);
}

static bool on_event(void *ctx, const struct query_event *e)
{
    struct export *x = ctx;
    buf_printf(&x->b, ",\n{\"t\":%lld", (long long)e->t_us);
    add_text(x, "event", e->kind);
    add_text(x, "body", e->detail);
    buf_addc(&x->b, '}');
    return export_flush(x);
}

static void add_session(struct export *x)
{
    const struct query_session *s = x->s;
    buf_printf(&x->b, "[{\"started_at_us\":%lld", (long long)s->started_at_us);
    add_text(x, "name", s->name);
    add_text(x, "uid", s->uid);
    add_text(x, "server_name", s->server_name);
    add_text(x, "server_version", s->server_version);
    add_text(x, "client_name", s->client_name);
    add_text(x, "client_version", s->client_version);
    add_text(x, "protocol_version", s->protocol_version);
    add_number(x, "lasted_us", x->view.lasted_us);
    add_number(x, "calls", x->view.summary.calls);
    add_number(x, "errors", session_errors(&x->view.summary));
    add_number(x, "messages", x->view.summary.last_seq);
    buf_clear(&x->text);
    session_end_text(&x->text, s, x->view.state);
    add_text(x, "ended", buf_slice(&x->text));
    buf_addc(&x->b, '}');
}

static void add_title(struct export *x)
{
    buf_clear(&x->text);
    text_visible(&x->text, x->s->name);
    for (size_t i = 0; i < x->text.n; i++) {
        if (strchr("<>&", x->text.p[i]) != NULL)
            buf_printf(&x->b, "&#%d;", x->text.p[i]);
        else
            buf_addc(&x->b, x->text.p[i]);
    }
    buf_adds(&x->b, ": MCP session");
}

/* The page up to a mark. What follows the mark is next. */
static void add_page(struct export *x, const char *mark, struct slice *rest)
{
    const char *at = memmem(rest->p, rest->n, mark, strlen(mark));
    assert(at != NULL); /* the page is ours */
    buf_add(&x->b, rest->p, (size_t)(at - rest->p));
    at += strlen(mark);
    *rest = (struct slice){at, (size_t)(rest->p + rest->n - at)};
}

int export_html(struct export *x)
{
    struct slice rest = {report_page, report_page_n};
    add_page(x, "@TITLE@", &rest);
    add_title(x);
    add_page(x, "@DATA@", &rest);
    add_session(x);
    int st = export_each(x, on_message, on_event, x);
    buf_adds(&x->b, "\n]");
    buf_slice_add(&x->b, rest);
    return st == 0 ? export_end(x) : st;
}
