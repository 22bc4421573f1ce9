#include "evidence/bundle.h"

#include "base/grow.h"
#include "evidence/bundle_read.h"
#include "evidence/key_leaf.h"

#include <stdio.h>
#include <stdlib.h>

#define RECORD_NAME 32 /* maximum length of a record's name in bytes, with its NUL */

static int bundle_reject(struct buf *why, const char *text)
{
    buf_adds(why, text);
    return MI_EINVAL;
}

static int report_invalid_form(struct buf *why, int st, const char *what, uint64_t n)
{
    if (st == MI_EINVAL)
        buf_printf(why, "%s %llu does not have the form of docs/evidence.md", what,
                   (unsigned long long)n);
    return st;
}

/* ---- the checkpoint and the leaves ---------------------------------------------------------- */

static int bundle_read_checkpoint(struct bundle *b, struct slice raw, struct note *n,
                                  struct buf *why)
{
    json_unescape(&b->note, raw);
    if (b->note.failed)
        return MI_ENOMEM;
    if (note_read(buf_slice(&b->note), n) < 0 || checkpoint_read(n->text, &b->checkpoint) < 0 ||
        !slice_begins(b->checkpoint.origin, CHECKPOINT_ORIGIN))
        return bundle_reject(why, "the bundle's checkpoint is not a signed note of a log");
    return 0;
}

static int bundle_add_leaf(struct bundle *b, struct json_value v, struct buf *why)
{
    struct bundle_proof p;
    struct digest root;
    struct bundle_leaf *l = &b->leaf[b->leaf_n];
    *l = (struct bundle_leaf){0};
    b->leaf_n++;
    int st = bundle_read_leaf(v, l, &p);
    if (st < 0)
        return report_invalid_form(why, st, "leaf", b->leaf_n - 1);
    if (b->leaf_n > 1 && l->n <= l[-1].n)
        return bundle_reject(why, "the bundle's leaves are not in the order of their numbers");
    struct digest hash = tree_leaf_digest(buf_slice(&l->text));
    if (l->n >= b->checkpoint.size ||
        !tree_root_of_proof(&hash, b->checkpoint.size, l->n, p.proof, p.proof_n, &root) ||
        !digest_eq(&root, &b->checkpoint.root)) {
        buf_printf(why, "leaf %llu is not in the log that the checkpoint states",
                   (unsigned long long)l->n);
        return MI_EINVAL;
    }
    return 0;
}

static int bundle_add_leaves(struct bundle *b, struct json_value array, struct buf *why)
{
    struct json_walk w = json_walk_begin(array);
    struct slice key;
    struct json_value v;
    size_t cap = 0;
    int st = 0;
    while (st == 0 && json_walk_next(&w, &key, &v))
        st = GROW(b->leaf, b->leaf_n, cap) ? bundle_add_leaf(b, v, why) : MI_ENOMEM;
    return st;
}

/* Finds the leaf `open` and the seal of the session, and checks that no other leaf contradicts
 * these two. */
static int find_session_leaves(struct bundle *b, struct buf *why)
{
    bool open = false, sealed = false;
    for (size_t i = 0; i < b->leaf_n; i++) {
        const struct leaf *l = &b->leaf[i].leaf;
        if (l->type == LEAF_KEY)
            continue;
        if (l->type == LEAF_BEGIN || l->type == LEAF_PRUNE || (l->type == LEAF_OPEN) == open)
            return bundle_reject(why, "the bundle has leaves that do not belong to its session");
        if (open && !slice_eq(l->uid, b->leaf[b->open].leaf.uid))
            return bundle_reject(why, "the bundle has leaves of several sessions");
        if (l->type == LEAF_OPEN)
            b->open = i;
        if (l->type == LEAF_SEAL && sealed)
            return bundle_reject(why, "the bundle has more than one seal");
        if (l->type == LEAF_SEAL)
            b->seal = i;
        open = open || l->type == LEAF_OPEN;
        sealed = sealed || l->type == LEAF_SEAL;
    }
    if (!sealed)
        return bundle_reject(why, "the bundle has no leaf that seals its session");
    return 0;
}

