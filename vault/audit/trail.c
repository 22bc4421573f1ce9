#include "vault/audit/trail.h"

#include "base/grow.h"
#include "base/search.h"
#include "evidence/key_leaf.h"
#include "vault/store/connect.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void audit_set_fault(struct audit_wrong *w, enum audit_kind kind, const char *record,
                     const char *format, ...)
{
    va_list args;
    w->kind = kind;
    snprintf(w->record, sizeof w->record, "%s", record);
    va_start(args, format);
    vsnprintf(w->text, sizeof w->text, format, args);
    va_end(args);
}

void trail_open(struct trail *t, trail_wrong_fn wrong, void *ctx)
{
    *t = (struct trail){.last_n = -1, .wrong = wrong, .ctx = ctx};
}

void trail_close(struct trail *t)
{
    intern_close(&t->uids);
    free(t->session);
    free(t->pruned);
    free(t->leaf);
    free(t->key);
    free(t->root);
    trail_open(t, NULL, NULL);
}

/* ---- roots ---------------------------------------------------------------------------------- */

int trail_request_tree_root(struct trail *t, uint64_t size)
{
    size_t at = t->root_n;
    while (at > 0 && t->root[at - 1].size > size)
        at--;
    if (at > 0 && t->root[at - 1].size == size)
        return 0;
    if (!GROW(t->root, t->root_n, t->root_cap))
        return MI_ENOMEM;
    memmove(t->root + at + 1, t->root + at, (t->root_n - at) * sizeof *t->root);
    t->root[at] = (struct trail_root){.size = size};
    t->root_n++;
    return 0;
}

const struct digest *trail_find_tree_root(const struct trail *t, uint64_t size)
{
    size_t low = 0, high = t->root_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (t->root[middle].size < size)
            low = middle + 1;
        else
            high = middle;
    }
    bool found = low < t->root_n && t->root[low].size == size && t->root[low].known;
    return found ? &t->root[low].root : NULL;
}

static void trail_set_known_roots(struct trail *t)
{
    for (; t->root_at < t->root_n && t->root[t->root_at].size == t->tree.n; t->root_at++) {
        t->root[t->root_at].root = tree_root_digest(&t->tree);
        t->root[t->root_at].known = true;
    }
}

const struct public_key *trail_get_key_at_log_size(const struct trail *t, uint64_t size)
{
    for (size_t i = t->key_n; i > 0; i--)
        if ((uint64_t)t->key[i - 1].n < size)
            return &t->key[i - 1].key;
    return NULL;
}

/* ---- sessions ------------------------------------------------------------------------------- */

struct trail_session *trail_find_session(struct trail *t, struct slice uid)
{
    uint32_t i;
    if (!intern_find(&t->uids, uid, &i))
        return NULL;
    return &t->session[i];
}

