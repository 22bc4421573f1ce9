/* cmd_search.c - `mcp-interposer search`: messages by their words, by exact text and by what they are. */
#include "base/clock.h"
#include "base/room.h"
#include "base/text.h"
#include "cli/config.h"
#include "cli/found.h"
#include "cli/out.h"
#include "cli/question.h"
#include "cli/session.h"
#include "vault/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define OPERANDS_MAX 64
#define QUIET_US 1000000 /* of work on the index, before a person is told */
#define READ_ALL 32 /* candidates of a session: for more, one pass over its bodies costs less */

static const struct opt table_of_options[] = {
    COMMAND_OPT_VAULT,
    {'n', "limit", "N", "20", "how many, newest first; 0: all of them"},
    {'x', "exact", NULL, NULL, "look for each TEXT byte for byte, not for its words"},
    FILTER_OPTS,
    {0, "json", NULL, NULL, "a JSON object on a line for each message"},
    COMMAND_OPTS,
};

static const char about[] =
    "Finds the messages whose body has every TEXT: its words one behind the other, whatever their\n"
    "case; with `*` at its end, the last word may go on. Strings of JSON are searched as what "
    "they\n"
    "mean, so that a quote is a quote. Beside TEXT, or alone:\n"
    "  server:NAME  client:NAME  tool:NAME  method:NAME   a name or a glob, such as tool:send_*\n"
    "  status:ok|tool-error|error|refused|timeout|server-gone   answers with this status\n"
    "  kind:request|notification|result|error|batch|noise|stderr\n"
    "The index is kept in Search/ of the vault, and is brought up to date before it is asked.\n"
    "Exit status: 0 something was found, 1 nothing was.\n"
    "\n"
    "  mcp-interposer search invoice 'not found' tool:send_email\n"
    "  mcp-interposer search -x '\"path\":\"/home' status:error\n";

struct session_row {
    struct search_session id;
    bool wanted;
    int64_t started_at_us;
    uint32_t name; /* in names */
};

/* Messages of a session, in order. */
struct numbers {
    int64_t *seq; /* owned */
    size_t n, cap;
};

struct searching {
    struct query *q;
    struct question question;
    struct search *index;
    struct session_row *row; /* owned; newest first */
    size_t rows_n, rows_cap;
    struct buf names; /* owned; of servers, NUL-ended */
    int64_t limit, found;
    bool json, limited;
    struct out out;
    struct buf large, text;            /* owned; of the message that is looked at */
    struct numbers have;               /* of a session: those with all terms, */
    struct numbers fit;                /* and those with the fields that were asked for */
    int64_t began_us, told_us, read_n; /* of the index */
    int status;
};

/* ---- which sessions ---- */

static bool on_session(void *ctx, const struct query_session *x)
{
    struct searching *s = ctx;
    if (!ROOM(s->row, s->rows_n, s->rows_cap)) {
        s->status = MI_ENOMEM;
        return false;
    }
    struct session_row *r = &s->row[s->rows_n++];
    *r = (struct session_row){
        .started_at_us = x->started_at_us,
        .name = (uint32_t)s->names.n,
        .wanted = question_takes_session(&s->question, x),
    };
    r->id.id = x->id;
    snprintf(r->id.uid, sizeof r->id.uid, "%.*s", (int)x->uid.n, x->uid.p);
    buf_slice_add(&s->names, text_head(x->name, 256));
    buf_addc(&s->names, '\0');
    s->status = s->names.failed ? MI_ENOMEM : 0;
    return s->status == 0;
}

/* ---- one message ---- */

static struct slice text_of(struct searching *s, const struct session_row *r,
                            const struct query_message *m)
{
    const char *error; /* what cannot be read is not found */
    struct slice body = session_body(s->q, slice_of(r->id.uid), m, SIZE_MAX, &s->large, &error);
    return search_text(m->kind, body, &s->text);
}

struct looking {
    struct searching *s;
    const struct session_row *row;
};

