#include "proxy/session/stray.h"

#include "base/log.h"
#include "base/text.h"

#define NOISE_SHOWN 300 /* a log line shows at most this many bytes of the text */

/* Removes secrets from the row's text. If a secret was replaced, row->body then points into *clean.
 * If memory runs out, row->body becomes empty. */
static void sanitize_stray_line(struct redact_lines *lines, struct row *row, struct buf *clean)
{
    struct redact *r = redact_get_current_sanitizer();
    size_t n = 0;
    if (row->findings & FINDING(FIND_TOO_LONG)) /* do not truncate within a secret */
        row->body.n = find_end_of_whole_words(row->body, REDACT_WORD_MAX);
    int st = r != NULL ? redact_line(r, lines, row->body, clean, &n) : MI_ENOMEM;
    if (st < 0)
        row->body = (struct slice){"", 0};
    else if (n > 0)
        row->body = buf_slice(clean);
    row->redactions = st == 0 ? n : 0;
}

static const char *get_hint_for_findings(findings why)
{
    if (why & FINDING(FIND_CONTENT_LENGTH))
        return " (LSP framing; MCP expects one message per line)";
    if (why & FINDING(FIND_HTTP_OVER_STDIO))
        return " (HTTP; start the server with its stdio transport, or use its URL in the client)";
    if ((why & FINDING(FIND_CUT_JSON)) && (why & FINDING(FIND_NO_NEWLINE)))
        return " (truncated when the output ended; flush before exit)";
    if (why & FINDING(FIND_CUT_JSON))
        return " (the JSON text continues on the next line; MCP expects one message per line)";
    return "";
}

void stray_record_non_message(struct traffic *t, struct slice text, findings why)
{
    struct row row = {
        .kind = KIND_NOISE,
        .direction = ROW_S2C,
        .action = t->validate == VALIDATE_NONE ? ROW_FORWARDED : ROW_REFUSED,
        .body = text,
        .not_json = true,
        .size = text.n,
        .findings = why,
    };
    struct buf clean = {0};
    sanitize_stray_line(&t->noise_lines, &row, &clean);
    journal_append(t->journal, &row);
    struct slice head = text_prefix(row.body, NOISE_SHOWN);
    log_warn("dropped output that is not a message: server=%s bytes=%zu text=\"%.*s%s\"%s",
             t->server, text.n, (int)head.n, head.p, head.n < row.body.n ? "…" : "",
             get_hint_for_findings(why));
    buf_close(&clean);
}

static bool request_is_pending(void *ctx, struct json_value id)
{
    bool type_changed;
    return pending_find(&((struct traffic *)ctx)->open[ROW_C2S], id, &type_changed) != NULL;
}

static bool request_is_pending_with_method(void *ctx, struct json_value id, struct slice method)
{
    bool type_changed;
    struct pending *p = pending_find(&((struct traffic *)ctx)->open[ROW_C2S], id, &type_changed);
    return p != NULL && slice_eq(p->method, method);
}

struct open_requests stray_make_request_lookup(struct traffic *t)
{
    return (struct open_requests){request_is_pending, request_is_pending_with_method, t};
}

void stray_record_stderr_line(struct traffic *t, const struct line *line, findings found)
{
    struct row row = {
        .kind = KIND_STDERR,
        .direction = ROW_S2C,
        .action = ROW_FORWARDED,
        .body = {line->p, line->n},
        .not_json = true,
        .size = line->n,
        .findings = found,
    };
    struct buf clean = {0};
    sanitize_stray_line(&t->stderr_lines, &row, &clean);
    if (t->on_stderr != NULL)
        t->on_stderr(t->owner, row.body);
    journal_append(t->journal, &row);
    buf_close(&clean);
}
