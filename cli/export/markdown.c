/* markdown.c - writes a session as a note: flat YAML front matter, a table of calls, and the bodies
 * of each call. */
#include "cli/export/formats.h"

#include "base/clock.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/frame/event_words.h"
#include "cli/frame/pretty.h"
#include "wire/json/scan.h"

/* maximum number of characters shown of a request or an answer */
#define BODY_CHARS 4000
/* maximum bytes read of a body; longer JSON is not indented */
#define BODY_READ ((size_t)256 << 10)

struct note {
    struct export *x;
    struct out out; /* used only to indent bodies; this output is never written to stdout */
    bool has_events;
};

/* ---- text ---- */

/* Adds plain text: no character of the text is interpreted as Markdown, as HTML, or as a link of
 * Obsidian. */
static void markdown_add_escaped_text(struct export *x, struct slice text)
{
    struct buf visible = {0};
    text_append_visible(&visible, text);
    for (size_t i = 0; i < visible.n; i++) {
        if (strchr("\\`*_{}[]<>()#+-!|~$&=^%@:\"'", visible.p[i]) != NULL)
            buf_addc(&x->b, '\\');
        buf_addc(&x->b, visible.p[i]);
    }
    x->b.failed |= visible.failed;
    buf_close(&visible);
}

static size_t count_longest_backtick_run(struct slice s)
{
    size_t most = 0;
    size_t run = 0;
    for (size_t i = 0; i < s.n; i++) {
        run = s.p[i] == '`' ? run + 1 : 0;
        most = run > most ? run : most;
    }
    return most;
}

/* Adds a block of code. The fence is longer than any run of backticks in the text, so the text
 * cannot end the block. */
static void add_code_block(struct export *x, const char *language, struct slice text)
{
    size_t ticks = count_longest_backtick_run(text);
    struct slice head = text;
    size_t chars = 0;
    for (size_t i = 0; i < text.n; i++) {
        chars += !text_is_utf8_continuation(text.p + i);
        if (chars <= BODY_CHARS)
            head.n = i + 1;
    }
    ticks = ticks < 3 ? 3 : ticks + 1;
    for (size_t i = 0; i < ticks; i++)
        buf_addc(&x->b, '`');
    buf_adds(&x->b, language);
    buf_addc(&x->b, '\n');
    buf_slice_add(&x->b, head);
    if (chars > BODY_CHARS)
        buf_printf(&x->b, "… [+%zu chars]", chars - BODY_CHARS);
    if (head.n == 0 || head.p[head.n - 1] != '\n' || chars > BODY_CHARS)
        buf_addc(&x->b, '\n');
    for (size_t i = 0; i < ticks; i++)
        buf_addc(&x->b, '`');
    buf_adds(&x->b, "\n\n");
}

static void markdown_add_body(struct note *n, const struct query_message *m)
{
    struct export *x = n->x;
    const char *error;
    struct json_scan scan;
    struct slice body = export_read_body(x, m, BODY_READ, &error);
    if (m->finding.p != NULL) {
        buf_adds(&x->b, "Findings: ");
        markdown_add_escaped_text(x, m->finding);
        buf_adds(&x->b, "\n\n");
    }
    if (body.p == NULL) {
        buf_adds(&x->b,
                 error != NULL ? "The body cannot be read: " : "The body was not recorded.\n\n");
        if (error != NULL) {
            markdown_add_escaped_text(x, slice_of(error));
            buf_adds(&x->b, "\n\n");
        }
    } else if (json_scan(body, NULL, NULL, &scan) == 0) {
        buf_clear(&n->out.b);
        pretty_print(&n->out, scan.root, 0);
        x->b.failed |= n->out.b.failed || n->out.error != 0;
        add_code_block(x, "json", buf_slice(&n->out.b));
    } else {
        buf_clear(&x->text);
        text_append_visible(&x->text, body);
        add_code_block(x, "text", buf_slice(&x->text));
    }
}

/* Adds the method and the target, such as "tools/call echo". */
static void add_method_and_target(struct export *x, const struct query_message *m)
{
    markdown_add_escaped_text(x, m->method.p != NULL ? m->method : slice_of("request"));
    if (m->target.p != NULL) {
        buf_addc(&x->b, ' ');
        markdown_add_escaped_text(x, m->target);
    }
}

static void add_call_duration(struct export *x, const struct exported_call *c)
{
    if (calls_get_duration_us(c) >= 0)
        units_show_duration(&x->b, calls_get_duration_us(c));
    else
        buf_addc(&x->b, '-');
}

/* Adds the number of requests if the call is an operation. */
static void add_request_count(struct export *x, const struct exported_call *c)
{
    const struct listed_operation *o = c->operation;
    if (o == NULL)
        return;
    buf_printf(&x->b, " (%lld request%s", (long long)o->requests, o->requests == 1 ? "" : "s");
    if (o->person_us > 0)
        buf_adds(&x->b, ", a person took ");
    if (o->person_us > 0)
        units_show_duration(&x->b, o->person_us);
    buf_addc(&x->b, ')');
}

