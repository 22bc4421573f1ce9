#include "vault/audit/old_commitments.h"

#include "base/grow.h"
#include "base/os/sort.h"
#include "vault/store/commitment.h"
#include "vault/store/connect.h"

#include <stdio.h>
#include <stdlib.h>

void old_commitments_close(struct old_commitments *r)
{
    free(r->row);
    buf_close(&r->names);
    *r = (struct old_commitments){0};
}

int old_commitments_load_rows(struct old_commitments *r, struct snapshot *s, int64_t session_id)
{
    sqlite3_stmt *q;
    int rc = SQLITE_DONE, st = db_begin(&s->d);
    if (st < 0)
        return st;
    st = snapshot_begin_query(s, SNAPSHOT_REPLACED, session_id, 0, &q);
    if (st < 0)
        return db_end(&s->d, st);
    while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        struct slice record = connect_column(q, 0);
        if (!GROW(r->row, r->n, r->cap)) {
            st = MI_ENOMEM;
            break;
        }
        struct old_commitment *x = &r->row[r->n++];
        *x = (struct old_commitment){
            .at = r->names.n, .n = record.n, .leaf = sqlite3_column_int64(q, 1)};
        x->valid = commitment_read_digest(q, 2, &x->old);
        buf_slice_add(&r->names, record);
        st = r->names.failed ? MI_ENOMEM : 0;
    }
    int done = db_finish_statement(&s->d, q, rc);
    return db_end(&s->d, st < 0 ? st : done);
}

static struct slice old_commitments_get_record_name(const struct old_commitments *r,
                                                    const struct old_commitment *x)
{
    return (struct slice){buf_slice(&r->names).p + x->at, x->n};
}

