#include "cli/look/search/find_messages.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/text.h"
#include "cli/frame/session.h"
#include "vault/search/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define QUIET_US 1000000 /* time after which the progress of indexing is shown */
/* Maximum number of candidates of a session that are read one by one. For more candidates, one pass
 * over the whole session is cheaper. */
#define TRY_EACH_MAX 32
#define MATCHING 1024 /* maximum number of messages that match the fields and are read at once */
#define SERVER_NAME_MAX 256 /* maximum bytes stored of a server name */

struct session_row {
    struct search_session id;
    bool wanted; /* the session may have matching messages */
    int64_t number, started_at_us;
    size_t uid_shown; /* characters of the UID that identify the session */
    size_t name;      /* offset of the server's name in finder.names */
};

/* A list of seqs: messages of one session. */
struct seq_list {
    int64_t *seq; /* owned */
    size_t n, cap;
};

struct finder {
    struct query *q;
    struct question *question;
    int64_t left; /* number of messages that may still be found; below 0: no limit */
    find_fn fn;
    void *ctx;
    bool several; /* there are several vaults */
    bool ended;   /* the limit is reached, or the callback ended the search */
    int status;

    struct search *index;    /* the index; owned; NULL: messages are read without an index */
    struct buf match;        /* owned; query for the index */
    struct session_row *row; /* owned; sessions of one index file, newest first */
    size_t rows_n, rows_cap;
    struct buf names; /* owned; NUL-terminated names of the servers */
    /* owned; buffers for the body and text of the current message */
    struct buf large, text;
    /* seqs of the messages of a session that may contain the words, in ascending order */
    struct seq_list candidates;
    const struct session_row *session; /* session whose messages are being read */
    /* For showing the progress. index_began_us: when indexing began; shown_us: when the progress
     * was shown last; indexed: number of indexed messages. */
    int64_t index_began_us, shown_us, indexed;
};

static bool finder_should_continue(const struct finder *f)
{
    return f->status == 0 && !f->ended;
}

/* Sets the status of the search, unless the status is an error already. */
static void finder_set_status(struct finder *f, int status)
{
    f->status = f->status == 0 ? status : f->status;
}

/* ---- sessions ---- */

static void finder_add_session(struct finder *f, const struct query_session *x)
{
    if (!GROW(f->row, f->rows_n, f->rows_cap)) {
        f->status = MI_ENOMEM;
        return;
    }
    struct session_row *r = &f->row[f->rows_n++];
    *r = (struct session_row){
        .id.id = x->id,
        .number = x->number,
        .started_at_us = x->started_at_us,
        .uid_shown = session_get_uid_prefix(x, SESSION_UID_SHOWN).n,
        .name = f->names.n,
        .wanted = question_matches_session(f->question, x),
    };
    snprintf(r->id.uid, sizeof r->id.uid, "%.*s", (int)x->uid.n, x->uid.p);
    buf_slice_add(&f->names, text_prefix(x->name, SERVER_NAME_MAX));
    buf_addc(&f->names, '\0');
    f->status = f->names.failed ? MI_ENOMEM : 0;
}

/* ---- one message ---- */

/* Returns the searched text of a message; empty if its body file cannot be read. */
static struct slice finder_read_text(struct finder *f, const struct query_message *m)
{
    struct slice body, uid = slice_of(f->session->id.uid);
    const char *error;
    finder_set_status(f, session_read_body(f->q, uid, m, SIZE_MAX, &f->large, &body, &error));
    return search_get_text_of_body(m->kind, body, &f->text);
}

static bool finder_report_matching_candidate(void *ctx, const struct query_message *m)
{
    struct finder *f = ctx;
    struct slice at;
    struct slice text = finder_read_text(f, m);
    if (!finder_should_continue(f))
        return false;
    int st = search_terms_find(&f->question->terms, text, &at);
    if (st < 0) {
        f->status = st == MI_ENOENT ? 0 : st;
        return false;
    }
    struct search_match match = {
        .message = m,
        .session_id = f->session->id.id,
        .session_number = f->session->number,
        .several = f->several,
        .started_at_us = f->session->started_at_us,
        .uid = f->session->id.uid,
        .uid_shown = f->session->uid_shown,
        .server = f->names.p + f->session->name,
        .text = text,
        .at = at,
    };
    f->left--;
    f->ended = !f->fn(f->ctx, &match) || f->left == 0;
    return false;
}

