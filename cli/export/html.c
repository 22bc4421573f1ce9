/* html.c - writes a session as one page that needs no other file: cli/export/report.html with the
 * data of the session.
 *
 * The data is JSON in a <script> with a type that browsers do not run. Characters that could end
 * this element or begin another element are escaped. The page makes only text nodes from the
 * data. */
#include "cli/export/formats.h"

#include "base/json_out.h"
#include "base/text.h"
#include "cli/export/report.h"
#include "cli/frame/event_words.h"
#include "cli/frame/preview.h"
#include "wire/json/scan.h"

#include <assert.h>

#define BODY_MAX ((size_t)64 << 10) /* maximum number of bytes shown of a body */
#define PREVIEW_MAX ((size_t)240)   /* maximum bytes of a preview; the page truncates it further */

struct page {
    struct export *x;
    struct json_out j;
};

static void page_add_string(struct page *p, const char *name, struct slice text)
{
    if (text.p == NULL)
        return;
    struct buf *b = &p->x->b;
    struct buf json = {0};
    text_append_json(&json, text);
    json_out_name(&p->j, name);
    for (size_t i = 0; i < json.n; i++) {
        if (strchr("<>&", json.p[i]) != NULL)
            buf_printf(b, "\\u%04x", (unsigned)json.p[i]);
        else
            buf_addc(b, json.p[i]);
    }
    b->failed |= json.failed;
    buf_close(&json);
}

/* Adds text for people. Characters on which a browser acts, such as changes of direction, are made
 * visible. */
static void page_add_text(struct page *p, const char *name, struct slice text)
{
    if (text.p == NULL)
        return;
    struct buf visible = {0};
    text_append_visible(&visible, text);
    page_add_string(p, name, buf_slice(&visible));
    p->x->b.failed |= visible.failed;
    buf_close(&visible);
}

/* Adds x->text as the preview that a row shows in one line. */
static void page_add_preview(struct page *p)
{
    struct buf *text = &p->x->text;
    if (text->n > PREVIEW_MAX) {
        text->n = text_prefix(buf_slice(text), PREVIEW_MAX).n;
        buf_adds(text, "…");
    }
    if (text->n > 0)
        page_add_text(p, "preview", buf_slice(text));
}

/* Adds the content that the page shows after a click on the row. */
static void page_add_row_content(struct page *p, struct slice content)
{
    struct buf *text = &p->x->text;
    struct json_scan scan;
    if (json_scan(content, NULL, NULL, &scan) < 0) {
        page_add_text(p, "body", content);
        return;
    }
    buf_clear(text);
    text_append_visible_json(text, scan.root);
    page_add_string(p, "body", buf_slice(text));
    json_out_bool(&p->j, "json", true);
}

static void page_add_body(struct page *p, const struct query_message *m)
{
    struct export *x = p->x;
    const char *error;
    struct slice body = export_read_body(x, m, BODY_MAX, &error);
    int64_t whole = m->is_large ? m->body_length : (int64_t)body.n;
    body = text_prefix(body, BODY_MAX);
    if (body.p == NULL) {
        if (error != NULL)
            page_add_text(p, "error", slice_of(error));
        return;
    }
    buf_clear(&x->text);
    /* reads PREVIEW_MAX bytes and one more character, so that page_add_preview() shortens a longer
     * text */
    preview_add_message(&x->text, m, body, PREVIEW_MAX + 4);
    page_add_preview(p);
    page_add_row_content(p, body);
    if (whole > (int64_t)body.n)
        json_out_int(&p->j, "cut", whole - (int64_t)body.n);
}

static void page_add_call(struct page *p, const struct exported_call *c)
{
    enum call_status status = calls_get_status(c);
    const struct listed_operation *o = c->operation;
    json_out_str(&p->j, "status", call_status_name(status));
    if (calls_get_duration_us(c) >= 0)
        json_out_int(&p->j, "took", calls_get_duration_us(c));
    if (c->answer_seq > 0)
        json_out_int(&p->j, "answer", c->answer_seq);
    if (c->from_server)
        json_out_bool(&p->j, "from_server", true);
    if (call_status_failed(status))
        json_out_bool(&p->j, "failed", true);
    if (o != NULL ? o->has_error_code : c->has_error_code)
        json_out_int(&p->j, "code", o != NULL ? o->error_code : c->error_code);
    if (c->operation_seq != 0)
        json_out_int(&p->j, "continues", c->operation_seq);
    if (o == NULL)
        return;
    json_out_int(&p->j, "requests", o->requests);
    json_out_int(&p->j, "person", o->person_us);
    if (o->closing_seq != 0)
        json_out_int(&p->j, "end", o->closing_seq);
}

static void page_begin_row(struct page *p)
{
    json_out_add_whitespace(&p->j, "\n");
    json_out_object(&p->j, NULL);
}

static bool page_end_row(struct page *p)
{
    json_out_end(&p->j);
    return export_flush(p->x);
}