/* Whether the request is listed below the call that it continues. */
static bool is_continuation_of_call(const struct export *x, const struct exported_call *c)
{
    const struct exported_call *first = calls_find_request(&x->calls, c->operation_seq);
    return first != NULL && first->selected;
}

/* Reads each request that continues the call, and passes it to on_hop. */
static void for_each_continuation(struct export *x, const struct exported_call *c,
                                  query_message_fn on_hop, void *ctx)
{
    size_t n = 0;
    const struct listed_hop *hop =
        c->operation != NULL ? operation_list_get_continuations(&x->calls.operations, c->seq, &n)
                             : NULL;
    for (size_t i = 0; i < n && x->status == 0; i++)
        x->status = query_timeline(x->q, x->s->id, hop[i].seq, hop[i].seq, on_hop, NULL, ctx);
}

/* ---- front matter ---- */

/* Adds a string as JSON, because a JSON string is also a valid YAML string. */
static void markdown_add_string(struct export *x, const char *key, struct slice text)
{
    if (text.p == NULL)
        return;
    buf_printf(&x->b, "%s: ", key);
    text_append_json(&x->b, text);
    buf_addc(&x->b, '\n');
}

static void markdown_add_number(struct export *x, const char *key, int64_t n)
{
    buf_printf(&x->b, "%s: %lld\n", key, (long long)n);
}

static void markdown_add_time(struct export *x, const char *key, int64_t at_us)
{
    buf_printf(&x->b, "%s: %s\n", key, clock_format_utc(at_us).s);
}

/* seal: NULL if the log has no seal of the session. */
static void add_front_matter(struct export *x, const struct query_seal *seal)
{
    const struct query_session *s = x->s;
    buf_adds(&x->b, "---\ntype: mcp-session\n");
    markdown_add_string(x, "uid", s->uid);
    markdown_add_string(x, "server", s->name);
    markdown_add_string(x, "server_name", s->server_name);
    markdown_add_string(x, "server_version", s->server_version);
    markdown_add_string(x, "client", s->client_name);
    markdown_add_string(x, "client_version", s->client_version);
    markdown_add_string(x, "protocol", s->protocol_version);
    markdown_add_string(x, "cwd", s->cwd);
    markdown_add_time(x, "started_at", s->started_at_us);
    if (s->ended_at_us != 0)
        markdown_add_time(x, "ended_at", s->ended_at_us);
    buf_clear(&x->text);
    session_append_end_reason(&x->text, s, x->view.state);
    markdown_add_string(x, "ended", buf_slice(&x->text));
    markdown_add_number(x, "duration_ms", x->view.lasted_us / 1000);
    markdown_add_number(x, "messages", x->view.summary.last_seq);
    markdown_add_number(x, "calls", x->calls.calls_n);
    markdown_add_number(x, "errors", x->calls.failed_n);
    if (x->calls.requests_n > x->calls.calls_n)
        markdown_add_number(x, "requests", x->calls.requests_n);
    markdown_add_string(x, "evidence", slice_of(session_evidence_name(x->s->evidence)));
    if (seal != NULL) {
        markdown_add_number(x, "records", seal->records);
        markdown_add_string(x, "root", slice_of(seal->root));
    }
    buf_adds(&x->b, "tags: [mcp, mcp-session]\n---\n\n");
}

/* ---- the note ---- */

static void add_evidence(struct export *x, const struct query_seal *seal)
{
    buf_printf(&x->b, "Evidence: %s", session_evidence_name(x->s->evidence));
    if (x->s->evidence == EVIDENCE_SEALED) {
        if (seal != NULL)
            buf_printf(&x->b, ", %lld records, root %s. ", (long long)seal->records, seal->root);
        else
            buf_adds(&x->b, ", but the log of the vault has no seal of this session. ");
        buf_adds(&x->b, "The session can be verified in the vault, not in this note: ");
        markdown_add_escaped_text(x, slice_of("mcp-interposer audit verify "));
        markdown_add_escaped_text(x, x->s->uid);
        buf_adds(&x->b, " (docs/evidence.md)");
    }
    buf_adds(&x->b, ".\n\n");
}

static void add_title(struct export *x)
{
    struct clock_text started = clock_format_utc(x->s->started_at_us);
    buf_adds(&x->b, "# ");
    markdown_add_escaped_text(x, x->s->name);
    buf_printf(&x->b, ", %.10s %.5s UTC\n\n", started.s, started.s + 11);
    if (x->s->client_name.p != NULL) {
        buf_adds(&x->b, "Client: ");
        markdown_add_escaped_text(x, x->s->client_name);
        buf_adds(&x->b, ". ");
    }
    long long calls = x->calls.calls_n, errors = x->calls.failed_n;
    buf_printf(&x->b, "%lld call%s", calls, calls == 1 ? "" : "s");
    if (x->calls.requests_n > calls)
        buf_printf(&x->b, " \\(%lld requests\\)", (long long)x->calls.requests_n);
    buf_printf(&x->b, ", %lld error%s, ", errors, errors == 1 ? "" : "s");
    units_show_duration(&x->b, x->view.lasted_us);
    buf_adds(&x->b, ".\n\n");
    if (x->calls.selected_n < x->calls.n)
        buf_printf(&x->b, "This note lists %zu of %zu %s.\n\n", x->calls.selected_n, x->calls.n,
                   x->calls.operations.n > 0 ? "requests" : "calls");
}