/* Checks the keys of the log, from the first key to the key of the checkpoint. Sets *ret_known if
 * `key` is one of these keys. */
static int check_log_keys(struct bundle *b, const struct public_key *key, bool *ret_known,
                          struct buf *why)
{
    struct public_key next;
    bool any = false;
    const char *reason;
    *ret_known = key == NULL;
    for (size_t i = 0; i < b->leaf_n; i++) {
        if (b->leaf[i].leaf.type != LEAF_KEY)
            continue;
        int st = key_leaf_check(&b->leaf[i].leaf, b->checkpoint.origin, any ? &b->signer : NULL,
                                &next, &reason);
        if (st == MI_EINVAL)
            buf_printf(why, "leaf %llu states a key, but %s", (unsigned long long)b->leaf[i].n,
                       reason);
        if (st < 0)
            return st;
        b->signer = next;
        any = true;
        *ret_known = *ret_known || key_eq(key, &next);
    }
    return any ? 0 : bundle_reject(why, "the bundle has no leaf that states a key");
}

static int check_checkpoint_signature(struct bundle *b, const struct note *n,
                                      const struct public_key *key, struct buf *why)
{
    bool known;
    int st = check_log_keys(b, key, &known, why);
    if (st < 0)
        return st;
    st = note_check_signature(n, &b->signer);
    if (st == MI_ENOENT)
        return bundle_reject(why, "the bundle's checkpoint is not signed with the key of its log");
    if (st < 0)
        return bundle_reject(why, "the signature of the bundle's checkpoint is wrong");
    return known ? 0 : bundle_reject(why, "the key is not one of the keys of this log");
}

/* ---- redactions ----------------------------------------------------------------------------- */

static int compare_lines_by_record(const void *a, const void *b)
{
    const struct bundle_line *x = a, *y = b;
    int c = slice_cmp(x->record, y->record);
    return c != 0 ? c : (x->leaf > y->leaf) - (x->leaf < y->leaf);
}

