#include "proxy/traffic.h"

#include "base/log.h"
#include "base/text.h"
#include "proxy/message.h"
#include "wire/json_text.h"

#include <stdio.h>

#define LARGE_MESSAGE ((size_t)10 << 20) /* mcp-wire.md 7.2: the TypeScript SDK's buffer */
#define OWN_BYTES_MAX ((size_t)1 << 20)  /* of our answers, while the client does not read */
#define GLUED_TRIES 8                    /* places in a line where a message may begin */
#define NOISE_SHOWN 300                  /* bytes of a stray line that stderr shows */

void traffic_open(struct traffic *t, struct recorder *r, const char *server, enum validate v,
                  size_t max_message)
{
    *t = (struct traffic){.recorder = r,
                          .server = server,
                          .validate = v,
                          .max_message = max_message,
                          .check_arguments = ARGUMENTS_WARN};
    for (int i = 0; i < 2; i++) {
        outbox_open(&t->out[i]);
        pending_open(&t->open[i]);
    }
    timers_open(&t->timers, NULL, 0);
    handshake_open(&t->handshake);
    protocol_open(&t->protocol);
    actions_open(&t->actions, recorder_uid(r), server);
    t->actions.level = recorder_level(r);
}

void traffic_close(struct traffic *t)
{
    for (int i = 0; i < 2; i++) {
        outbox_close(&t->out[i]);
        pending_close(&t->open[i]);
    }
    timers_close(&t->timers);
    handshake_close(&t->handshake);
    protocol_close(&t->protocol);
    tools_close(&t->tools);
    toollist_close(&t->before);
    actions_close(&t->actions);
    buf_close(&t->scratch);
}

/* ---- the server's stray output ------------------------------------------------------------- */

/* A line that is no message may belong to a secret that spans lines: it is sanitized here, where lines come
 * in order and once. What the row points to then is held by *ret_hold, which is the caller's. Without memory
 * the text is left out. */
static void clean_line(struct redact_lines *lines, struct row *row, struct chunk **ret_hold)
{
    struct redact *r = redact_present();
    struct buf clean = {0};
    size_t n = 0;
    *ret_hold = NULL;
    if (row->findings & FINDING(FIND_TOO_LONG)) /* it was cut: not within a secret */
        row->body.n = redact_whole_words(row->body, REDACT_WORD_MAX);
    int st = r != NULL ? redact_line(r, lines, row->body, &clean, &n) : MI_ENOMEM;
    if (st == 0 && n > 0 && (*ret_hold = chunk_new(clean.n)) != NULL) {
        memcpy((*ret_hold)->data, clean.p, clean.n);
        row->body = (struct slice){(*ret_hold)->data, clean.n};
        row->hold = *ret_hold;
        row->redactions = n;
    }
    buf_close(&clean);
    if (st < 0 || (n > 0 && *ret_hold == NULL))
        row->body = (struct slice){"", 0};
}

static const char *hint(findings why)
{
    if (why & FINDING(FIND_CONTENT_LENGTH))
        return " (LSP framing; MCP wants one message a line)";
    if ((why & FINDING(FIND_CUT_JSON)) && (why & FINDING(FIND_NO_NEWLINE)))
        return " (cut: its end was lost when the output ended; flush before exit)";
    if (why & FINDING(FIND_CUT_JSON))
        return " (the JSON goes on in the next line; MCP wants one message a line)";
    return "";
}

static void noise(struct traffic *t, const struct message *x, struct slice text, findings why)
{
    struct row row = {
        .kind = "noise",
        .direction = ROW_S2C,
        .action = t->validate == VALIDATE_NONE ? ROW_FORWARDED : ROW_REFUSED,
        .body = text,
        .not_json = true,
        .size = text.n,
        .findings = why,
        .hold = x->line->chunk,
    };
    struct chunk *hold;
    clean_line(&t->noise_lines, &row, &hold);
    recorder_add(t->recorder, &row);
    struct slice head = text_head(row.body, NOISE_SHOWN);
    log_warn("kept from the client, no message: server=%s bytes=%zu text=\"%.*s%s\"%s", t->server,
             text.n, (int)head.n, head.p, head.n < row.body.n ? "…" : "", hint(why));
    chunk_drop(hold);
}

/* "received: {…}": a server that logs what the client sent has not sent it. */
static bool is_echo(struct traffic *t, const struct rpc *m)
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

