#include "wire/server_lines.h"

#include "wire/lenient.h"
#include "wire/line.h"

/* A line, or several that are joined. */
struct text {
    struct slice text;
    struct rpc m;   /* what it is as received */
    findings found; /* around it */
};

static int emit(struct server_lines *l, enum server_line_kind kind, struct slice text,
                findings found, struct json_value id)
{
    struct server_line line = {kind, text, found, id};
    return l->rules.line(l->rules.ctx, &line);
}

static int noise(struct server_lines *l, struct slice text, findings found)
{
    return emit(l, SERVER_LINE_NOISE, text, found, (struct json_value){0});
}

/* Lines that have waited are noise one by one. */
static int drop_lines(struct server_lines *l, struct slice lines)
{
    int st = 0;
    while (st == 0 && lines.n > 0) {
        const char *nl = memchr(lines.p, '\n', lines.n);
        size_t n = nl != NULL ? (size_t)(nl - lines.p) : lines.n;
        struct rpc m;
        struct slice line = {lines.p, n};
        (void)!rpc_read(line, &m); /* for the findings */
        st = noise(l, line, m.findings | l->found);
        n += nl != NULL;
        lines = (struct slice){lines.p + n, lines.n - n};
    }
    return st;
}

static int drop(struct server_lines *l, const struct text *x, findings found)
{
    return l->waits && x->text.p == l->raw.p ? drop_lines(l, x->text) : noise(l, x->text, found);
}

static bool is_open(const struct server_lines *l, struct json_value id)
{
    return l->rules.open.has(l->rules.open.ctx, id);
}

/* ---- answers that nobody can read ----------------------------------------------------------- */

static int unreadable(struct server_lines *l, const struct text *x, bool *ret_answers)
{
    struct lenient found;
    lenient_read(x->text, &found);
    *ret_answers = lenient_answers(&found) && is_open(l, found.id);
    if (!*ret_answers)
        return 0;
    return emit(l, SERVER_LINE_UNREADABLE, x->text,
                x->m.findings | x->found | FINDING(FIND_MALFORMED_ANSWER), found.id);
}

static int unreadable_or_noise(struct server_lines *l, const struct text *x)
{
    bool answers;
    int st = unreadable(l, x, &answers);
    return answers ? st : drop(l, x, x->m.findings | x->found);
}

/* JSON that is not a message; noise: the findings if it was not meant as an answer, either. */
static int no_message(struct server_lines *l, const struct text *x, findings as_noise)
{
    struct lenient first; /* of two ids */
    findings found = x->m.findings | x->found | FINDING(FIND_MALFORMED_ANSWER);
    bool meant = (x->m.findings & (RPC_AMBIGUOUS | FINDING(FIND_MALFORMED_ANSWER))) != 0 &&
                 (!x->m.is_call || x->m.is_answer);
    lenient_read(x->text, &first);
    if (meant && is_open(l, x->m.id))
        return emit(l, SERVER_LINE_REFUSED, x->text, found, x->m.id);
    if (meant && first.id.type != JSON_NONE && is_open(l, first.id))
        return emit(l, SERVER_LINE_REFUSED, x->text, found, first.id);
    return drop(l, x, as_noise);
}

static int several(struct server_lines *l, const struct text *x)
{
    struct slice rest = x->text;
    struct lenient next;
    bool recorded = false;
    int st = 0;
    findings found = x->m.findings | x->found | FINDING(FIND_SEVERAL_VALUES);
    while (st == 0 && lenient_next(&rest, &next)) {
        if (!lenient_answers(&next) || !is_open(l, next.id))
            continue;
        st = emit(l, SERVER_LINE_REFUSED, recorded ? (struct slice){0} : x->text,
                  found | FINDING(FIND_MALFORMED_ANSWER), next.id);
        recorded = true;
    }
    return st < 0 || recorded ? st : drop(l, x, found);
}

/* ---- repairs -------------------------------------------------------------------------------- */

static int use_repaired(struct server_lines *l, const struct text *x, const struct mend *m,
                        const struct rpc *rpc)
{
    findings repairs = x->found | repairs_set(&m->repairs);
    if (rpc->kind == RPC_INVALID) {
        struct text as = {x->text, *rpc, repairs};
        as.m.findings |= x->m.findings;
        return no_message(l, &as, x->m.findings | x->found);
    }
    if (m->trailing.n > 0 && glued_is_echo(&l->rules.open, rpc))
        return drop(l, x, x->m.findings | x->found);
    int st = m->trailing.n > 0 ? noise(l, m->trailing, FINDING(FIND_NOT_JSON)) : 0;
    return st < 0 ? st
                  : emit(l, SERVER_LINE_MESSAGE, buf_slice(&m->text), rpc->findings | repairs,
                         rpc->id);
}

static int use_mended(struct server_lines *l, const struct text *x, const struct mend *m,
                      enum mend_result result)
{
    struct rpc rpc;
    if (result == MEND_WHOLE && glued_begins_value(m->trailing))
        return several(l, x);
    if (result == MEND_WHOLE && rpc_read(buf_slice(&m->text), &rpc) == 0)
        return use_repaired(l, x, m, &rpc);
    return unreadable_or_noise(l, x);
}