static void markdown_add_row(struct export *x, const struct query_message *m,
                             const struct exported_call *c)
{
    buf_printf(&x->b, "| %lld | %.3f s | %s | %s", (long long)m->seq, (double)m->t_us / 1e6,
               c->from_server ? "server" : "client", is_continuation_of_call(x, c) ? "↳ " : "");
    add_method_and_target(x, m);
    add_request_count(x, c);
    buf_printf(&x->b, " | %s | ", call_status_name(calls_get_status(c)));
    add_call_duration(x, c);
    buf_adds(&x->b, " |\n");
}

static bool markdown_on_continuation_row(void *ctx, const struct query_message *m)
{
    struct export *x = ctx;
    const struct exported_call *c = export_find_selected_call(x, m);
    if (c != NULL)
        markdown_add_row(x, m, c);
    return false;
}

static bool markdown_on_row(void *ctx, const struct query_message *m)
{
    struct export *x = ctx;
    const struct exported_call *c = export_find_selected_call(x, m);
    if (c == NULL || is_continuation_of_call(x, c))
        return true;
    markdown_add_row(x, m, c);
    for_each_continuation(x, c, markdown_on_continuation_row, x);
    return export_flush(x);
}

static bool markdown_on_answer(void *ctx, const struct query_message *m)
{
    struct note *n = ctx;
    buf_adds(&n->x->b, "Answer:\n\n");
    markdown_add_body(n, m);
    return false;
}

static void markdown_add_call(struct note *n, const struct query_message *m,
                              const struct exported_call *c)
{
    struct export *x = n->x;
    buf_printf(&x->b, "%s %lld · ", is_continuation_of_call(x, c) ? "####" : "###",
               (long long)m->seq);
    add_method_and_target(x, m);
    add_request_count(x, c);
    buf_printf(&x->b, " · %s · ", call_status_name(calls_get_status(c)));
    add_call_duration(x, c);
    buf_printf(&x->b, "\n\n%s:\n\n", c->from_server ? "Request of the server" : "Request");
    markdown_add_body(n, m);
    if (c->answer_seq > 0) {
        int st = query_timeline(x->q, x->s->id, c->answer_seq, c->answer_seq, markdown_on_answer,
                                NULL, n);
        x->status = x->status == 0 ? st : x->status;
    }
}

static bool markdown_on_continuation(void *ctx, const struct query_message *m)
{
    struct note *n = ctx;
    const struct exported_call *c = export_find_selected_call(n->x, m);
    if (c != NULL)
        markdown_add_call(n, m, c);
    return false;
}

static bool markdown_on_call(void *ctx, const struct query_message *m)
{
    struct note *n = ctx;
    const struct exported_call *c = export_find_selected_call(n->x, m);
    if (c == NULL || is_continuation_of_call(n->x, c))
        return true;
    markdown_add_call(n, m, c);
    for_each_continuation(n->x, c, markdown_on_continuation, n);
    return export_flush(n->x);
}

static bool markdown_on_event(void *ctx, const struct query_event *e)
{
    struct note *n = ctx;
    struct export *x = n->x;
    if (!export_selects_event(x, e))
        return true;
    if (!n->has_events)
        buf_adds(&x->b, "## Events\n\n");
    n->has_events = true;
    buf_printf(&x->b, "- %.3f s ", (double)e->t_us / 1e6);
    markdown_add_escaped_text(x, e->kind);
    buf_clear(&x->text);
    event_words_append_event(&x->text, e->kind, e->detail);
    if (x->text.n > 0)
        buf_adds(&x->b, ": ");
    markdown_add_escaped_text(x, text_prefix(buf_slice(&x->text), BODY_CHARS));
    buf_addc(&x->b, '\n');
    return export_flush(x);
}

static bool markdown_ignore_message(void *ctx, const struct query_message *m)
{
    (void)ctx, (void)m;
    return true;
}

int export_markdown(struct export *x)
{
    struct note n = {.x = x, .out = {.held = true, .utf8 = true}};
    struct query_seal seal;
    int st = query_seal(x->q, x->s, &seal);
    if (st < 0 && st != MI_ENOENT)
        return st;
    add_front_matter(x, st == 0 ? &seal : NULL);
    add_title(x);
    add_evidence(x, st == 0 ? &seal : NULL);
    st = x->status;
    if (x->calls.selected_n > 0) {
        buf_adds(&x->b, "## Calls\n\n| seq | at | by | what | status | took |\n"
                        "|---:|---:|---|---|---|---:|\n");
        st = export_read_rows(x, markdown_on_row, NULL, x);
        buf_addc(&x->b, '\n');
        if (st == 0)
            st = export_read_rows(x, markdown_on_call, NULL, &n);
    }
    if (st == 0)
        st = export_read_rows(x, markdown_ignore_message, markdown_on_event, &n);
    st = st == 0 ? export_finish_writing(x) : st;
    buf_close(&n.out.b);
    buf_close(&n.out.text);
    return st;
}
