#include "proxy/session/stray.h"

#include "base/log.h"
#include "base/text.h"

#define SPLIT_TRIES 8   /* places in a line where a message may start */
#define NOISE_SHOWN 300 /* bytes of a line that stderr shows */

/* Afterwards the row points into *clean, if anything was replaced. If memory runs out, the text is left out. */
static void sanitize(struct redact_lines *lines, struct row *row, struct buf *clean)
{
    struct redact *r = redact_present();
    size_t n = 0;
    if (row->findings & FINDING(FIND_TOO_LONG)) /* do not truncate within a secret */
        row->body.n = redact_whole_words(row->body, REDACT_WORD_MAX);
    int st = r != NULL ? redact_line(r, lines, row->body, clean, &n) : MI_ENOMEM;
    if (st < 0)
        row->body = (struct slice){"", 0};
    else if (n > 0)
        row->body = buf_slice(clean);
    row->redactions = st == 0 ? n : 0;
}

static const char *hint(findings why)
{
    if (why & FINDING(FIND_CONTENT_LENGTH))
        return " (LSP framing; MCP expects one message per line)";
    if ((why & FINDING(FIND_CUT_JSON)) && (why & FINDING(FIND_NO_NEWLINE)))
        return " (truncated when the output ended; flush before exit)";
    if (why & FINDING(FIND_CUT_JSON))
        return " (the JSON continues on the next line; MCP expects one message per line)";
    return "";
}

void stray_noise(struct traffic *t, struct slice text, findings why)
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
    sanitize(&t->noise_lines, &row, &clean);
    journal_append(t->journal, &row);
    struct slice head = text_head(row.body, NOISE_SHOWN);
    log_warn("dropped output that is not a message: server=%s bytes=%zu text=\"%.*s%s\"%s",
             t->server, text.n, (int)head.n, head.p, head.n < row.body.n ? "…" : "", hint(why));
    buf_close(&clean);
}

/* "received: {…}" */
bool stray_is_echo(struct traffic *t, const struct rpc *m)
{
    bool type_changed;
    struct pending *p = NULL;
    if (m->kind == RPC_NOTIFICATION)
        return rpc_method_is(m, "notifications/initialized") ||
               rpc_method_is(m, "notifications/roots/list_changed");
    if (m->kind == RPC_REQUEST)
        p = pending_find(&t->open[ROW_C2S], m->id, &type_changed);
    return p != NULL && slice_eq(p->method, m->method);
}

/* Whether the line has several values and the first is a message: then the text before the last is not only log
 * text. */
static bool starts_with_message(struct traffic *t, struct slice rest, const struct rpc *several)
{
    struct rpc m;
    return (several->findings & FINDING(FIND_SEVERAL_VALUES)) != 0 &&
           rpc_read((struct slice){rest.p, several->fault.at}, &m) == 0 && m.kind != RPC_INVALID &&
           !stray_is_echo(t, &m);
}

/* The message is the first valid one from some `{` to the end of the line. Text that starts like a message is not
 * taken as log text: two parsers could find different messages in such a line. */
bool stray_split(struct traffic *t, struct message *x)
{
    const char *p = x->text.p;
    if (*p == '{' || (*p == '[' && x->m.fault.kind == JSON_TRAILING))
        return false;
    const char *end = p + x->text.n;
    for (int i = 0; i < SPLIT_TRIES && p < end; i++) {
        p = memchr(p + 1, '{', (size_t)(end - p) - 1);
        if (p == NULL)
            return false;
        struct slice rest = {p, (size_t)(end - p)};
        struct rpc m;
        if (rpc_read(rest, &m) < 0 && starts_with_message(t, rest, &m))
            return false;
        if (m.fault.kind != JSON_OK || m.kind == RPC_INVALID || m.kind == RPC_BATCH ||
            stray_is_echo(t, &m))
            continue;
        stray_noise(t, (struct slice){x->text.p, (size_t)(p - x->text.p)}, FINDING(FIND_NOT_JSON));
        m.findings |= FINDING(FIND_GLUED_TEXT);
        x->text = rest;
        x->m = m;
        return true;
    }
    return false;
}

void stray_drop(struct traffic *t, const struct message *x)
{
    findings why = x->m.findings | x->repairs;
    if (slice_begins(x->text, "Content-Length:"))
        why |= FINDING(FIND_CONTENT_LENGTH);
    stray_noise(t, x->text, why);
}

void stray_stderr(struct traffic *t, const struct line *line, findings found)
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
    sanitize(&t->stderr_lines, &row, &clean);
    if (t->on_stderr != NULL)
        t->on_stderr(t->owner, row.body);
    journal_append(t->journal, &row);
    buf_close(&clean);
}
