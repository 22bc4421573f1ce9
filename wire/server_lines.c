#include "wire/server_lines.h"

#include "wire/lenient.h"
#include "wire/line.h"

/* A line, the end of a line, or several lines that are joined. */
struct text {
    struct slice text;
    struct rpc m;   /* the message as received */
    findings found; /* findings about the line that contains the message */
    size_t at;      /* offset of `text` in the received line; in joined lines, from their start */
    size_t size;    /* number of bytes of the whole line, or of the joined lines */
};

static int emit_message(struct server_lines *l, enum server_line_kind kind, const struct text *x,
                        struct json_value id)
{
    struct server_line line = {.kind = kind,
                               .text = x->text,
                               .size = x->size,
                               .found = x->found | x->m.findings,
                               .m = &x->m,
                               .id = id,
                               .at = x->at};
    return l->rules.line(l->rules.ctx, &line);
}

/* ---- noise ---------------------------------------------------------------------------------- */

static int emit_noise_line(struct server_lines *l, struct slice text, findings found,
                           struct slice meant)
{
    struct server_line line = {
        .kind = SERVER_LINE_NOISE, .text = text, .size = text.n, .found = found, .meant = meant};
    return l->rules.line(l->rules.ctx, &line);
}

static int emit_log_text(struct server_lines *l, struct slice text)
{
    return emit_noise_line(l, text, FINDING(FIND_NOT_JSON), (struct slice){0});
}

/* Reports each waiting line as noise. */
static int report_lines_as_noise(struct server_lines *l, struct slice lines, struct slice meant)
{
    int st = 0;
    while (st == 0 && lines.n > 0) {
        struct rpc m;
        struct slice line = slice_take_line(&lines);
        (void)!rpc_read(line, &m); /* fill m.findings */
        st = emit_noise_line(l, line, m.findings | l->found, meant);
        meant.n = 0;
    }
    return st;
}

/* Reports `x` as noise. found: findings about `x`; if `x` is the text of the waiting lines, `found`
 * is ignored, because `l` has their findings. meant: the text was meant as a message. */
static int server_lines_report_noise(struct server_lines *l, const struct text *x, findings found,
                                     bool meant)
{
    struct slice all = {x->text.p, meant ? x->text.n : 0};
    if (l->waits && x->text.p == l->raw.p)
        return report_lines_as_noise(l, x->text, all);
    return emit_noise_line(l, x->text, found, all);
}

/* ---- unreadable answers --------------------------------------------------------------------- */

static bool request_is_open(const struct server_lines *l, struct json_value id)
{
    return l->rules.open.has(l->rules.open.ctx, id);
}

/* Handles a line, or a part of a line, that is not JSON and cannot be repaired. */
static int handle_unreadable_line(struct server_lines *l, const struct text *x, size_t flaw_at)
{
    struct lenient found;
    lenient_json_read(x->text, &found);
    if (!lenient_json_line_is_answer(&found) || !request_is_open(l, found.id))
        return server_lines_report_noise(l, x, x->m.findings | x->found,
                                         found.id.type != JSON_NONE || found.is_answer ||
                                             found.is_call);
    struct server_line line = {.kind = SERVER_LINE_UNREADABLE,
                               .text = x->text,
                               .size = x->size,
                               .found = x->found | x->m.findings | FINDING(FIND_MALFORMED_ANSWER),
                               .m = &x->m,
                               .id = found.id,
                               .flaw_at = flaw_at,
                               .at = x->at};
    return l->rules.line(l->rules.ctx, &line);
}

/* Handles JSON that is not a message. as_noise: findings to report if the JSON was not meant as an
 * answer. */