/* Returns the index of the first row of a record; *ret_n: the number of its rows. */
static size_t old_commitments_find_rows(const struct old_commitments *r, const char *record,
                                        size_t *ret_n)
{
    struct slice wanted = slice_of(record);
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_cmp(old_commitments_get_record_name(r, &r->row[middle]), wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_n = 0;
    while (low + *ret_n < r->n &&
           slice_eq(old_commitments_get_record_name(r, &r->row[low + *ret_n]), wanted))
        ++*ret_n;
    return low;
}

struct digest old_commitments_find_first(struct old_commitments *r, const char *record,
                                         const struct digest *stored)
{
    size_t n, at = old_commitments_find_rows(r, record, &n);
    struct digest now = *stored;
    for (size_t i = n; i > 0; i--) {
        struct old_commitment *x = &r->row[at + i - 1];
        x->now = now;
        x->known = true;
        now = x->old;
    }
    return now;
}

struct digest old_commitments_find_at_leaf(const struct old_commitments *r, const char *record,
                                           int64_t n, const struct digest *stored)
{
    size_t rows, at = old_commitments_find_rows(r, record, &rows);
    for (size_t i = 0; i < rows; i++)
        if (r->row[at + i].leaf > n)
            return r->row[at + i].old;
    return *stored;
}

/* ---- the leaves ----------------------------------------------------------------------------- */

static int compare_old_commitments_by_leaf(const void *a, const void *b, void *ctx)
{
    const struct old_commitments *r = ctx;
    const struct old_commitment *x = &r->row[*(const size_t *)a], *y = &r->row[*(const size_t *)b];
    int c = (x->leaf > y->leaf) - (x->leaf < y->leaf);
    return c != 0 ? c
                  : slice_cmp(old_commitments_get_record_name(r, x),
                              old_commitments_get_record_name(r, y));
}

/* Adds the line "RECORD OLD NEW" to the digest that a leaf `redact` states. */
static void old_commitments_hash_row(struct digest_sum *sum, const struct old_commitments *r,
                                     const struct old_commitment *x)
{
    char text[2 * DIGEST_HEX + 3];
    text[0] = ' ';
    digest_hex(&x->old, text + 1);
    text[DIGEST_HEX + 1] = ' ';
    digest_hex(&x->now, text + DIGEST_HEX + 2);
    text[2 * DIGEST_HEX + 2] = '\n';
    struct slice name = old_commitments_get_record_name(r, x);
    digest_add(sum, name.p, name.n);
    digest_add(sum, text, sizeof text);
}

/* The record's name comes from the vault: it is reported only if mcp-interposer could have written
 * it. */
static void old_commitments_set_fault(const struct old_commitments *r,
                                      const struct old_commitment *x, enum audit_kind kind,
                                      const char *text, struct audit_wrong *w)
{
    struct slice name = old_commitments_get_record_name(r, x);
    char record[sizeof w->record];
    bool ours = name.n < sizeof record;
    for (size_t i = 0; i < name.n && ours; i++)
        ours = name.p[i] == ' ' || (name.p[i] >= 'a' && name.p[i] <= 'z') ||
               (name.p[i] >= '0' && name.p[i] <= '9');
    snprintf(record, sizeof record, "%.*s", ours ? (int)name.n : 0, name.p);
    audit_set_fault(w, kind, record, "%s", text);
}

/* Whether a row has an invalid commitment, or names a record that was not read; if so, describes
 * the fault in *w. */
static bool old_commitments_find_wrong_row(const struct old_commitments *r, struct audit_wrong *w)
{
    for (size_t i = 0; i < r->n; i++) {
        const struct old_commitment *x = &r->row[i];
        if (!x->valid)
            old_commitments_set_fault(r, x, AUDIT_CHANGED,
                                      "has an earlier commitment that is not one", w);
        else if (!x->known)
            old_commitments_set_fault(r, x, AUDIT_REMOVED, "was redacted, and is missing", w);
        if (!x->valid || !x->known)
            return true;
    }
    return false;
}

/* Whether a row names a leaf that is not a redaction of this session; if so, describes the fault in
 * *w. order: indexes of the rows, sorted by leaf. */
static bool old_commitments_find_foreign_leaf(const struct old_commitments *r, const size_t *order,
                                              const struct trail *t, size_t last,
                                              struct audit_wrong *w)
{
    for (size_t i = r->n; i-- > 0;) {
        const struct old_commitment *x = &r->row[order[i]];
        while (last != TRAIL_NONE && t->leaf[last].n > x->leaf)
            last = t->leaf[last].before;
        if (last == TRAIL_NONE || t->leaf[last].n != x->leaf) {
            old_commitments_set_fault(
                r, x, AUDIT_CHANGED,
                "was replaced by a leaf that is not a redaction of this session", w);
            return true;
        }
    }
    return false;
}

/* Whether the changes that the leaf states (their number and digest) differ from the rows with the
 * number of the leaf. If so, describes the fault in *w. order: indexes of the rows, sorted by
 * leaf. */
static bool old_commitments_differ_from_leaf(const struct old_commitments *r, const size_t *order,
                                             const struct trail_leaf *leaf, struct audit_wrong *w)
{
    struct digest_sum sum;
    struct digest d;
    size_t low = 0, high = r->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (r->row[order[middle]].leaf < leaf->n)
            low = middle + 1;
        else
            high = middle;
    }
    int64_t n = 0;
    digest_begin(&sum);
    for (; low < r->n && r->row[order[low]].leaf == leaf->n; low++, n++)
        old_commitments_hash_row(&sum, r, &r->row[order[low]]);
    digest_end(&sum, &d);
    if (n != leaf->records)
        audit_set_fault(w, AUDIT_CHANGED, "",
                        "leaf %lld states that %lld records were redacted, and %lld were",
                        (long long)leaf->n, (long long)leaf->records, (long long)n);
    else if (!digest_eq(&d, &leaf->digest))
        audit_set_fault(w, AUDIT_CHANGED, "", "leaf %lld states the redaction of other records",
                        (long long)leaf->n);
    return n != leaf->records || !digest_eq(&d, &leaf->digest);
}

int old_commitments_compare_with_log(const struct old_commitments *r, const struct trail *t,
                                     size_t last, struct audit_wrong *w)
{
    size_t *order = calloc(r->n + 1, sizeof *order);
    if (order == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; i < r->n; i++)
        order[i] = i;
    /* the cast is needed, because sort_array() takes a context that is not const */
    struct old_commitments rows = *r;
    sort_array(order, r->n, sizeof *order, compare_old_commitments_by_leaf, &rows);
    bool wrong = old_commitments_find_foreign_leaf(r, order, t, last, w) ||
                 old_commitments_find_wrong_row(r, w);
    for (; !wrong && last != TRAIL_NONE; last = t->leaf[last].before)
        wrong = old_commitments_differ_from_leaf(r, order, &t->leaf[last], w);
    free(order);
    return 0;
}