/* A candidate: is it what was asked for? */
static bool on_candidate(void *ctx, const struct query_message *m)
{
    struct looking *l = ctx;
    struct searching *s = l->s;
    struct slice at;
    if (!question_takes(&s->question, l->row->started_at_us, m))
        return false;
    struct slice text = text_of(s, l->row, m);
    int st = search_terms_find(&s->question.terms, text, &at);
    if (st == MI_ENOENT)
        return false;
    s->status = st;
    if (st < 0)
        return false;
    struct found f = {.message = m,
                      .session_id = l->row->id.id,
                      .started_at_us = l->row->started_at_us,
                      .uid = l->row->id.uid,
                      .server = s->names.p + l->row->name,
                      .text = text,
                      .at = at};
    if (s->json)
        found_json(&s->out, &f);
    else
        found_text(&s->out, &f);
    s->found++;
    return false;
}

/* false: that is enough. */
static bool look_at(struct searching *s, const struct session_row *r, int64_t seq)
{
    struct looking l = {s, r};
    int st = query_timeline(s->q, r->id.id, seq, seq, on_candidate, NULL, &l);
    if (s->status == 0)
        s->status = st;
    return s->status == 0 && !out_ended(&s->out) && !(s->limited && s->found >= s->limit);
}

/* ---- numbers of messages, in order ---- */

static bool keep(struct searching *s, struct numbers *n, int64_t seq)
{
    if (!ROOM(n->seq, n->n, n->cap)) {
        s->status = MI_ENOMEM;
        return false;
    }
    n->seq[n->n++] = seq;
    return true;
}

static bool on_facts(void *ctx, const struct query_message *m)
{
    struct looking *l = ctx;
    return !question_takes(&l->s->question, l->row->started_at_us, m) ||
           keep(l->s, &l->s->fit, m->seq);
}

/* Looks at the messages that have the words, the last one first. Where a field narrows them, one pass over the
 * session without the bodies costs less than a look at each. false: that is enough. */
static bool look_at_all(struct searching *s, const struct session_row *r,
                        const struct numbers *words)
{
    struct looking l = {s, r};
    bool more = true;
    s->fit.n = 0;
    if (s->question.narrowed)
        s->status = query_facts(s->q, r->id.id, question_kind(&s->question), on_facts, &l);
    const struct numbers *all = words != NULL ? words : &s->fit;
    size_t k = s->fit.n;
    for (size_t i = all->n; more && s->status == 0 && i-- > 0;) {
        int64_t seq = all->seq[i];
        while (s->question.narrowed && k > 0 && s->fit.seq[k - 1] > seq)
            k--;
        if (!s->question.narrowed || (k > 0 && s->fit.seq[k - 1] == seq))
            more = look_at(s, r, seq);
    }
    return more && s->status == 0;
}

/* ---- without an index ---- */

static bool on_body(void *ctx, const struct query_message *m)
{
    struct looking *l = ctx;
    struct slice at;
    int st = search_terms_find(&l->s->question.terms, text_of(l->s, l->row, m), &at);
    if (st == MI_ENOENT)
        return true;
    l->s->status = st;
    return st == 0 && keep(l->s, &l->s->have, m->seq);
}

static bool read_session(struct searching *s, const struct session_row *r)
{
    struct looking l = {s, r};
    if (s->question.terms.n == 0)
        return look_at_all(s, r, NULL);
    s->have.n = 0;
    int st = query_bodies(s->q, r->id.id, 0, INT64_MAX, on_body, &l);
    if (s->status == 0)
        s->status = st;
    return s->status == 0 && look_at_all(s, r, &s->have);
}

/* ---- with one ---- */

static void on_read(void *ctx)
{
    struct searching *s = ctx;
    int64_t now_us = clock_mono_us();
    if (s->read_n++ == 0)
        s->began_us = now_us;
    if (now_us - s->began_us < QUIET_US || now_us - s->told_us < QUIET_US / 4 ||
        isatty(STDERR_FILENO) != 1)
        return;
    s->told_us = now_us;
    fprintf(stderr, "\rreading for the index: %lld messages", (long long)s->read_n);
}

struct group {
    struct searching *s;
    const struct session_row *row; /* those of one file, newest first */
    size_t n, at;                  /* at: the session that s->have is of */
    bool more;
};

/* The index says them from the last one on. */
static void reverse(struct numbers *n)
{
    for (size_t i = 0; i < n->n / 2; i++) {
        int64_t seq = n->seq[i];
        n->seq[i] = n->seq[n->n - 1 - i];
        n->seq[n->n - 1 - i] = seq;
    }
}