static bool html_on_message(void *ctx, const struct query_message *m)
{
    struct page *p = ctx;
    struct export *x = p->x;
    const struct exported_call *c = export_find_selected_call(x, m);
    if (export_skips_message(x, m) || !export_selects_message(x, m))
        return true;
    page_begin_row(p);
    json_out_int(&p->j, "seq", m->seq);
    json_out_int(&p->j, "t", m->t_us);
    page_add_text(p, "kind", slice_of(row_kind_name(m->kind)));
    page_add_text(p, "id", m->rpc_id);
    page_add_text(p, "method", session_method_of_message(m));
    page_add_text(p, "target", session_target_of_message(m));
    page_add_text(p, "finding", m->finding);
    if (m->action != ROW_FORWARDED && m->kind != KIND_STDERR)
        page_add_text(p, "action", slice_of(row_action_name(m->action)));
    if (m->direction == ROW_C2S)
        json_out_bool(&p->j, "to_server", true);
    json_out_int(&p->j, "size", m->size);
    if (c != NULL)
        page_add_call(p, c);
    page_add_body(p, m);
    return page_end_row(p);
}

static bool html_on_event(void *ctx, const struct query_event *e)
{
    struct page *p = ctx;
    if (!export_selects_event(p->x, e))
        return true;
    page_begin_row(p);
    json_out_int(&p->j, "t", e->t_us);
    page_add_text(p, "event", e->kind);
    buf_clear(&p->x->text);
    event_words_append_event(&p->x->text, e->kind, e->detail);
    page_add_preview(p);
    if (e->detail.p != NULL)
        page_add_row_content(p, text_prefix(e->detail, BODY_MAX));
    return page_end_row(p);
}

/* Adds the values with which a reader can find the seal of the session. */
static int page_add_evidence(struct page *p)
{
    struct query_seal seal;
    const struct query_session *s = p->x->s;
    json_out_str(&p->j, "evidence", session_evidence_name(s->evidence));
    int st = query_seal(p->x->q, s, &seal);
    if (st == 0) {
        json_out_int(&p->j, "records", seal.records);
        json_out_str(&p->j, "root", seal.root);
    }
    return st == MI_ENOENT ? 0 : st;
}

static int page_add_session(struct page *p)
{
    struct export *x = p->x;
    const struct query_session *s = x->s;
    json_out_object(&p->j, NULL);
    json_out_int(&p->j, "started_at_us", s->started_at_us);
    page_add_text(p, "name", s->name);
    page_add_text(p, "uid", s->uid);
    page_add_text(p, "server_name", s->server_name);
    page_add_text(p, "server_version", s->server_version);
    page_add_text(p, "client_name", s->client_name);
    page_add_text(p, "client_version", s->client_version);
    page_add_text(p, "protocol_version", s->protocol_version);
    page_add_text(p, "cwd", s->cwd);
    json_out_int(&p->j, "lasted_us", x->view.lasted_us);
    json_out_int(&p->j, "calls", x->calls.calls_n);
    if (x->calls.requests_n > x->calls.calls_n)
        json_out_int(&p->j, "requests", x->calls.requests_n);
    json_out_int(&p->j, "failed", x->calls.failed_n);
    json_out_int(&p->j, "server_failed", x->calls.server_failed_n);
    json_out_int(&p->j, "messages", x->view.summary.last_seq);
    if (x->calls.selected_n < x->calls.n) {
        json_out_uint(&p->j, "selected", x->calls.selected_n);
        json_out_uint(&p->j, "of", x->calls.n);
    }
    buf_clear(&x->text);
    session_append_end_reason(&x->text, s, x->view.state);
    page_add_text(p, "ended", buf_slice(&x->text));
    int st = page_add_evidence(p);
    json_out_end(&p->j);
    return st;
}

static void page_add_title(struct export *x)
{
    buf_clear(&x->text);
    text_append_visible(&x->text, x->s->name);
    for (size_t i = 0; i < x->text.n; i++) {
        if (strchr("<>&", x->text.p[i]) != NULL)
            buf_printf(&x->b, "&#%d;", x->text.p[i]);
        else
            buf_addc(&x->b, x->text.p[i]);
    }
    buf_adds(&x->b, ": MCP session");
}

/* Adds the part of the template before a mark. *rest becomes the part after the mark. */
static void page_add_template_until_mark(struct export *x, const char *mark, struct slice *rest)
{
    const char *at = memmem(rest->p, rest->n, mark, strlen(mark));
    assert(at != NULL); /* cannot fail, because report.html contains all marks */
    buf_add(&x->b, rest->p, (size_t)(at - rest->p));
    at += strlen(mark);
    *rest = (struct slice){at, (size_t)(rest->p + rest->n - at)};
}

int export_html(struct export *x)
{
    struct slice rest = {report_page, report_page_n};
    page_add_template_until_mark(x, "@TITLE@", &rest);
    page_add_title(x);
    page_add_template_until_mark(x, "@COST@", &rest);
    int st = export_html_cost(x);
    page_add_template_until_mark(x, "@DATA@", &rest);
    struct page p = {x, json_out_to(&x->b)};
    json_out_array(&p.j, NULL);
    if (st == 0)
        st = page_add_session(&p);
    if (st == 0)
        st = export_read_rows(x, html_on_message, html_on_event, &p);
    buf_addc(&x->b, '\n');
    json_out_end(&p.j);
    buf_slice_add(&x->b, rest);
    return st == 0 ? export_finish_writing(x) : st;
}