/* Several values, and the first is a message: the text in front of the last one is no log text alone. */
static bool begins_with_message(struct traffic *t, struct slice rest, const struct rpc *several)
{
    struct rpc m;
    return (several->findings & FINDING(FIND_SEVERAL_VALUES)) != 0 &&
           rpc_read((struct slice){rest.p, several->fault.at}, &m) == 0 && m.kind != RPC_INVALID &&
           !is_echo(t, &m);
}

/* Log text glued in front of a message: the message is what parses from some `{` to the end of the line
 * (mcp-wire.md 7.1). The text in front is noise. Text that begins like a message is not log text: there
 * two parsers could see two messages. */
static bool glued(struct traffic *t, struct message *x)
{
    const char *p = x->text.p;
    if (*p == '{' || (*p == '[' && x->m.fault.kind == JSON_TRAILING))
        return false;
    const char *end = p + x->text.n;
    for (int i = 0; i < GLUED_TRIES && p < end; i++) {
        p = memchr(p + 1, '{', (size_t)(end - p) - 1);
        if (p == NULL)
            return false;
        struct slice rest = {p, (size_t)(end - p)};
        struct rpc m;
        if (rpc_read(rest, &m) < 0 && begins_with_message(t, rest, &m))
            return false;
        if (m.fault.kind != JSON_OK || m.kind == RPC_INVALID || m.kind == RPC_BATCH ||
            is_echo(t, &m))
            continue;
        noise(t, x, (struct slice){x->text.p, (size_t)(p - x->text.p)}, FINDING(FIND_NOT_JSON));
        m.findings |= FINDING(FIND_GLUED_TEXT);
        x->text = rest;
        x->m = m;
        return true;
    }
    return false;
}

static void bad_server_line(struct traffic *t, struct message *x)
{
    if (x->m.fault.kind != JSON_OK && glued(t, x)) {
        message_handle(t, x);
        return;
    }
    findings why = x->m.findings | x->repairs;
    if (slice_begins(x->text, "Content-Length:"))
        why |= FINDING(FIND_CONTENT_LENGTH);
    if (x->m.fault.kind == JSON_OK && message_malformed_answer(t, x))
        return;
    noise(t, x, x->text, why);
}

/* ---- the client's ------------------------------------------------------------------------- */

static void bad_client_line(struct traffic *t, struct message *x)
{
    bool json = x->m.fault.kind == JSON_OK;
    struct buf why = {0};
    if (json)
        buf_adds(&why, x->m.findings & FINDING(FIND_DUPLICATE_ENVELOPE_KEY)
                           ? "Invalid Request: an envelope key stands twice"
                           : "Invalid Request: not a JSON-RPC 2.0 message");
    else
        buf_printf(&why, "Parse error: %s, at byte %zu of the line",
                   json_fault_text(x->m.fault.kind), x->m.fault.at);
    if (slice_begins(x->text, "Content-Length:")) {
        x->m.findings |= FINDING(FIND_CONTENT_LENGTH);
        buf_adds(&why, "; Content-Length framing is LSP's, MCP wants one message a line");
    }
    message_refuse(t, x, json ? REPLY_INVALID_REQUEST : REPLY_PARSE_ERROR, buf_str(&why),
                   json ? "not-jsonrpc" : "not-json");
    buf_close(&why);
}

/* ---- any line ------------------------------------------------------------------------------- */

/* The message without what stands around it and hurts some readers (mcp-wire.md 7.2). */
static struct slice mended(struct slice text, findings *found)
{
    if (text.n > 0 && text.p[text.n - 1] == '\r') {
        text.n--;
        *found |= FINDING(FIND_CRLF);
    }
    while (slice_begins(text, "\xEF\xBB\xBF")) {
        text.p += 3;
        text.n -= 3;
        *found |= FINDING(FIND_BOM);
    }
    return text;
}

static bool is_blank(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] != ' ' && s.p[i] != '\t' && s.p[i] != '\r')
            return false;
    return true;
}

static void blank_line(struct traffic *t, struct message *x)
{
    x->repairs |= FINDING(FIND_BLANK_LINE);
    if (t->validate == VALIDATE_NONE)
        message_pass(t, x, "noise");
    else
        message_drop(t, x, "noise", ROW_SWALLOWED);
}