static void end_session(struct group *g)
{
    struct searching *s = g->s;
    if (g->more && g->at < g->n && g->row[g->at].wanted && s->have.n > 0) {
        const struct session_row *r = &g->row[g->at];
        reverse(&s->have);
        if (s->question.all_exact && s->have.n > READ_ALL)
            g->more = read_session(s, r);
        else
            g->more = look_at_all(s, r, &s->have);
    }
    s->have.n = 0;
}

static bool on_found(void *ctx, int64_t session, int64_t seq)
{
    struct group *g = ctx;
    if (g->at == g->n || g->row[g->at].id.id != session) {
        end_session(g);
        for (g->at = 0; g->at < g->n && g->row[g->at].id.id != session;)
            g->at++;
    }
    if (!g->more || g->at == g->n || !g->row[g->at].wanted)
        return g->more;
    if (g->s->question.narrowed || g->s->question.all_exact)
        return keep(g->s, &g->s->have, seq);
    g->more = look_at(g->s, &g->row[g->at], seq); /* at once: the first ones may be enough */
    return g->more;
}

/* The sessions of one file. false: that is enough. */
static bool search_group(struct searching *s, const struct session_row *row, size_t n)
{
    struct search_session ids[SEARCH_SESSIONS];
    struct group g = {.s = s, .row = row, .n = n, .at = n, .more = true};
    bool wanted = false;
    int st = MI_EIO;
    for (size_t i = 0; i < n; i++) {
        ids[i] = row[i].id;
        wanted |= row[i].wanted;
    }
    if (!wanted)
        return true;
    int64_t found = s->found;
    if (s->question.match.n > 0 && s->index != NULL)
        st = search_file(s->index, ids, n, on_read, s);
    if (st == 0)
        st = search_words_of(s->index, buf_str(&s->question.match), on_found, &g);
    if (st == 0)
        end_session(&g);
    if (st == MI_EIO && s->status == 0 && s->found == found) {
        bool more = true;
        for (size_t i = 0; more && i < n; i++)
            more = !row[i].wanted || read_session(s, &row[i]);
        return more;
    }
    if (s->status == 0 && st < 0)
        s->status = st;
    return s->status == 0 && !out_ended(&s->out) && !(s->limited && s->found >= s->limit);
}

static void search_all(struct searching *s)
{
    int st = query_sessions(s->q, 0, on_session, s);
    if (s->status == 0)
        s->status = st;
    if (s->status == 0 && s->question.match.n > 0)
        s->status = search_open(&s->index, s->q);
    bool more = s->status == 0;
    for (size_t i = 0, n; more && i < s->rows_n; i += n) {
        int64_t file = s->row[i].id.id / SEARCH_SESSIONS;
        for (n = 1; i + n < s->rows_n && s->row[i + n].id.id / SEARCH_SESSIONS == file; n++)
            continue;
        more = search_group(s, &s->row[i], n);
    }
    if (s->told_us != 0)
        fprintf(stderr, "\r\033[K");
}

/* ---- the command ---- */

static int search(struct searching *s)
{
    out_open(&s->out);
    search_all(s);
    search_close(s->index);
    int status = out_close(&s->out);
    if (s->status < 0)
        return session_fail(s->q, s->status);
    return status != EXIT_FINE || s->found > 0 ? status : EXIT_FOUND;
}

static void release(struct searching *s)
{
    question_close(&s->question);
    buf_close(&s->names);
    buf_close(&s->large);
    buf_close(&s->text);
    free(s->row);
    free(s->have.seq);
    free(s->fit.seq);
}

static int run(int argc, char **argv)
{
    struct settings settings;
    if (!settings_read(&settings, &command_search, argc, argv))
        return settings.exit_status;
    struct searching s = {
        .limit = settings_number(&settings, "limit"),
        .json = settings_on(&settings, "json"),
    };
    s.limited = s.limit > 0;
    int status = question_open(&s.question, &command_search, &settings);
    if (status == EXIT_FINE)
        status = session_vault_open(&settings, &s.q);
    if (status == EXIT_FINE) {
        status = search(&s);
        query_close(s.q);
    }
    release(&s);
    settings_close(&settings);
    return status;
}

const struct command command_search = {
    .name = "search",
    .summary = "find messages by their words and by what they are",
    .usage = "[OPTIONS] TEXT|FIELD:VALUE...",
    .about = about,
    .table = table_of_options,
    .operands_max = OPERANDS_MAX,
    .run = run,
};