static int handle_json_without_message(struct server_lines *l, const struct text *x,
                                       findings as_noise)
{
    struct lenient first; /* the first id in the line, even if the line has two ids */
    struct text refused = *x;
    bool flawed = (x->m.findings & (RPC_AMBIGUOUS | FINDING(FIND_MALFORMED_ANSWER))) != 0;
    bool answer = flawed && (!x->m.is_call || x->m.is_answer);
    refused.found |= FINDING(FIND_MALFORMED_ANSWER);
    lenient_json_read(x->text, &first);
    if (answer && request_is_open(l, x->m.id))
        return emit_message(l, SERVER_LINE_REFUSED, &refused, x->m.id);
    if (answer && first.id.type != JSON_NONE && request_is_open(l, first.id))
        return emit_message(l, SERVER_LINE_REFUSED, &refused, first.id);
    return server_lines_report_noise(l, x, as_noise, flawed && (x->m.is_answer || x->m.is_call));
}

/* Handles a line with several values. Parsers read such a line in different ways, so each request
 * that one of the values answers gets an error. */
static int handle_line_of_several_values(struct server_lines *l, const struct text *x)
{
    struct slice rest = x->text;
    struct text refused = *x;
    struct lenient next;
    int st = 0;
    refused.found |= FINDING(FIND_SEVERAL_VALUES) | FINDING(FIND_MALFORMED_ANSWER);
    while (st == 0 && lenient_json_read_next_object(&rest, &next)) {
        if (!lenient_json_line_is_answer(&next) || !request_is_open(l, next.id))
            continue;
        st = emit_message(l, SERVER_LINE_REFUSED, &refused, next.id);
        refused.text.n = 0;
    }
    if (st < 0 || refused.text.n == 0)
        return st;
    return server_lines_report_noise(l, x, x->m.findings | x->found | FINDING(FIND_SEVERAL_VALUES),
                                     false);
}

/* Whether the text after an answer is the answer to another request: "{…}, {…}". */
static bool answer_to_other_request_follows(const struct server_lines *l, struct slice behind,
                                            struct json_value id)
{
    struct lenient next;
    while (lenient_json_read_next_object(&behind, &next))
        if (lenient_json_line_is_answer(&next) && request_is_open(l, next.id) &&
            !slice_eq(next.id.text, id.text))
            return true;
    return false;
}

/* ---- repairs -------------------------------------------------------------------------------- */

/* Handles a line whose repaired text is valid JSON. rpc: the message that was read from the
 * repaired text. */
static int emit_repaired_line(struct server_lines *l, const struct text *x,
                              const struct json_repair *m, const struct rpc *rpc)
{
    struct text as = {x->text, *rpc, x->found | repairs_get_findings(&m->repairs), x->at, x->size};
    /* an invalid message is not forwarded: it is recorded as it was received */
    if (rpc->kind == RPC_INVALID) {
        as.m.findings |= x->m.findings;
        as.m.fault = x->m.fault;
        return handle_json_without_message(l, &as, x->m.findings | x->found);
    }
    if (m->trailing.n > 0 && glued_message_echoes_client(&l->rules.open, rpc))
        return server_lines_report_noise(l, x, x->m.findings | x->found, false);
    if (answer_to_other_request_follows(l, m->trailing, rpc->id))
        return handle_line_of_several_values(l, x);
    if (l->rules.keep_flaws) {
        as.m.findings |= x->m.findings;
        as.m.fault = x->m.fault;
    }
    struct server_line line = {.kind = SERVER_LINE_MESSAGE,
                               .text = l->rules.keep_flaws ? x->text : buf_slice(&m->text),
                               .size = x->size,
                               .found = as.found | as.m.findings,
                               .m = &as.m,
                               .id = rpc->id,
                               .repairs = &m->repairs,
                               .at = x->at};
    bool behind = m->trailing.n > 0 && !l->rules.keep_flaws;
    int st = behind ? emit_log_text(l, m->trailing) : 0;
    return st < 0 ? st : l->rules.line(l->rules.ctx, &line);
}