/* Who asks for it, and where a session may end because of it (mcp-wire.md 7.2). */
static void warn_large(struct traffic *t, const struct message *x)
{
    struct buf name = {0}, id = {0};
    struct slice method = x->m.method, target = rpc_target(&x->m), none = {"", 0};
    if (method.p == NULL) {
        bool type_changed;
        enum row_direction asker = x->dir == ROW_C2S ? ROW_S2C : ROW_C2S;
        const struct pending *p = pending_find(&t->open[asker], x->m.id, &type_changed);
        method = p != NULL ? p->method : none;
        target = p != NULL ? p->target : (struct slice){0};
    }
    message_name(&name, method, target);
    message_name(&id, x->m.id.text.p != NULL ? x->m.id.text : none, (struct slice){0});
    log_warn("a large message, and some clients end the connection at 10 MiB: from=%s server=%s "
             "bytes=%zu id=%s message=\"%s\"",
             x->dir == ROW_C2S ? "client" : "server", t->server, x->size, buf_str(&id),
             buf_str(&name));
    buf_close(&name);
    buf_close(&id);
}

/* The line that was told of has its end. */
static findings finished(struct traffic *t, enum row_direction dir)
{
    bool late = t->unfinished[dir] > 0;
    t->unfinished[dir] = 0;
    return late ? FINDING(FIND_UNFINISHED_LINE) : 0;
}

static void good_line(struct traffic *t, struct message *x)
{
    if (x->repairs & FINDING(FIND_LARGE_MESSAGE))
        warn_large(t, x);
    message_handle(t, x);
}

static void any_line(struct traffic *t, enum row_direction dir, struct line *line, findings found)
{
    found |= finished(t, dir);
    struct message x = {
        .dir = dir, .line = line, .text = {line->p, line->n}, .size = line->n, .repairs = found};
    struct slice text = mended(x.text, &x.repairs);
    if (t->validate != VALIDATE_NONE)
        x.text = text; /* else it is only noted: the message is read, the line goes on */
    if (line->n > LARGE_MESSAGE)
        x.repairs |= FINDING(FIND_LARGE_MESSAGE);
    if (is_blank(text))
        blank_line(t, &x);
    else if (rpc_read(text, &x.m) == 0 && x.m.kind != RPC_INVALID)
        good_line(t, &x);
    else if (t->validate == VALIDATE_NONE)
        message_pass(t, &x, "noise");
    else if (dir == ROW_C2S)
        bad_client_line(t, &x);
    else
        bad_server_line(t, &x);
}

void traffic_line(struct traffic *t, enum row_direction dir, struct line *line)
{
    any_line(t, dir, line, 0);
}

void traffic_last_line(struct traffic *t, enum row_direction dir, struct line *line)
{
    any_line(t, dir, line, FINDING(FIND_NO_NEWLINE));
}

void traffic_too_long(struct traffic *t, enum row_direction dir, const struct line *line)
{
    struct line head = *line;
    struct message x = {
        .dir = dir, .line = &head, .size = line->n, .text = {line->p, size_min(line->n, 4096)}};
    rpc_read_head((struct slice){line->p, line->n}, &x.m);
    x.m.findings = FINDING(FIND_TOO_LONG) | finished(t, dir);
    x.m.fault.kind = JSON_CUT; /* the head alone is stored, and it is not JSON */
    struct buf why = {0};
    buf_printf(&why, "Invalid Request: the message is longer than %zu bytes; raise --max-message",
               t->max_message);
    log_warn("refused, too long: from=%s server=%s bytes>%zu; raise --max-message",
             dir == ROW_C2S ? "client" : "server", t->server, t->max_message);
    if (dir == ROW_C2S)
        message_refuse(t, &x, REPLY_INVALID_REQUEST, buf_str(&why), "too-long");
    else if (!message_malformed_answer(t, &x))
        message_drop(t, &x, "noise", ROW_REFUSED);
    buf_close(&why);
}

void traffic_unfinished(struct traffic *t, enum row_direction dir, size_t n)
{
    const char *from = dir == ROW_C2S ? "client" : "server";
    char detail[80];
    snprintf(detail, sizeof detail, "{\"from\":\"%s\",\"bytes\":%zu}", from, n);
    recorder_event(t->recorder, "unfinished-line", detail);
    t->unfinished[dir] = n;
    if (t->told_unfinished[dir])
        return;
    t->told_unfinished[dir] = true;
    log_warn("a line without its end: from=%s server=%s bytes=%zu; a message ends with a newline, "
             "and has to be flushed",
             from, t->server, n);
}