static int compare_trail_ids(const void *a, const void *b)
{
    const struct trail_id *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

int trail_sort_pruned_sessions(struct trail *t)
{
    t->pruned_n = 0;
    for (size_t i = 0; i < t->uids.n; i++) {
        if (!t->session[i].pruned || !t->session[i].opened)
            continue;
        if (!GROW(t->pruned, t->pruned_n, t->pruned_cap))
            return MI_ENOMEM;
        t->pruned[t->pruned_n++].id = t->session[i].id;
    }
    if (t->pruned_n > 1)
        qsort(t->pruned, t->pruned_n, sizeof *t->pruned, compare_trail_ids);
    return 0;
}

bool trail_session_was_pruned(const struct trail *t, int64_t id)
{
    size_t at = SEARCH_INT64(t->pruned, t->pruned_n, id, id);
    return at < t->pruned_n && t->pruned[at].id == id;
}

/* ---- leaves --------------------------------------------------------------------------------- */

struct leaf_fault {
    enum audit_kind kind;
    const char *text; /* a clause about the leaf; NULL: the leaf has no fault */
};

/* Adds a leaf `seal` or `redact`. *last: index of the session's last leaf of this type. */
static int trail_add_leaf(struct trail *t, size_t *last, const struct leaf *l, int64_t n)
{
    if (!GROW(t->leaf, t->leaf_n, t->leaf_cap))
        return MI_ENOMEM;
    struct trail_leaf *x = &t->leaf[t->leaf_n];
    *x = (struct trail_leaf){.n = n,
                             .at_us = l->at_us,
                             .records = l->records,
                             .digest = l->digest,
                             .root = l->root,
                             .has_end = l->end.p != NULL,
                             .before = *last};
    if (l->end.p != NULL)
        snprintf(x->end, sizeof x->end, "%.*s", (int)size_min(l->end.n, sizeof x->end), l->end.p);
    *last = t->leaf_n++;
    return 0;
}

static int trail_add_session_leaf(struct trail *t, const struct leaf *l, int64_t n,
                                  struct leaf_fault *f)
{
    uint32_t i;
    size_t known = t->uids.n;
    if (!GROW(t->session, known, t->session_cap) || intern_add(&t->uids, l->uid, &i) < 0)
        return MI_ENOMEM;
    struct trail_session *s = &t->session[i];
    if (i == known)
        *s = (struct trail_session){.seals = TRAIL_NONE, .redactions = TRAIL_NONE};
    if (l->type == LEAF_PRUNE) {
        s->pruned = true;
        return 0;
    }
    if (l->type == LEAF_OPEN) {
        if (s->opened) {
            *f = (struct leaf_fault){AUDIT_ADDED, "opens a session again"};
        } else if (l->id <= t->after) {
            *f = (struct leaf_fault){AUDIT_CHANGED, "opens a session that is not covered"};
        } else {
            s->opened = true;
            s->id = l->id;
            s->commitment = l->digest;
        }
        return 0;
    }
    if (!s->opened) {
        *f = (struct leaf_fault){AUDIT_ADDED, l->type == LEAF_SEAL
                                                  ? "seals a session that was not opened"
                                                  : "redacts a session that was not opened"};
        return 0;
    }
    return trail_add_leaf(t, l->type == LEAF_SEAL ? &s->seals : &s->redactions, l, n);
}

static int trail_add_key(struct trail *t, const struct leaf *l, int64_t n, struct leaf_fault *f)
{
    struct public_key key;
    const struct public_key *before = t->key_n > 0 ? &t->key[t->key_n - 1].key : NULL;
    int st = key_leaf_check(l, slice_of(t->origin), before, &key, &f->text);
    if (st == MI_EINVAL) {
        f->kind = AUDIT_SIGNATURE;
        return 0;
    }
    if (st < 0 || !GROW(t->key, t->key_n, t->key_cap))
        return MI_ENOMEM;
    t->key[t->key_n++] = (struct trail_key){n, key};
    return 0;
}

static int trail_read_leaf(struct trail *t, int64_t n, struct slice text, struct leaf_fault *f)
{
    struct leaf l;
    int st = leaf_read(text, &l);
    if (st == MI_EINVAL) {
        *f = (struct leaf_fault){AUDIT_CHANGED, "is not a leaf as a recorder writes it"};
        return 0;
    }
    if (st < 0)
        return st;
    if ((l.type == LEAF_BEGIN) != (n == 0)) {
        *f = (struct leaf_fault){AUDIT_CHANGED,
                                 n == 0 ? "is not the beginning of a log" : "begins the log again"};
        return 0;
    }
    if (l.type == LEAF_BEGIN) {
        snprintf(t->origin, sizeof t->origin, CHECKPOINT_ORIGIN "%.*s", (int)l.uid.n, l.uid.p);
        t->after = l.id;
        return 0;
    }
    return l.type == LEAF_KEY ? trail_add_key(t, &l, n, f) : trail_add_session_leaf(t, &l, n, f);
}

static void trail_report_fault(struct trail *t, int64_t n, const struct leaf_fault *f)
{
    struct audit_wrong w;
    char record[32];
    snprintf(record, sizeof record, "leaf %lld", (long long)n);
    audit_set_fault(&w, f->kind, record, "%s", f->text);
    t->wrong(t->ctx, &w);
}

static int trail_read_leaf_row(struct trail *t, int64_t n, struct slice text)
{
    struct leaf_fault f = {AUDIT_NOTHING, NULL};
    if (n != t->last_n + 1 && !t->gap) {
        t->gap = true;
        trail_report_fault(t, t->last_n + 1, &(struct leaf_fault){AUDIT_REMOVED, "is missing"});
    }
    t->last_n = n;
    struct digest hash = tree_leaf_digest(text);
    tree_add_leaf(&t->tree, &hash);
    trail_set_known_roots(t);
    int st = trail_read_leaf(t, n, text, &f);
    if (st == 0 && f.text != NULL)
        trail_report_fault(t, n, &f);
    return st;
}

int trail_read_new_leaves(struct trail *t, struct snapshot *s)
{
    sqlite3_stmt *q;
    int rc = SQLITE_DONE, st = db_begin(&s->d);
    if (st < 0)
        return st;
    trail_set_known_roots(t); /* sets the root for size 0 */
    st = snapshot_begin_query(s, SNAPSHOT_LEAVES, t->last_n, 0, &q);
    if (st == 0) {
        while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
            int64_t n = sqlite3_column_int64(q, 0);
            st = n > t->last_n ? trail_read_leaf_row(t, n, connect_column(q, 1))
                               : db_fail_damaged(&s->d);
        }
        int done = db_finish_statement(&s->d, q, rc);
        st = st < 0 ? st : done;
    }
    return db_end(&s->d, st);
}
