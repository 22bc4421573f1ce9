#include "record/process/escalation_text.h"

#include "base/clock.h"
#include "base/text.h"
#include "model/escalation_head.h"
#include "redact/sanitizer.h"

#define NAME_BYTES 1024        /* largest name in the database, in bytes */
#define LONG ((size_t)1 << 20) /* maximum bytes of a text; a longer text is replaced by its size */

/* Hints for the reader, by cause. */
static const char *const hints[ESCALATION_CAUSE_UNKNOWN] = {
    [ESCALATION_HANG] = "The server may be waiting for something that never arrives: a host on the "
                        "network, a lock, or input on a terminal. The post-mortem names the system "
                        "call or kernel function in which the server's process waited. If such "
                        "calls are just slow, give them more time: `--timeout tool:NAME=5m`.",
    [ESCALATION_CRASH_LOOP] =
        "Start the server by hand with the command above and see what it prints. The last lines "
        "of its stderr, if any, are below. Clients pass few environment variables, often only "
        "HOME and PATH: set the others that the server needs in the client's configuration.",
    [ESCALATION_CRASH] =
        "The server ended twice while it worked on this call, so the call is probably the reason. "
        "Send it again by hand, with `mcp-interposer send --seq`, and see what the server prints.",
    [ESCALATION_AUTH] =
        "The server's credentials were rejected. Renew them where the server reads them, often "
        "`env` in the client's configuration, and restart the server. The interposer does not "
        "send such calls again.",
    [ESCALATION_RECORD_ERROR] =
        "Check that the disk is not full, and that the vault exists and is writable. When "
        "recording works again, `gap` events say how many messages were not recorded. With "
        "`--on-record-error stop`, a session ends instead of continuing without a record.",
    [ESCALATION_TIMEOUT] = "The server is alive, but the client has got an error instead of the "
                           "server's answer. If such calls are just slow, give them more time: "
                           "`--timeout tool:NAME=5m`. Otherwise the server may be waiting for "
                           "something that never arrives, such as an answer from the network.",
    [ESCALATION_EVIDENCE] =
        "Find out who or what has written to this vault since its last checkpoint, and whether it "
        "was restored from a copy or begun anew. `mcp-interposer audit verify` compares the vault "
        "with its checkpoints and with those that were anchored, and says what differs.",
    [ESCALATION_TOOLS_RULE] =
        "The rule is in `--tools`, `--hide-tools` or `--read-only` of the client's configuration, "
        "or in section `[server NAME]` of the interposer's configuration. `mcp-interposer tools` "
        "lists the tools of the server. Names are case-sensitive; a glob can contain `*` and `?`.",
    [ESCALATION_REPEAT] =
        "Look at what the tool changes: the call may have taken effect twice. `--on-repeat answer` "
        "or `refuse` keeps such calls from the server. If it is harmless to run the tool twice, "
        "the server should mark it `idempotentHint`; if it is just slow, give it more time: "
        "`--timeout tool:NAME=5m`.",
    [ESCALATION_NO_PROGRESS] =
        "Look at the session: `mcp-interposer show` with the session's UID. A model may repeat "
        "itself, "
        "which costs time and tokens; a client may poll, which is fine. All of these calls were "
        "forwarded to the server.",
};

/* ---- text ----------------------------------------------------------------------------------- */

/* Selects how a text is searched for secrets. */
enum text_kind { TEXT_PLAIN, TEXT_MESSAGE, TEXT_VALUE, TEXT_LINE };

struct text {
    struct slice s;
    enum text_kind kind;
    struct redact_lines *lines; /* for TEXT_LINE */
};

static struct text make_plain_text(struct slice s)
{
    return (struct text){.s = s, .kind = TEXT_PLAIN};
}

static struct text make_message_text(struct slice s)
{
    return (struct text){.s = s, .kind = TEXT_MESSAGE};
}

static struct text make_value_text(struct slice s)
{
    return (struct text){.s = s, .kind = TEXT_VALUE};
}