static int read_glued(struct server_lines *l, const struct text *x)
{
    struct glued g;
    enum glued_result found = glued_read(x->text, l->rules.max, &l->rules.open, &g);
    if (found == GLUED_NONE)
        return noise(l, x->text, x->m.findings | x->found);
    struct text rest = {g.rest, x->m, x->found | FINDING(FIND_GLUED_TEXT)};
    int st = noise(l, g.before, FINDING(FIND_NOT_JSON));
    if (st == 0)
        st = found == GLUED_MESSAGE ? use_repaired(l, &rest, &g.mend, &g.rpc)
                                    : unreadable_or_noise(l, &rest);
    mend_close(&g.mend);
    return st;
}

/* ---- several lines -------------------------------------------------------------------------- */

static void keep_line(struct server_lines *l, const struct text *x, int64_t now_us)
{
    buf_slice_add(&l->raw, x->text);
    buf_addc(&l->raw, '\n');
    l->found |= x->found;
    l->until_us = now_us + SERVER_LINES_WAIT_US;
    if (l->until_us > l->since_us + SERVER_LINES_WAIT_MAX_US)
        l->until_us = l->since_us + SERVER_LINES_WAIT_MAX_US;
}

static void begin_wait(struct server_lines *l, const struct text *x, int64_t now_us)
{
    l->waits = true;
    l->since_us = now_us;
    l->found = 0;
    buf_clear(&l->raw);
    keep_line(l, x, now_us);
}

static void stop_waiting(struct server_lines *l)
{
    l->waits = false;
    mend_close(&l->mend);
}

static struct text waiting_lines(const struct server_lines *l)
{
    struct text x = {.text = buf_slice(&l->raw), .found = l->found};
    x.text.n -= x.text.n > 0;      /* the last newline */
    (void)!rpc_read(x.text, &x.m); /* for the findings */
    return x;
}

int server_lines_end(struct server_lines *l, bool cut)
{
    if (!l->waits)
        return 0;
    struct text x = waiting_lines(l);
    int st = cut ? drop_lines(l, x.text) : unreadable_or_noise(l, &x);
    stop_waiting(l);
    return st;
}

static int use_joined(struct server_lines *l)
{
    struct text x = waiting_lines(l);
    int st = use_mended(l, &x, &l->mend, MEND_WHOLE);
    stop_waiting(l);
    return st;
}

/* *ret_taken: x continues what waits. Else that has ended. */
static int next_line(struct server_lines *l, const struct text *x, int64_t now_us, bool *ret_taken)
{
    bool alone = x->m.fault.kind == JSON_OK && x->m.kind != RPC_INVALID &&
                 x->m.kind != RPC_BATCH; /* an array may be part of the message */
    enum mend_result result = MEND_FLAWED;
    if (!alone && now_us < l->until_us && l->raw.n + x->text.n <= l->rules.max)
        result = mend_add(&l->mend, x->text);
    *ret_taken = result != MEND_FLAWED;
    if (!*ret_taken)
        return server_lines_end(l, false);
    keep_line(l, x, now_us);
    return result == MEND_WHOLE ? use_joined(l) : 0;
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int invalid_line(struct server_lines *l, const struct text *x, int64_t now_us)
{
    struct slice before, rest;
    struct rpc m;
    if (x->m.fault.kind == JSON_OK)
        return no_message(l, x, x->m.findings | x->found);
    if (glued_split(x->text, &x->m.fault, &l->rules.open, &before, &rest, &m)) {
        int st = noise(l, before, FINDING(FIND_NOT_JSON));
        return st < 0 ? st : emit(l, SERVER_LINE_MESSAGE, rest, m.findings | x->found, m.id);
    }
    if (!glued_begins_value(x->text))
        return read_glued(l, x);
    mend_open(&l->mend, l->rules.max);
    enum mend_result result = mend_add(&l->mend, x->text);
    if (result == MEND_MORE && x->text.p[0] == '{') {
        begin_wait(l, x, now_us);
        return l->raw.failed ? MI_ENOMEM : 0;
    }
    int st = use_mended(l, x, &l->mend, result);
    mend_close(&l->mend);
    return st;
}

int server_lines_take(struct server_lines *l, struct slice line, int64_t now_us)
{
    struct text x = {0};
    x.text = line_strip(line, &x.found);
    bool json = rpc_read(x.text, &x.m) == 0, taken = false;
    int st = l->waits ? next_line(l, &x, now_us, &taken) : 0;
    if (l->raw.failed)
        st = MI_ENOMEM;
    if (st < 0 || taken)
        return st;
    if (line_is_blank(x.text))
        return emit(l, SERVER_LINE_BLANK, x.text, x.found | FINDING(FIND_BLANK_LINE), x.m.id);
    if (json && x.m.kind != RPC_INVALID)
        return emit(l, SERVER_LINE_MESSAGE, x.text, x.m.findings | x.found, x.m.id);
    if (slice_begins(x.text, "Content-Length:"))
        x.found |= FINDING(FIND_CONTENT_LENGTH);
    return invalid_line(l, &x, now_us);
}

void server_lines_open(struct server_lines *l, const struct server_lines_rules *rules)
{
    l->rules = *rules;
    l->waits = false;
    l->mend.text = l->raw = (struct buf){0};
}

void server_lines_close(struct server_lines *l)
{
    mend_close(&l->mend);
    buf_close(&l->raw);
}