bool traffic_must_wait(struct traffic *t)
{
    if (outbox_bytes(&t->out[ROW_S2C]) == 0)
        t->own_bytes = 0;
    return t->own_bytes >= OWN_BYTES_MAX;
}

void traffic_stderr(struct traffic *t, const struct line *line, findings found)
{
    struct row row = {
        .kind = "stderr",
        .direction = ROW_S2C,
        .action = ROW_FORWARDED,
        .body = {line->p, line->n},
        .not_json = true,
        .size = line->n,
        .findings = found,
        .hold = line->chunk,
    };
    struct chunk *hold;
    clean_line(&t->stderr_lines, &row, &hold);
    if (t->on_stderr != NULL)
        t->on_stderr(t->owner, row.body);
    recorder_add(t->recorder, &row);
    chunk_drop(hold);
}

bool traffic_had(const struct pending *p, uint64_t read)
{
    return p->written_us != 0 && p->written_at <= read;
}

void traffic_server_gone(struct traffic *t, const char *cause, const char *why, uint64_t read)
{
    struct buf text = {0};
    for (struct pending *p; (p = t->open[ROW_C2S].open.oldest) != NULL;) {
        buf_clear(&text);
        buf_adds(&text, why);
        buf_adds(&text, traffic_had(p, read) ? "; this call may have run"
                                             : "; this call did not reach it");
        message_answer_for_server(t, p, cause, text.failed ? why : buf_str(&text));
    }
    buf_close(&text);
}

void traffic_end_listens(struct traffic *t)
{
    for (struct pending *p = t->open[ROW_C2S].open.oldest, *next; p != NULL; p = next) {
        next = p->next;
        if (p->flags & METHOD_LISTENS)
            message_end_listen(t, p);
    }
}

/* The ids of the answers in these bytes, which are whole lines, one id a line. */
static void gather_answers(struct buf *ids, struct slice lines)
{
    while (lines.n > 0) {
        const char *nl = memchr(lines.p, '\n', lines.n);
        size_t n = nl != NULL ? (size_t)(nl - lines.p) : lines.n;
        struct rpc m;
        struct slice key;
        struct json_value v;
        if (rpc_read((struct slice){lines.p, n}, &m) < 0)
            m = (struct rpc){0};
        if (m.kind == RPC_BATCH) {
            struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, m.text});
            while (json_walk_next(&w, &key, &v))
                gather_answers(ids, v.type == JSON_OBJECT ? v.text : (struct slice){0});
        } else if ((m.kind == RPC_RESULT || m.kind == RPC_ERROR) && m.id.text.p != NULL &&
                   m.id.type != JSON_NULL) {
            buf_slice_add(ids, m.id.text);
            buf_addc(ids, '\n');
        }
        lines.p += n + (nl != NULL);
        lines.n -= n + (nl != NULL);
    }
}

static void answer_again(struct traffic *t, struct slice ids, const char *cause, const char *why)
{
    int code = strcmp(t->version, "2026-07-28") == 0 ? REPLY_SERVER_GONE_MODERN : REPLY_SERVER_GONE;
    while (ids.n > 0) {
        size_t n = (size_t)((const char *)memchr(ids.p, '\n', ids.n) - ids.p);
        message_reply(t, ROW_S2C, (struct slice){ids.p, n}, 0, code, why, cause);
        ids.p += n + 1;
        ids.n -= n + 1;
    }
}

void traffic_drop_unrecorded(struct traffic *t, const char *cause, const char *why)
{
    struct buf ids = {0};
    struct slice piece;
    for (size_t at = 0; outbox_staged(&t->out[ROW_S2C], &at, &piece);)
        gather_answers(&ids, piece);
    outbox_drop_staged(&t->out[ROW_S2C]);
    if (ids.failed) /* out of memory: then the stream ends at once, so that nobody waits */
        outbox_break(&t->out[ROW_S2C]);
    else
        answer_again(t, buf_slice(&ids), cause, why);
    buf_close(&ids);
    while (t->open[ROW_C2S].open.oldest != NULL)
        message_answer_for_server(t, t->open[ROW_C2S].open.oldest, cause, why);
    outbox_release(&t->out[ROW_S2C]);
}