static int sanitize_text_by_kind(struct redact *r, struct text t, struct buf *out, size_t *ret_n)
{
    switch (t.kind) {
    case TEXT_MESSAGE:
        return redact_message(r, t.s, REDACT_CONTENT, out, ret_n);
    case TEXT_VALUE:
        return redact_value(r, t.s, out, ret_n);
    case TEXT_LINE:
        return redact_line(r, t.lines, t.s, out, ret_n);
    default:
        return redact_text(r, t.s, out, ret_n);
    }
}

/* Appends the sanitized text. Every text that is not a constant must be appended through this
 * function. */
static void add_sanitized_text(struct buf *b, struct text t)
{
    struct redact *r = redact_get_current_sanitizer();
    struct buf clean = {0};
    size_t n = 0;
    if (t.s.n > LONG)
        buf_printf(b, "[%zu bytes]", t.s.n);
    else if (r == NULL || sanitize_text_by_kind(r, t, &clean, &n) < 0)
        b->failed = true;
    else
        buf_slice_add(b, n > 0 ? buf_slice(&clean) : t.s);
    buf_close(&clean);
}

void escalation_append_name(struct buf *b, struct slice text)
{
    struct buf clean = {0};
    if (text.n == 0)
        return;
    add_sanitized_text(&clean, make_plain_text(text));
    text_append_valid_utf8(b, text_prefix(buf_slice(&clean), NAME_BYTES));
    b->failed |= clean.failed;
    buf_close(&clean);
}

/* Adds a paragraph. Escapes everything that Markdown would render as a link, an image, code or
 * HTML. */
static void add_escaped_paragraph(struct buf *b, struct slice text)
{
    struct buf clean = {0}, visible = {0};
    if (text.n == 0)
        return;
    add_sanitized_text(&clean, make_plain_text(text));
    text_append_visible(&visible, text_prefix(buf_slice(&clean), ESCALATION_TEXT_MAX));
    for (size_t i = 0; i < visible.n; i++) {
        if (strchr("\\<[`", visible.p[i]) != NULL)
            buf_addc(b, '\\');
        buf_addc(b, visible.p[i]);
    }
    buf_adds(b, "\n\n");
    b->failed |= clean.failed || visible.failed;
    buf_close(&clean);
    buf_close(&visible);
}

/* Adds an indented code line, in which no character can end the code or be rendered as markup. */
static void add_code_line(struct buf *b, struct text text)
{
    struct buf clean = {0};
    add_sanitized_text(&clean, text);
    struct slice head = text_prefix(buf_slice(&clean), ESCALATION_TEXT_MAX);
    buf_adds(b, "    ");
    text_append_visible(b, head);
    if (head.n < clean.n)
        buf_printf(b, "… [+%zu bytes]", clean.n - head.n);
    buf_addc(b, '\n');
    b->failed |= clean.failed;
    buf_close(&clean);
}

static void add_code_part(struct buf *b, const char *title, struct text text)
{
    if (text.s.n == 0)
        return;
    buf_printf(b, "%s:\n\n", title);
    add_code_line(b, text);
    buf_addc(b, '\n');
}

static struct slice slice_or_none(const char *s)
{
    return s != NULL ? slice_of(s) : (struct slice){0};
}

/* ---- the file ------------------------------------------------------------------------------- */

static void add_front_matter(struct buf *b, const struct escalation *e)
{
    struct escalation_head h = {.cause = e->cause,
                                .server = slice_or_none(e->server),
                                .tool = e->tool,
                                .method = e->method,
                                .session = slice_or_none(e->session),
                                .seq = (int64_t)e->seq,
                                .count = 1,
                                .action = slice_or_none(e->action)};
    struct buf clean[FIELDS_OF_ESCALATION_HEAD] = {{0}};
    for (size_t i = 0; i < FIELDS_OF_ESCALATION_HEAD; i++) {
        const struct record_field *f = &fields_of_escalation_head.list[i];
        if (!field_is_text(f) || field_get_text_in_record(f, &h)->p == NULL)
            continue;
        add_sanitized_text(&clean[i], make_plain_text(*field_get_text_in_record(f, &h)));
        *field_get_text_in_record(f, &h) = buf_slice(&clean[i]);
        b->failed |= clean[i].failed;
    }
    char at[CLOCK_TEXT_MAX];
    clock_utc_text(e->at_us, at);
    h.first_at = h.last_at = slice_of(at);
    h.interposer = slice_of(MI_VERSION);
    escalation_head_append_fields(b, &h);
    buf_addc(b, '\n');
    for (size_t i = 0; i < FIELDS_OF_ESCALATION_HEAD; i++)
        buf_close(&clean[i]);
}

