#include "vault/audit/signed.h"

#include "base/grow.h"
#include "vault/store/connect.h"

#include <stdio.h>
#include <stdlib.h>

void signed_notes_close(struct signed_notes *s)
{
    free(s->note);
    buf_close(&s->text);
    *s = (struct signed_notes){0};
}

static bool signed_notes_read_checkpoint(struct slice text, struct note *note, struct checkpoint *c)
{
    return note_read(text, note) == 0 && checkpoint_read(note->text, c) == 0;
}

static int signed_notes_add(struct signed_notes *s, struct trail *t, struct slice text,
                            int64_t size)
{
    struct note note;
    struct checkpoint c;
    if (!GROW(s->note, s->n, s->cap))
        return MI_ENOMEM;
    struct signed_note *x = &s->note[s->n];
    *x = (struct signed_note){.at = s->text.n, .n = text.n, .size = size};
    x->readable = signed_notes_read_checkpoint(text, &note, &c);
    buf_slice_add(&s->text, text);
    if (s->text.failed)
        return MI_ENOMEM;
    s->n++;
    if (!x->readable)
        return 0;
    x->leaves = c.size;
    x->root = c.root;
    return trail_request_tree_root(t, c.size);
}

int signed_notes_add_outside_note(struct signed_notes *s, struct trail *t, struct slice text,
                                  int64_t from)
{
    struct note note;
    struct checkpoint c;
    if (!signed_notes_read_checkpoint(text, &note, &c))
        return MI_EINVAL;
    return signed_notes_add(s, t, text, from);
}

int signed_notes_load(struct signed_notes *s, struct trail *t, struct snapshot *source)
{
    sqlite3_stmt *q;
    int rc = SQLITE_DONE, st = snapshot_begin_query(source, SNAPSHOT_CHECKPOINTS, 0, 0, &q);
    if (st < 0)
        return st;
    while (st == 0 && (rc = sqlite3_step(q)) == SQLITE_ROW)
        st = signed_notes_add(s, t, connect_column(q, 1), sqlite3_column_int64(q, 0));
    int done = db_finish_statement(&source->d, q, rc);
    return st < 0 ? st : done;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* Compares a note with the log. Returns the kind of the fault, or AUDIT_NOTHING. */
static enum audit_kind signed_notes_find_fault(const struct signed_notes *s,
                                               const struct signed_note *x, const struct trail *t,
                                               const char **ret_text)
{
    struct note note;
    struct checkpoint c;
    bool own = x->size >= 0;
    if (!x->readable || !signed_notes_read_checkpoint(
                            (struct slice){buf_slice(&s->text).p + x->at, x->n}, &note, &c)) {
        *ret_text = "the text is not a signed checkpoint";
        return AUDIT_CHANGED;
    }
    if (own && (uint64_t)x->size != c.size) {
        *ret_text = "the checkpoint's row is for another number of leaves";
        return AUDIT_CHANGED;
    }
    if (!slice_is(c.origin, t->origin)) {
        *ret_text = "the checkpoint is of another vault";
        return own ? AUDIT_CHANGED : AUDIT_FORKED;
    }
    const struct digest *root = trail_find_tree_root(t, c.size);
    if (root == NULL) {
        *ret_text = own ? "the log has fewer leaves than were signed"
                        : "the vault has fewer leaves than were signed: it was rolled back or cut";
        return own ? AUDIT_REMOVED : AUDIT_ROLLED_BACK;
    }
    if (!own && !digest_eq(root, &c.root)) {
        *ret_text = "the log is not a continuation of what was signed: it has another history";
        return AUDIT_FORKED;
    }
    const struct public_key *key = trail_get_key_at_log_size(t, c.size);
    if (key == NULL || note_check_signature(&note, key) != 0) {
        *ret_text = "the checkpoint is not signed with the key of that time";
        return AUDIT_SIGNATURE;
    }
    *ret_text = "the leaves before it are not those that were signed";
    return digest_eq(root, &c.root) ? AUDIT_NOTHING : AUDIT_CHANGED;
}

void signed_notes_check(const struct signed_notes *s, const struct trail *t, uint64_t *ret_anchored,
                        uint64_t *ret_signed)
{
    *ret_anchored = *ret_signed = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct signed_note *x = &s->note[i];
        const char *text = "";
        enum audit_kind kind = signed_notes_find_fault(s, x, t, &text);
        struct audit_wrong w;
        char record[40];
        if (kind == AUDIT_NOTHING) {
            *ret_signed = x->leaves > *ret_signed ? x->leaves : *ret_signed;
            if (x->size == SIGNED_ANCHOR && x->leaves > *ret_anchored)
                *ret_anchored = x->leaves;
            continue;
        }
        snprintf(record, sizeof record,
                 x->size >= 0             ? "checkpoint %lld"
                 : x->size == SIGNED_KEPT ? "kept note of %lld leaves"
                                          : "note of %lld leaves",
                 x->size >= 0 ? (long long)x->size : (long long)x->leaves);
        audit_set_fault(&w, kind, record, "%s", text);
        t->wrong(t->ctx, &w);
    }
}
