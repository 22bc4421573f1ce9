/* anchor.c - the beginning of a round: compares the vault with the store's copy. */
#include "ship/postgres/sender.h"

#include "base/clock.h"
#include "evidence/leaf.h"

#include <pwd.h>
#include <unistd.h>

#define WATERMARKS 1000 /* maximum number of watermarks that one call reads */

static int anchor_check_version(struct sender *s)
{
    link_begin_call(s->to);
    link_add_int_argument(s->to, SENDER_PROTOCOL);
    int st = link_call_function(s->to, "hello");
    if (st < 0)
        return st;
    if (link_count_rows(s->to) != 1)
        return sender_set_refusal_reason(s, "the answer of the store is not understood");
    int64_t version = link_get_int(s->to, 0, 0), oldest = link_get_int(s->to, 0, 1);
    if (version < SENDER_PROTOCOL)
        return sender_set_refusal_reason(
            s,
            "the schema of the store has version %lld, and this program needs %d: run "
            "`mcp-interposer ship init` of this version on it",
            (long long)version, SENDER_PROTOCOL);
    if (oldest > SENDER_PROTOCOL)
        return sender_set_refusal_reason(
            s,
            "the schema of the store has version %lld, and accepts only programs of version %lld "
            "or later; this program has version %d: install a newer mcp-interposer-ship",
            (long long)version, (long long)oldest, SENDER_PROTOCOL);
    return 0;
}

/* ---- the log ---- */

static int anchor_on_begin_leaf(void *ctx, const struct cell *cell)
{
    struct sender *s = ctx;
    struct leaf leaf;
    if (leaf_read(cell[1].text, &leaf) < 0 || leaf.type != LEAF_BEGIN || leaf.uid.n != UID_LEN)
        return 1;
    memcpy(s->vault, leaf.uid.p, UID_LEN);
    return 1;
}

struct known {
    struct chain ours;
    int64_t until; /* number of leaves whose hash chain is compared */
};

static int anchor_add_leaf_to_own_chain(void *ctx, const struct cell *cell)
{
    struct known *k = ctx;
    if (k->ours.n == k->until || cell[0].number != k->ours.n)
        return 1;
    chain_add_leaf(&k->ours, cell[1].text);
    return 0;
}

static int anchor_compare_logs(struct sender *s, const struct chain *theirs)
{
    struct known k = {.until = theirs->n};
    int64_t n, before = -1;
    int st = 0;
    /* Stop at the end of the log, or at a missing leaf. */
    while (st == 0 && k.ours.n < k.until && k.ours.n > before) {
        before = k.ours.n;
        st = sender_read_unsent_rows(s, UNSENT_LEAVES, before, 0, 0, anchor_add_leaf_to_own_chain,
                                     &k, &n);
    }
    if (st < 0)
        return st;
    s->log = *theirs;
    switch (chain_compare_to_target(k.ours.n, &k.ours.head, theirs)) {
    case CHAIN_EXTENDS:
        return 0;
    case CHAIN_ROLLED_BACK:
        return sender_set_refusal_reason(
            s,
            "the log of this vault has %lld leaves, but the store has %lld of them: the vault was "
            "rolled back or replaced by a copy. Nothing was sent",
            (long long)k.ours.n, (long long)theirs->n);
    default:
        return sender_set_refusal_reason(
            s,
            "the first %lld leaves of the log of this vault differ from those in the store: the "
            "vault was changed, or another copy of it was sent before. Nothing was sent now",
            (long long)theirs->n);
    }
}

/* What the store has of the vault's log and calls. */
struct state {
    struct chain log;
    int64_t handled, checkpoint, calls;
};

static int read_vault_state_in_store(struct sender *s, struct state *ret)
{
    char host[256] = "";
    const struct passwd *user = getpwuid(geteuid());
    (void)gethostname(host, sizeof host - 1);
    link_begin_call(s->to);
    link_add_text_argument(s->to, s->vault);
    link_add_text_argument(s->to, host);
    link_add_text_argument(s->to, user != NULL ? user->pw_name : NULL);
    int st = link_call_function(s->to, "vault_state");
    if (st < 0)
        return st;
    if (link_count_rows(s->to) != 1 || !link_get_hash(s->to, 0, 1, ret->log.head.b))
        return sender_set_refusal_reason(s, "the answer of the store is not understood");
    ret->log.n = link_get_int(s->to, 0, 0);
    ret->handled = link_get_int(s->to, 0, 2);
    ret->checkpoint = link_get_int(s->to, 0, 3);
    ret->calls = link_get_int(s->to, 0, 4);
    return 0;
}

static int anchor_compare_vault_with_store(struct sender *s)
{
    struct state state = {0};
    int64_t n;
    int st = sender_read_unsent_rows(s, UNSENT_LEAVES, 0, 0, 0, anchor_on_begin_leaf, s, &n);
    if (st == 0 && s->vault[0] == '\0')
        return sender_set_refusal_reason(s,
                                         "the log of this vault does not contain the vault's name");
    if (st == 0)
        st = read_vault_state_in_store(s, &state);
    if (st < 0)
        return st;
    s->handled = state.handled;
    s->checkpoint = state.checkpoint;
    s->calls = state.calls;
    return anchor_compare_logs(s, &state.log);
}