static void add_call_section(struct buf *b, const struct escalation *e)
{
    if (e->command == NULL && e->method.n == 0 && e->request.n == 0)
        return;
    buf_adds(b, e->method.n > 0 ? "## The call\n\n" : "## The server\n\n");
    if (e->method.n > 0) {
        struct buf line = {0};
        buf_slice_add(&line, e->method);
        if (e->tool.n > 0) {
            buf_addc(&line, ' ');
            buf_slice_add(&line, e->tool);
        }
        add_code_line(b, make_plain_text(buf_slice(&line)));
        buf_addc(b, '\n');
        b->failed |= line.failed;
        buf_close(&line);
    }
    add_code_part(b, "The server's command", make_value_text(slice_or_none(e->command)));
    add_code_part(b, "The request", make_message_text(e->request));
    add_code_part(b, "The answer", make_message_text(e->answer));
}

static void add_hints_of_cause(struct buf *b, const struct escalation *e)
{
    buf_adds(b, "## What to look at\n\n");
    buf_adds(b, hints[e->cause]);
    buf_adds(b, "\n\n");
    add_escaped_paragraph(b, e->look);
    if (slice_or_none(e->session).n > 0) {
        struct buf line = {0};
        buf_adds(b, "To see the whole session, message by message:\n\n");
        buf_printf(&line, "mcp-interposer show %s", e->session);
        add_code_line(b, make_plain_text(buf_slice(&line)));
        buf_addc(b, '\n');
        b->failed |= line.failed;
        buf_close(&line);
    }
}

static void add_last_stderr_lines(struct buf *b, const struct escalation *e)
{
    size_t first = e->stderr_n > ESCALATION_LINES_MAX ? e->stderr_n - ESCALATION_LINES_MAX : 0;
    if (e->stderr_n == 0)
        return;
    buf_adds(b, "## Last lines of the server's stderr\n\n");
    struct redact_lines lines = {0}; /* a private key may span several lines */
    for (size_t i = 0; i < e->stderr_n; i++) {
        struct buf before = {0};
        struct text t = {.s = e->stderr_lines[i], .kind = TEXT_LINE, .lines = &lines};
        if (i >= first)
            add_code_line(b, t);
        else
            add_sanitized_text(&before, t);
        buf_close(&before);
    }
    buf_addc(b, '\n');
}

static void add_markdown_body(struct buf *b, const struct escalation *e)
{
    buf_printf(b, "# %s\n\n", escalation_cause_name(e->cause));
    if (e->happened.n > 0) {
        buf_adds(b, "## What happened\n\n");
        struct buf sentence = {0};
        text_append_as_sentence(&sentence, e->happened);
        add_escaped_paragraph(b, buf_slice(&sentence));
        b->failed |= sentence.failed;
        buf_close(&sentence);
    }
    add_call_section(b, e);
    if (e->done.n > 0) {
        buf_adds(b, "## What was done\n\n");
        add_escaped_paragraph(b, e->done);
    }
    add_hints_of_cause(b, e);
    if (e->post_mortem.n > 0 || e->post_mortem_json.n > 0) {
        buf_adds(b, "## Post-mortem\n\n");
        add_escaped_paragraph(b, e->post_mortem);
        if (e->post_mortem_json.n > 0) {
            add_code_line(b, make_value_text(e->post_mortem_json));
            buf_addc(b, '\n');
        }
    }
    add_last_stderr_lines(b, e);
    if (e->last_to_server.n > 0 || e->last_to_client.n > 0) {
        buf_adds(b, "## Last messages\n\n");
        add_code_part(b, "To the server", make_message_text(e->last_to_server));
        add_code_part(b, "To the client", make_message_text(e->last_to_client));
    }
}

void escalation_append_file_text(struct buf *b, const struct escalation *e)
{
    add_front_matter(b, e);
    add_markdown_body(b, e);
}