/* Reads a message, and passes it to the callback if it matches. */
static void finder_report_if_match(struct finder *f, const struct session_row *r, int64_t seq)
{
    f->session = r;
    if (!question_includes_message_seq(f->question, r->id.id, seq))
        return;
    struct message_question x = {&f->question->filter, r->id.id, r->started_at_us, seq, seq};
    finder_set_status(
        f, query_messages_and_events(f->q, &x, finder_report_matching_candidate, NULL, f));
}

/* ---- the messages of one session ---- */

static bool finder_add_seq(struct finder *f, struct seq_list *l, int64_t seq)
{
    if (!GROW(l->seq, l->n, l->cap)) {
        f->status = MI_ENOMEM;
        return false;
    }
    l->seq[l->n++] = seq;
    return true;
}

/* Reads the messages whose fields match, newest first, and passes those that match the question to
 * the callback. If `list` is not NULL, reads only messages in the list. */
static void finder_try_matching_messages(struct finder *f, const struct session_row *r,
                                         const struct seq_list *list)
{
    struct message_question x = {&f->question->filter, r->id.id, r->started_at_us, 1, INT64_MAX};
    int64_t seq[MATCHING];
    size_t n = MATCHING, k = list != NULL ? list->n : 0;
    if (k > 0) {
        x.from = list->seq[0];
        x.to = list->seq[k - 1];
    }
    while (finder_should_continue(f) && n == MATCHING && (list == NULL || k > 0)) {
        finder_set_status(f, query_find_matching_messages(f->q, &x, MATCHING, seq, &n));
        for (size_t i = 0; finder_should_continue(f) && i < n; i++) {
            while (k > 0 && list->seq[k - 1] > seq[i])
                k--;
            if (list == NULL || (k > 0 && list->seq[k - 1] == seq[i]))
                finder_report_if_match(f, r, seq[i]);
        }
        x.to = n > 0 ? seq[n - 1] - 1 : 0;
    }
}

/* Reads the messages in f->candidates, newest first, and passes those that match to the callback.
 * If the question has fields and there are many candidates, first selects messages by their fields
 * without reading bodies, which is cheaper than reading each candidate. */
static void finder_try_candidates(struct finder *f, const struct session_row *r)
{
    const struct seq_list *list = &f->candidates;
    if (f->question->narrowed && list->n > TRY_EACH_MAX)
        finder_try_matching_messages(f, r, list);
    else
        for (size_t i = list->n; finder_should_continue(f) && i-- > 0;)
            finder_report_if_match(f, r, list->seq[i]);
}

static bool finder_collect_matching_seq(void *ctx, const struct query_message *m)
{
    struct finder *f = ctx;
    struct slice at, text = finder_read_text(f, m);
    if (!finder_should_continue(f))
        return false;
    int st = search_terms_find(&f->question->terms, text, &at);
    if (st == MI_ENOENT)
        return true;
    f->status = st;
    return st == 0 && finder_add_seq(f, &f->candidates, m->seq);
}

/* Searches a session without the index: reads all bodies. */
static void finder_scan_session(struct finder *f, const struct session_row *r)
{
    f->session = r;
    f->candidates.n = 0;
    if (f->question->terms.n == 0) {
        finder_try_matching_messages(f, r, NULL);
        return;
    }
    finder_set_status(
        f, query_read_message_bodies(f->q, r->id.id, 0, INT64_MAX, finder_collect_matching_seq, f));
    if (f->status == 0)
        finder_try_candidates(f, r);
}

/* ---- with the index ---- */

static void show_indexing_progress(void *ctx)
{
    struct finder *f = ctx;
    int64_t now_us = clock_mono_us();
    if (f->indexed++ == 0)
        f->index_began_us = now_us;
    if (now_us - f->index_began_us < QUIET_US || now_us - f->shown_us < QUIET_US / 4 ||
        isatty(STDERR_FILENO) != 1)
        return;
    f->shown_us = now_us;
    fprintf(stderr, "\rindexing: %lld messages", (long long)f->indexed);
}

/* The sessions of one index file. */
struct group {
    struct finder *f;
    const struct session_row *row; /* newest first */
    size_t n;
    /* index in `row` of the session whose messages f->candidates has; equal to `n`: no session */
    size_t at;
};

/* Reads the candidates that the index has found in the current session, and passes those that match
 * to the callback. */
static void try_indexed_candidates(struct group *g)
{
    struct finder *f = g->f;
    struct seq_list *l = &f->candidates;
    if (finder_should_continue(f) && g->at < g->n && g->row[g->at].wanted && l->n > 0) {
        /* the index returns messages in descending order; candidates must be ascending */
        for (size_t i = 0; i < l->n / 2; i++) {
            int64_t seq = l->seq[i];
            l->seq[i] = l->seq[l->n - 1 - i];
            l->seq[l->n - 1 - i] = seq;
        }
        if (f->question->all_exact && l->n > TRY_EACH_MAX)
            finder_scan_session(f, &g->row[g->at]);
        else
            finder_try_candidates(f, &g->row[g->at]);
    }
    l->n = 0;
}