int sender_compare_with_store(struct sender *s, bool *ret_same)
{
    struct state now = {0};
    int st = read_vault_state_in_store(s, &now);
    *ret_same =
        now.calls == s->calls && now.log.n == s->log.n && digest_eq(&now.log.head, &s->log.head);
    return st;
}

/* ---- the watermarks ---- */

static int read_progress_from_store(struct sender *s)
{
    char after[UID_LEN + 1] = "";
    int rows = WATERMARKS;
    progress_clear_sessions(&s->sessions);
    s->newest = 0;
    while (rows == WATERMARKS) {
        link_begin_call(s->to);
        link_add_text_argument(s->to, s->vault);
        link_add_text_argument(s->to, after);
        link_add_int_argument(s->to, WATERMARKS);
        int st = link_call_function(s->to, "watermarks");
        if (st < 0)
            return st;
        rows = link_count_rows(s->to);
        for (int i = 0; i < rows; i++) {
            struct slice uid = slice_of(link_get_text(s->to, i, 0));
            struct shipped_session *x = progress_find_or_add(&s->sessions, uid);
            if (x == NULL)
                return MI_ENOMEM;
            x->known = true;
            /* assume that the session was sent completely; reading the session's row may change
             * this */
            x->complete = true;
            x->seq = link_get_int(s->to, i, 1);
            x->event = link_get_int(s->to, i, 2);
            x->row_hash = link_get_int(s->to, i, 3);
            memcpy(after, x->uid, sizeof after);
        }
    }
    return 0;
}

int sender_connect_and_check_store(struct sender *s)
{
    int st = link_connect(s->to);
    if (st == 0)
        st = anchor_check_version(s);
    if (st == 0)
        st = anchor_compare_vault_with_store(s);
    if (st == 0)
        st = read_progress_from_store(s);
    s->ready = st == 0;
    return st;
}

/* ---- new leaves ---- */

struct leaves {
    struct sender *s;
    struct chain next; /* the hash chain of the log, up to the last leaf of this batch */
};

static int anchor_on_new_leaf(void *ctx, const struct cell *cell)
{
    struct leaves *l = ctx;
    struct leaf leaf;
    if (cell[0].number != l->next.n)
        return MI_EINVAL;
    array_add_cell(&l->s->array[0], &cell[1]);
    chain_add_leaf(&l->next, cell[1].text);
    struct shipped_session *x =
        leaf_read(cell[1].text, &leaf) == 0 ? progress_find(&l->s->sessions, leaf.uid) : NULL;
    if (x != NULL)
        x->complete = false; /* the new leaf shows that the session has changed */
    return 0;
}

static int put_leaves(struct sender *s, int64_t *ret_n)
{
    static const enum array_type types[] = {ARRAY_TEXT};
    struct leaves l = {s, s->log};
    struct digest head;
    sender_begin_arrays(s, types, 1);
    int st =
        sender_read_unsent_rows(s, UNSENT_LEAVES, s->log.n, 0, 0, anchor_on_new_leaf, &l, ret_n);
    if (st == MI_EINVAL)
        return sender_set_refusal_reason(s, "a leaf is missing in the log of this vault");
    if (st < 0 || *ret_n == 0)
        return st;
    sender_begin_call(s);
    sender_add_array_arguments(s, 1);
    st = sender_call_sql_function(s, "put_leaves");
    if (st < 0)
        return st;
    if (!link_get_hash(s->to, 0, 1, head.b) || !digest_eq(&head, &l.next.head))
        return sender_set_refusal_reason(s, "the store has a different hash of this vault's log");
    s->log = l.next;
    s->sent += *ret_n;
    return 0;
}

struct notes {
    struct sender *s;
    int64_t last;
};

static int anchor_on_checkpoint(void *ctx, const struct cell *cell)
{
    struct notes *n = ctx;
    n->last = cell[0].number;
    for (int i = 0; i < 3; i++)
        array_add_cell(&n->s->array[i], &cell[i]);
    return 0;
}

static int put_checkpoints(struct sender *s, int64_t *ret_n)
{
    static const enum array_type types[] = {ARRAY_INT, ARRAY_INT, ARRAY_TEXT};
    struct notes notes = {s, s->checkpoint};
    sender_begin_arrays(s, types, MI_COUNT(types));
    int st = sender_read_unsent_rows(s, UNSENT_CHECKPOINTS, s->checkpoint, 0, 0,
                                     anchor_on_checkpoint, &notes, ret_n);
    if (st < 0 || *ret_n == 0)
        return st;
    sender_begin_call(s);
    sender_add_array_arguments(s, MI_COUNT(types));
    st = sender_call_sql_function(s, "put_checkpoints");
    if (st == 0)
        s->checkpoint = notes.last;
    s->sent += st == 0 ? *ret_n : 0;
    return st;
}

int sender_send_leaves(struct sender *s)
{
    int64_t n = 1;
    int st = 0;
    while (st == 0 && n > 0)
        st = put_leaves(s, &n);
    n = 1;
    while (st == 0 && n > 0)
        st = put_checkpoints(s, &n);
    return st;
}