static const struct bundle_leaf *find_redact_leaf(const struct bundle *b, uint64_t n)
{
    size_t low = 0, high = b->leaf_n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (b->leaf[middle].n < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low < b->leaf_n && b->leaf[low].n == n && b->leaf[low].leaf.type == LEAF_REDACT
               ? &b->leaf[low]
               : NULL;
}

static int bundle_read_lines(struct bundle *b, const struct bundle_leaf *l, struct json_value array,
                             struct buf *why)
{
    struct json_walk w = json_walk_begin(array);
    struct slice key;
    struct json_value v;
    struct digest_sum sum;
    struct digest d;
    size_t first = b->line_n;
    digest_begin(&sum);
    while (json_walk_next(&w, &key, &v)) {
        if (!GROW(b->line, b->line_n, b->line_cap))
            return MI_ENOMEM;
        struct bundle_line *line = &b->line[b->line_n];
        *line = (struct bundle_line){.leaf = l->n, .at_us = l->leaf.at_us};
        if (bundle_read_line(v, line) < 0 ||
            (b->line_n > first && slice_cmp(line[-1].record, line->record) >= 0))
            return report_invalid_form(why, MI_EINVAL, "the list of redacted records of leaf",
                                       l->n);
        struct slice raw = json_string_raw(v);
        digest_add(&sum, raw.p, raw.n);
        digest_add(&sum, "\n", 1);
        b->line_n++;
    }
    digest_end(&sum, &d);
    if (b->line_n - first != (uint64_t)l->leaf.records || !digest_eq(&d, &l->leaf.digest)) {
        buf_printf(why, "the list of redacted records is not that of leaf %llu",
                   (unsigned long long)l->n);
        return MI_EINVAL;
    }
    return 0;
}

static int read_redactions(struct bundle *b, struct json_value array, struct buf *why)
{
    struct json_walk w = json_walk_begin(array);
    struct slice key;
    struct json_value v, lines;
    uint64_t n, last = 0;
    int st = 0;
    while (st == 0 && json_walk_next(&w, &key, &v)) {
        if (bundle_read_redaction(v, &n, &lines) < 0 || n <= last)
            return bundle_reject(
                why, "the bundle's redactions do not have the form of docs/evidence.md");
        const struct bundle_leaf *l = find_redact_leaf(b, n);
        if (l == NULL)
            return bundle_reject(why, "a redaction has no leaf");
        st = bundle_read_lines(b, l, lines, why);
        last = n;
    }
    if (st == 0 && b->line_n > 0)
        qsort(b->line, b->line_n, sizeof *b->line, compare_lines_by_record);
    return st;
}

/* Finds the redaction lines of a record, in the order of their leaves. Returns the number of
 * lines. */
static size_t find_lines_of_record(const struct bundle *b, struct slice record,
                                   const struct bundle_line **ret)
{
    size_t low = 0, high = b->line_n, n = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(b->line[middle].record, record) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret = b->line + low;
    while (low + n < b->line_n && slice_eq((*ret)[n].record, record))
        n++;
    return n;
}

/* ---- records -------------------------------------------------------------------------------- */

static struct digest commitment_of_record(const struct bundle_record *r)
{
    struct record sum;
    struct digest d;
    record_begin_digest(&sum, &r->salt, bundle_shape[r->kind].name);
    for (size_t i = 0; i < r->n; i++)
        record_add_text(&sum, r->field[i]);
    record_finish_digest(&sum, &d);
    return d;
}

static void make_record_name(const struct bundle_record *r, char ret[RECORD_NAME])
{
    const char *kind = bundle_shape[r->kind].name;
    if (r->kind == BUNDLE_MESSAGE)
        snprintf(ret, RECORD_NAME, "%s %lld", kind,
                 (long long)bundle_parse_number(r->field[BUNDLE_MESSAGE_seq]));
    else if (r->kind == BUNDLE_EVENT)
        snprintf(ret, RECORD_NAME, "%s %llu", kind, (unsigned long long)r->place);
    else
        snprintf(ret, RECORD_NAME, "%s", kind);
}

/* Returns the time of the last redaction of a record; 0: none. */
static int64_t last_redaction_time(const struct bundle *b, const struct bundle_record *r)
{
    char name[RECORD_NAME];
    const struct bundle_line *line;
    make_record_name(r, name);
    size_t n = find_lines_of_record(b, slice_of(name), &line);
    /* The seal covers the record `end` as it was when the seal was written, so earlier redactions
     * of this record do not count. */
    return n > 0 && (r->kind != BUNDLE_END || line[n - 1].leaf > b->leaf[b->seal].n)
               ? line[n - 1].at_us
               : 0;
}

/* Checks the chain of commitments of a record. It must begin with the commitment that the seal
 * covers, each redaction must replace one commitment by the next, and it must end with the
 * commitment of the record in the bundle. */
static int check_commitment_chain(const struct bundle *b, const struct bundle_record *r,
                                  const struct digest *sealed, struct buf *why)
{
    char name[RECORD_NAME];
    const struct bundle_line *line;
    struct digest at = *sealed, now = commitment_of_record(r);
    make_record_name(r, name);
    size_t n = find_lines_of_record(b, slice_of(name), &line);
    for (size_t i = 0; i < n; i++) {
        if (r->kind == BUNDLE_END && line[i].leaf < b->leaf[b->seal].n)
            continue;
        if (!digest_eq(&line[i].old, &at)) {
            buf_printf(why, "`%s` was changed between its seal and its redaction", name);
            return MI_EINVAL;
        }
        at = line[i].now;
    }
    if (digest_eq(&at, &now))
        return 0;
    buf_printf(why, "the record `%s` %s", name,
               n > 0 ? "was changed after its redaction" : "is not the one that was sealed");
    return MI_EINVAL;
}

struct group {
    uint64_t n; /* number of the group; UINT64_MAX: no group was read yet */
    size_t k;
    struct digest commitment[SESSION_TREE_GROUP];
};

/* Reads the next group, which must be in the session's tree. */
static int read_next_group(const struct bundle *b, struct json_walk *w, struct group *g,
                           struct buf *why)
{
    uint64_t records = (uint64_t)b->leaf[b->seal].leaf.records, last = g->n;
    uint64_t groups = records / SESSION_TREE_GROUP + (records % SESSION_TREE_GROUP != 0);
    struct bundle_proof p;
    struct digest root;
    struct slice key;
    struct json_value v;
    if (!json_walk_next(w, &key, &v))
        return bundle_reject(why, "a record is in none of the bundle's groups");
    if (bundle_read_group(v, &p, g->commitment, &g->k) < 0 || (last != UINT64_MAX && p.n <= last) ||
        p.n >= groups || g->k != size_min(SESSION_TREE_GROUP, records - p.n * SESSION_TREE_GROUP))
        return bundle_reject(why, "the bundle's groups do not have the form of docs/evidence.md");
    g->n = p.n;
    struct digest hash = session_tree_digest_group(g->commitment, g->k);
    if (!tree_root_of_proof(&hash, groups, g->n, p.proof, p.proof_n, &root) ||
        !digest_eq(&root, &b->leaf[b->seal].leaf.root)) {
        buf_printf(why, "group %llu is not in the tree that was sealed", (unsigned long long)g->n);
        return MI_EINVAL;
    }
    return 0;
}

static int check_first_record(const struct bundle *b, const struct bundle_record *r,
                              const struct group *g, struct buf *why)
{
    const struct leaf *open = &b->leaf[b->open].leaf;
    if (r->place != 0 || r->kind != BUNDLE_SESSION)
        return bundle_reject(why, "the bundle's first record is not the session's record");
    if (!digest_eq(&g->commitment[0], &open->digest))
        return bundle_reject(
            why, "the session's record is not the one that was stored when the session began");
    if (!slice_eq(r->field[BUNDLE_SESSION_uid], open->uid))
        return bundle_reject(why, "the bundle's leaves are of another session");
    return 0;
}

/* Before the call, *seq is the seq of the previous message. Sets *seq to the seq of this message.
 * Returns whether it is greater than the previous one, and at most BUNDLE_SEQ_MAX. */
static bool read_next_seq(struct slice field, int64_t *seq)
{
    int64_t before = *seq;
    *seq = bundle_parse_number(field);
    return *seq > before && *seq <= BUNDLE_SEQ_MAX;
}

static int check_all_records(struct bundle *b, struct bundle_walk *w, struct buf *why)
{
    struct json_walk groups = json_walk_begin(b->groups);
    struct group g = {.n = UINT64_MAX};
    struct bundle_record r;
    struct slice key;
    struct json_value v;
    uint64_t next = 0;
    int64_t seq = 0;
    while (json_walk_next(&w->at, &key, &v)) {
        int st = bundle_read_record(v, false, &w->text, &r);
        if (st < 0)
            return report_invalid_form(why, st, "record", b->records_n);
        if (r.place < next || (b->records_n > 0 && r.kind == BUNDLE_SESSION))
            return bundle_reject(why, "the bundle's records are not in the order of `place`");
        if (r.kind == BUNDLE_MESSAGE && !read_next_seq(r.field[BUNDLE_MESSAGE_seq], &seq))
            return bundle_reject(why,
                                 "the bundle's messages are not in the order of their numbers");
        while (st == 0 && (g.n == UINT64_MAX || r.place / SESSION_TREE_GROUP > g.n))
            st = read_next_group(b, &groups, &g, why);
        if (st < 0)
            return st;
        if (r.place / SESSION_TREE_GROUP != g.n || r.place % SESSION_TREE_GROUP >= g.k)
            return bundle_reject(why, "a record is in none of the bundle's groups");
        if (b->records_n == 0)
            st = check_first_record(b, &r, &g, why);
        if (st == 0)
            st = check_commitment_chain(b, &r, &g.commitment[r.place % SESSION_TREE_GROUP], why);
        if (st < 0)
            return st;
        next = r.place + 1;
        b->records_n++;
    }
    if (b->records_n == 0)
        return bundle_reject(why, "the bundle has no records");
    return json_walk_next(&groups, &key, &v)
               ? bundle_reject(why, "the bundle has a group without records")
               : 0;
}

static int check_end_record(const struct bundle *b, struct bundle_walk *w, struct buf *why)
{
    const struct leaf *seal = &b->leaf[b->seal].leaf;
    struct bundle_record r;
    int st = bundle_read_record(b->end, true, &w->text, &r);
    if (st < 0)
        return report_invalid_form(why, st, "the record `end` of session", 0);
    st = check_commitment_chain(b, &r, &seal->digest, why);
    if (st < 0)
        return st;
    struct slice reason = r.field[BUNDLE_END_end_reason];
    struct buf stated = {0};
    if (seal->end.p != NULL)
        json_unescape(&stated, seal->end);
    st = stated.failed ? MI_ENOMEM
         : (reason.p == NULL) != (seal->end.p == NULL) || !slice_eq(buf_slice(&stated), reason)
             ? bundle_reject(why, "the seal and the record `end` state different reasons")
             : 0;
    buf_close(&stated);
    return st;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int bundle_check(struct bundle *b, const struct bundle_text *t, const struct public_key *key,
                        struct buf *why)
{
    struct note n;
    int st = bundle_read_checkpoint(b, t->checkpoint, &n, why);
    if (st == 0)
        st = bundle_add_leaves(b, t->leaves, why);
    if (st == 0)
        st = check_checkpoint_signature(b, &n, key, why);
    if (st == 0)
        st = find_session_leaves(b, why);
    if (st == 0)
        st = read_redactions(b, t->redactions, why);
    struct bundle_walk w = bundle_begin_walk(b);
    if (st == 0)
        st = check_all_records(b, &w, why);
    if (st == 0)
        st = check_end_record(b, &w, why);
    bundle_walk_close(&w);
    return st;
}

int bundle_open(struct bundle *ret, struct slice text, const struct public_key *key,
                struct buf *why)
{
    struct bundle_text t;
    *ret = (struct bundle){0};
    if (bundle_read(text, &t) < 0)
        return bundle_reject(why, "the file is not a bundle of version 1, or it is incomplete");
    ret->groups = t.groups;
    ret->records = t.records;
    ret->end = t.end;
    int st = bundle_check(ret, &t, key, why);
    if (st < 0)
        bundle_close(ret);
    return st;
}

void bundle_close(struct bundle *b)
{
    for (size_t i = 0; i < b->leaf_n; i++)
        buf_close(&b->leaf[i].text);
    free(b->leaf);
    free(b->line);
    buf_close(&b->note);
    *b = (struct bundle){0};
}

struct bundle_walk bundle_begin_walk(const struct bundle *b)
{
    return (struct bundle_walk){.at = json_walk_begin(b->records)};
}

bool bundle_next_record(const struct bundle *b, struct bundle_walk *w, struct bundle_record *ret)
{
    struct slice key;
    struct json_value v;
    if (!json_walk_next(&w->at, &key, &v) || bundle_read_record(v, false, &w->text, ret) < 0)
        return false;
    ret->redacted_at_us = last_redaction_time(b, ret);
    return true;
}

bool bundle_read_end_record(const struct bundle *b, struct bundle_walk *w,
                            struct bundle_record *ret)
{
    if (bundle_read_record(b->end, true, &w->text, ret) < 0)
        return false;
    ret->redacted_at_us = last_redaction_time(b, ret);
    return true;
}

void bundle_walk_close(struct bundle_walk *w)
{
    buf_close(&w->text);
}
