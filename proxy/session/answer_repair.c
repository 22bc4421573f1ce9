#include "proxy/session/answer_repair.h"

#include "base/log.h"
#include "proxy/session/answer.h"
#include "wire/json/text.h"
#include "wire/mcp/answer_flaw.h"

struct pending *find_request_of_answer(struct traffic *t, enum row_direction dir,
                                       const struct rpc *answer, bool *ret_type_changed)
{
    const struct pending_list *open = &t->open[ROW_C2S].open;
    *ret_type_changed = false;
    struct pending *p =
        pending_find(&t->open[dir == ROW_C2S ? ROW_S2C : ROW_C2S], answer->id, ret_type_changed);
    if (dir == ROW_C2S || p != NULL || answer->kind != RPC_ERROR || answer->id.type != JSON_NULL ||
        t->validate == VALIDATE_NONE)
        return p;
    bool only =
        open->count == 1 && t->invalid_lines.own_pending == 0 && t->invalid_lines.notified_seq == 0;
    return only ? open->oldest : NULL;
}

/* ---- one answer ----------------------------------------------------------------------------- */

/* With --validate protocol an answer with any flaw is refused, otherwise only an answer with a flaw
 * that cannot be repaired. flaw: FIND_COUNT if there is none. */
static bool must_refuse_answer(const struct traffic *t, enum finding flaw, const struct pending *p)
{
    return flaw != FIND_COUNT &&
           (t->validate == VALIDATE_PROTOCOL || answer_flaw_is_unrepairable(flaw, p->method));
}

MI_MUST static int repair_answer(struct traffic *t, const struct message *x, const struct rpc *m,
                                 struct changes *c, struct repairs *r)
{
    bool type_changed;
    if (m->kind != RPC_RESULT && m->kind != RPC_ERROR)
        return 0;
    struct pending *p = find_request_of_answer(t, x->dir, m, &type_changed);
    if (x->dir == ROW_C2S || p == NULL || p->cancelled)
        return type_changed ? changes_add(c, m->id.text, p->id) : 0;
    struct answered q = {p->id, p->method};
    return answer_flaw_add_repairs(x->text, m, &q, type_changed, c, r);
}

/* Applies the changes to the text of x, unless st is an error. Returns false if out of memory. */
static bool apply_repairs(struct traffic *t, struct message *x, struct changes *c, int st)
{
    if (st == 0 && c->n > 0) {
        size_t size = changes_compute_changed_size(c, x->text);
        struct chunk *copy = chunk_new(size + 1);
        if (copy != NULL)
            changes_apply_to_text(c, x->text, copy->data);
        st = copy != NULL ? message_replace_text(x, copy, size) : MI_ENOMEM;
    }
    changes_close(c);
    if (st == 0)
        return true;
    log_error("out of memory, closing the connection: server=%s", t->server);
    outbox_discard_after_error(&t->out[x->dir]);
    return false;
}

bool answer_repair_or_reject(struct traffic *t, struct message *x, struct pending *p)
{
    struct changes c = {0};
    if (t->validate == VALIDATE_NONE)
        return true;
    enum finding flaw = x->dir == ROW_S2C && p != NULL && !p->cancelled
                            ? answer_flaw_find(&x->m, p->method)
                            : FIND_COUNT;
    if (flaw == FIND_NULL_RESULT) {
        x->m.findings |= FINDING(FIND_NULL_RESULT);
        x->m.findings &= ~FINDING(FIND_RESULT_NOT_OBJECT);
    }
    if (must_refuse_answer(t, flaw, p)) {
        struct buf why = {0};
        buf_printf(&why, "the server's answer is invalid: %s", finding_meaning(flaw));
        answer_replace_rejected_answer(t, x, p, buf_str(&why), "malformed-answer");
        buf_close(&why);
        return false;
    }
    int st = repair_answer(t, x, &x->m, &c, &t->invalid_lines.repairs);
    return apply_repairs(t, x, &c, st);
}

/* ---- batches -------------------------------------------------------------------------------- */

/* Returns true if a member of the server's batch is an answer that would be refused if it stood
 * alone on a line. */
static bool batch_member_is_refused(struct traffic *t, const struct message *member)
{
    bool type_changed;
    if (member->dir == ROW_C2S)
        return false;
    if (member->m.kind == RPC_INVALID)
        return answer_is_malformed(t, member);
    if (member->m.kind != RPC_RESULT && member->m.kind != RPC_ERROR)
        return false;
    struct pending *p = find_request_of_answer(t, ROW_S2C, &member->m, &type_changed);
    return p != NULL && !p->cancelled &&
           must_refuse_answer(t, answer_flaw_find(&member->m, p->method), p);
}

static struct slice slice_between_pointers(const char *from, const char *to)
{
    return (struct slice){from, (size_t)(to - from)};
}

/* Repairs the members of a batch and removes the refused ones. A refused member is removed together
 * with the comma before it. If no kept member precedes it, the comma after it is removed
 * instead. */
MI_MUST static int repair_members(struct traffic *t, const struct message *batch, struct changes *c,
                                  size_t *ret_kept)
{
    struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, batch->m.text});
    struct slice key, nothing = {"", 0};
    struct json_value v;
    /* These notes of repairs are dropped: each repair is noted later, when its member of the batch
     * is handled. */
    struct repairs unused = {0};
    /* start of the first refused member, if no kept member precedes it; NULL: none */
    const char *refused = NULL;
    const char *before = NULL; /* end of the member before the current one */
    int st = 0;
    *ret_kept = 0;
    while (st == 0 && json_walk_next(&w, &key, &v)) {
        const char *end = v.text.p + v.text.n;
        struct message x = {.dir = batch->dir, .text = v.text};
        bool json = rpc_read(v.text, &x.m) == 0;
        if (json && batch_member_is_refused(t, &x)) {
            if (*ret_kept > 0)
                st = changes_add(c, slice_between_pointers(before, end), nothing);
            else if (refused == NULL)
                refused = v.text.p;
        } else {
            if ((*ret_kept)++ == 0 && refused != NULL)
                st = changes_add(c, slice_between_pointers(refused, v.text.p), nothing);
            if (st == 0 && json)
                st = repair_answer(t, batch, &x.m, c, &unused);
        }
        before = end;
    }
    return st;
}

bool answer_repair_batch(struct traffic *t, struct message *batch, size_t *ret_kept)
{
    struct changes c = {0};
    *ret_kept = 1;
    if (t->validate == VALIDATE_NONE)
        return true;
    int st = repair_members(t, batch, &c, ret_kept);
    return apply_repairs(t, batch, &c, st);
}