/* Handles the text `x` after json_repair.h has tried to repair it. result: result of the repair. */
static int handle_repaired_line(struct server_lines *l, const struct text *x,
                                const struct json_repair *m, enum json_repair_result result)
{
    struct rpc rpc;
    if (result == JSON_REPAIR_WHOLE && slice_begins_json_container(m->trailing))
        return handle_line_of_several_values(l, x);
    if (result == JSON_REPAIR_WHOLE && rpc_read(buf_slice(&m->text), &rpc) == 0)
        return emit_repaired_line(l, x, m, &rpc);
    return handle_unreadable_line(l, x,
                                  result == JSON_REPAIR_FLAWED ? m->flaw_at
                                  : result == JSON_REPAIR_MORE ? x->text.n
                                                               : x->m.fault.at);
}

/* Handles a line that has log text, and after it a message with a flaw. */
static int handle_log_text_before_message(struct server_lines *l, const struct text *x)
{
    struct glued g;
    enum glued_result found = glued_find_first_message(x->text, l->rules.max, &l->rules.open, &g);
    if (found == GLUED_NONE)
        return emit_noise_line(l, x->text, x->m.findings | x->found, (struct slice){0});
    struct text rest = *x;
    rest.text = g.rest;
    rest.at += g.before.n;
    rest.found |= FINDING(FIND_GLUED_TEXT);
    int st = emit_log_text(l, g.before);
    if (st == 0)
        st = found == GLUED_MESSAGE ? emit_repaired_line(l, &rest, &g.repair, &g.rpc)
                                    : handle_unreadable_line(l, &rest, g.flaw_at);
    json_repair_close(&g.repair);
    return st;
}

/* ---- several lines -------------------------------------------------------------------------- */

static void append_waiting_line(struct server_lines *l, const struct text *x, int64_t now_us)
{
    buf_slice_add(&l->raw, x->text);
    buf_addc(&l->raw, '\n');
    l->found |= x->found;
    l->until_us = now_us + SERVER_LINES_WAIT_US;
    if (l->until_us > l->since_us + SERVER_LINES_WAIT_MAX_US)
        l->until_us = l->since_us + SERVER_LINES_WAIT_MAX_US;
}

static void server_lines_drop_waiting_line(struct server_lines *l)
{
    l->waits = false;
    json_repair_close(&l->repair);
    buf_close(&l->raw);
}

/* Returns the waiting lines as one text. */
static struct text join_waiting_lines(const struct server_lines *l)
{
    struct text x = {.text = buf_slice(&l->raw), .found = l->found};
    x.text.n -= x.text.n > 0; /* remove the last newline */
    x.size = x.text.n;
    (void)!rpc_read(x.text, &x.m); /* rpc_read() sets x.m.fault and x.m.findings */
    return x;
}

int server_lines_flush_waiting(struct server_lines *l, bool cut)
{
    if (!l->waits)
        return 0;
    struct text x = join_waiting_lines(l);
    int st = cut ? report_lines_as_noise(l, x.text, (struct slice){0})
                 : handle_unreadable_line(l, &x, x.text.n);
    server_lines_drop_waiting_line(l);
    return st;
}

/* Adds the line `x` to the waiting lines if it continues them, and handles the lines if they are
 * then complete. *ret_taken: whether `x` continues the waiting lines; if not, the waiting lines
 * were handled without it. */