static bool finder_on_indexed_message(void *ctx, int64_t session, int64_t seq)
{
    struct group *g = ctx;
    struct finder *f = g->f;
    if (g->at == g->n || g->row[g->at].id.id != session) {
        try_indexed_candidates(g);
        for (g->at = 0; g->at < g->n && g->row[g->at].id.id != session;)
            g->at++;
    }
    if (!finder_should_continue(f) || g->at == g->n || !g->row[g->at].wanted)
        return finder_should_continue(f);
    if (f->question->narrowed || f->question->all_exact)
        return finder_add_seq(f, &f->candidates, seq);
    /* Reads this message at once, instead of collecting candidates first: the search may end after
     * a few matches. */
    finder_report_if_match(f, &g->row[g->at], seq);
    return finder_should_continue(f);
}

/* Searches the sessions of one index file with the index. Returns MI_EIO if the index cannot be
 * used. */
static int search_with_index(struct finder *f, const struct session_row *row, size_t n)
{
    struct group g = {.f = f, .row = row, .n = n, .at = n};
    if (f->index == NULL)
        return MI_EIO;
    struct search_session *ids = malloc(n * sizeof *ids);
    if (ids == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < n; i++)
        ids[i] = row[i].id;
    int st = search_index_update_file(f->index, ids, n, show_indexing_progress, f);
    if (st == 0)
        st = search_find_messages(f->index, ids, n, buf_str(&f->match), finder_on_indexed_message,
                                  &g);
    if (st == 0)
        try_indexed_candidates(&g);
    free(ids);
    return st;
}

/* Searches the sessions of one index file. If the index cannot be used, reads all messages of these
 * sessions instead. */
static void finder_search_sessions_of_file(struct finder *f)
{
    const struct session_row *row = f->row;
    size_t n = f->rows_n;
    bool wanted = false;
    for (size_t i = 0; i < n; i++)
        wanted |= row[i].wanted;
    if (!wanted)
        return;
    int64_t left = f->left;
    int st = search_with_index(f, row, n);
    /* If the index fails after a match was found, the messages are not read without the index,
     * because the same match would be found again. */
    if (st != MI_EIO || f->left != left) {
        finder_set_status(f, st);
        return;
    }
    for (size_t i = 0; finder_should_continue(f) && i < n; i++)
        if (row[i].wanted)
            finder_scan_session(f, &row[i]);
}

/* Collects the sessions of an index file. Searches them before older sessions are read, so that the
 * first match is found before the whole list is read. */
static bool finder_on_session(void *ctx, const struct query_session *x)
{
    struct finder *f = ctx;
    if (f->rows_n > 0 && search_get_file_of_session(f->index, f->row[0].id.id) !=
                             search_get_file_of_session(f->index, x->id)) {
        finder_search_sessions_of_file(f);
        f->rows_n = 0;
        buf_clear(&f->names);
    }
    if (finder_should_continue(f))
        finder_add_session(f, x);
    return finder_should_continue(f);
}

static void finder_search_all(struct finder *f)
{
    const struct search_terms *terms = &f->question->terms;
    finder_set_status(f, query_has_several_vaults(f->q, &f->several));
    if (f->status == 0 && terms->n > 0)
        f->status = search_open(&f->index, f->q);
    if (f->status == 0 && f->index != NULL &&
        !search_index_make_query(f->index, terms, &f->match)) {
        search_close(f->index); /* the index cannot be used for these terms */
        f->index = NULL;
    }
    if (f->status == 0 && f->match.failed)
        f->status = MI_ENOMEM;
    if (f->status == 0)
        finder_set_status(f, query_sessions(f->q, 0, finder_on_session, f));
    if (finder_should_continue(f))
        finder_search_sessions_of_file(f);
    if (f->shown_us != 0)
        fprintf(stderr, "\r\033[K");
}

int find_messages(struct query *q, struct question *question, int64_t limit, find_fn fn, void *ctx)
{
    struct finder f = {
        .q = q,
        .question = question,
        .left = limit > 0 ? limit : -1,
        .fn = fn,
        .ctx = ctx,
    };
    finder_search_all(&f);
    search_close(f.index);
    buf_close(&f.match);
    buf_close(&f.names);
    buf_close(&f.large);
    buf_close(&f.text);
    free(f.row);
    free(f.candidates.seq);
    return f.status;
}