static int join_line_to_waiting_lines(struct server_lines *l, const struct text *x, int64_t now_us,
                                      bool *ret_taken)
{
    /* a line that is an array may be a part of the waiting message */
    bool alone = x->m.fault.kind == JSON_OK && x->m.kind != RPC_INVALID && x->m.kind != RPC_BATCH;
    enum json_repair_result result = JSON_REPAIR_FLAWED;
    if (!alone && l->raw.n + x->text.n <= l->rules.max)
        result = json_repair_add_line(&l->repair, x->text);
    *ret_taken = result != JSON_REPAIR_FLAWED;
    if (!*ret_taken)
        return server_lines_flush_waiting(l, false);
    append_waiting_line(l, x, now_us);
    if (l->raw.failed)
        return MI_ENOMEM;
    if (result != JSON_REPAIR_WHOLE)
        return 0;
    struct text joined = join_waiting_lines(l);
    int st = handle_repaired_line(l, &joined, &l->repair, JSON_REPAIR_WHOLE);
    server_lines_drop_waiting_line(l);
    return st;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int handle_flawed_line(struct server_lines *l, const struct text *x, int64_t now_us)
{
    bool last = (x->found & FINDING(FIND_NO_NEWLINE)) != 0;
    json_repair_open(&l->repair, l->rules.max);
    enum json_repair_result result = json_repair_add_line(&l->repair, x->text);
    if (result == JSON_REPAIR_MORE && !last && x->text.p[0] == '{') {
        l->waits = true;
        l->since_us = now_us;
        l->found = 0;
        buf_clear(&l->raw);
        append_waiting_line(l, x, now_us);
        return l->raw.failed ? MI_ENOMEM : 0;
    }
    size_t flaw_at = l->repair.flaw_at;
    const char *object = memchr(x->text.p, '{', x->text.n);
    /* "[INFO] {…}" is log text before a message, and not a batch. */
    bool is_log_text = result == JSON_REPAIR_FLAWED && x->text.p[0] == '[' && object != NULL &&
                       flaw_at < (size_t)(object - x->text.p);
    /* true: the output ended inside a message. Then the line is reported as noise: the pending
     * request is answered with the error for the end of the output. */
    bool cut = last && (result == JSON_REPAIR_MORE ||
                        (result == JSON_REPAIR_FLAWED && flaw_at >= x->text.n));
    int st;
    if (cut)
        st = server_lines_report_noise(l, x, x->m.findings | x->found, false);
    else if (is_log_text)
        st = handle_log_text_before_message(l, x);
    else
        st = handle_repaired_line(l, x, &l->repair, result);
    json_repair_close(&l->repair);
    return st;
}

static int handle_invalid_server_line(struct server_lines *l, const struct text *x, int64_t now_us)
{
    struct slice before, rest;
    struct text message = *x;
    if (x->m.fault.kind == JSON_OK)
        return handle_json_without_message(l, x, x->m.findings | x->found);
    if (glued_find_message(x->text, &x->m.fault, &l->rules.open, &before, &rest, &message.m)) {
        message.text = rest;
        message.at += before.n;
        int st = emit_log_text(l, before);
        return st < 0 ? st : emit_message(l, SERVER_LINE_MESSAGE, &message, message.m.id);
    }
    return slice_begins_json_container(x->text) ? handle_flawed_line(l, x, now_us)
                                                : handle_log_text_before_message(l, x);
}

int server_lines_handle_line(struct server_lines *l, struct slice line, findings found,
                             int64_t now_us)
{
    struct text x = {.found = found, .size = line.n};
    x.text = line_strip_cr_bom(line, &x.found);
    x.at = (size_t)(x.text.p - line.p);
    bool json = rpc_read(x.text, &x.m) == 0, taken = false;
    int st = l->waits ? join_line_to_waiting_lines(l, &x, now_us, &taken) : 0;
    if (st < 0 || taken)
        return st;
    if (line_is_blank(x.text)) {
        x.found |= FINDING(FIND_BLANK_LINE);
        x.m = (struct rpc){0};
        return emit_message(l, SERVER_LINE_BLANK, &x, x.m.id);
    }
    if (json && x.m.kind != RPC_INVALID)
        return emit_message(l, SERVER_LINE_MESSAGE, &x, x.m.id);
    x.found |= line_find_other_framing(x.text, &l->http);
    return handle_invalid_server_line(l, &x, now_us);
}

void server_lines_open(struct server_lines *l, const struct server_lines_rules *rules)
{
    l->rules = *rules;
    l->waits = l->http = false;
    l->repair.text = l->raw = (struct buf){0};
}

void server_lines_close(struct server_lines *l)
{
    server_lines_drop_waiting_line(l);
}
