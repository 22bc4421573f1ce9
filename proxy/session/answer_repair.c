#include "proxy/session/answer_repair.h"

#include "base/grow.h"
#include "base/log.h"
#include "proxy/session/answer.h"
#include "wire/json/text.h"
#include "wire/mcp/method.h"

#include <stdlib.h>

/* Text that replaces other text. */
struct change {
    struct slice from, to;
};

struct changes {
    struct change *list; /* owned; in the order of the text */
    size_t n, cap;
};

static enum row_direction other(enum row_direction dir)
{
    return dir == ROW_C2S ? ROW_S2C : ROW_C2S;
}

struct pending *answer_request(struct traffic *t, enum row_direction dir, const struct rpc *answer,
                               bool *ret_type_changed)
{
    const struct pending_list *open = &t->open[ROW_C2S].open;
    *ret_type_changed = false;
    struct pending *p = pending_find(&t->open[other(dir)], answer->id, ret_type_changed);
    if (dir == ROW_C2S || p != NULL || answer->kind != RPC_ERROR || answer->id.type != JSON_NULL ||
        t->validate == VALIDATE_NONE)
        return p;
    bool only = open->count == 1 && t->odd.own_pending == 0 && t->odd.notified_seq == 0;
    return only ? open->oldest : NULL;
}

/* ---- flaws ---------------------------------------------------------------------------------- */

static bool is_empty_result(const struct method *k)
{
    return k->is_request && k->result[0].types == 0;
}

/* What is wrong with an answer of the server to p. FIND_COUNT: nothing. */
static enum finding flaw_of(const struct rpc *m, const struct pending *p)
{
    if (m->id.type == JSON_NULL)
        return FIND_NULL_ID;
    if (m->findings & FINDING(FIND_NULL_BESIDE_ANSWER))
        return FIND_NULL_BESIDE_ANSWER;
    if (m->kind == RPC_RESULT && m->result.type == JSON_NULL && method_find(p->method) != NULL)
        return FIND_NULL_RESULT;
    return FIND_COUNT;
}

/* The member with this value, and a comma beside it. The object has another member. */
static struct slice member_of(struct slice text, struct slice value)
{
    const char *from = value.p, *to = value.p + value.n;
    while (*--from != ':')
        continue;
    while (*--from != '"')
        continue;
    while (*--from !=
           '"') /* the name is `result` or `error`, perhaps with escapes: it has no quotes */
        continue;
    const char *comma = from;
    while (comma > text.p && strchr(" \t\r\n", comma[-1]) != NULL)
        comma--;
    if (comma > text.p && comma[-1] == ',')
        return (struct slice){comma - 1, (size_t)(to - comma) + 1};
    while (*to++ != ',')
        continue;
    return (struct slice){from, (size_t)(to - from)};
}

/* ---- changes -------------------------------------------------------------------------------- */

MI_MUST static int add_change(struct changes *c, struct slice from, struct slice to)
{
    if (!GROW(c->list, c->n, c->cap))
        return MI_ENOMEM;
    size_t i = c->n++;
    for (; i > 0 && c->list[i - 1].from.p > from.p; i--)
        c->list[i] = c->list[i - 1];
    c->list[i] = (struct change){from, to};
    return 0;
}

static int repair_flaw(const struct message *x, const struct rpc *m, const struct pending *p,
                       struct changes *c, struct repairs *r)
{
    enum finding flaw = flaw_of(m, p);
    struct slice from = m->id.text, to = p->id;
    if (flaw == FIND_COUNT)
        return 0;
    if (flaw == FIND_NULL_BESIDE_ANSWER) {
        from = member_of(x->text, m->kind == RPC_RESULT ? m->error.text : m->result.text);
        to = (struct slice){"", 0};
    } else if (flaw == FIND_NULL_RESULT) {
        const struct method *k = method_find(p->method);
        if (k == NULL || !is_empty_result(k))
            return 0;
        from = m->result.text;
        to = slice_of("{}");
    }
    repairs_note(r, flaw, (size_t)(from.p - x->text.p), from);
    return add_change(c, from, to);
}

/* An answer, which may have several flaws. */
MI_MUST static int look_at(struct traffic *t, const struct message *x, const struct rpc *answer,
                           struct changes *c, struct repairs *r)
{
    struct rpc m = *answer;
    bool type_changed;
    int st = 0;
    if (m.kind != RPC_RESULT && m.kind != RPC_ERROR)
        return 0;
    struct pending *p = answer_request(t, x->dir, &m, &type_changed);
    if (type_changed)
        st = add_change(c, m.id.text, p->id);
    if (x->dir == ROW_C2S || p == NULL || p->cancelled)
        return st;
    if (st == 0 && m.id.type == JSON_NULL) {
        st = repair_flaw(x, &m, p, c, r);
        m.id.type = JSON_NUMBER;
    }
    if (st == 0 && (m.findings & FINDING(FIND_NULL_BESIDE_ANSWER)) != 0) {
        st = repair_flaw(x, &m, p, c, r);
        m.findings &= ~FINDING(FIND_NULL_BESIDE_ANSWER);
    }
    return st == 0 ? repair_flaw(x, &m, p, c, r) : st;
}

MI_MUST static int look_at_members(struct traffic *t, const struct message *batch,
                                   struct changes *c)
{
    struct json_walk w = json_walk_begin((struct json_value){JSON_ARRAY, batch->m.text});
    struct slice key;
    struct json_value v;
    struct rpc m;
    struct repairs not_noted = {0}; /* they are noted with each member */
    int st = 0;
    while (st == 0 && json_walk_next(&w, &key, &v))
        if (rpc_read(v.text, &m) == 0)
            st = look_at(t, batch, &m, c, &not_noted);
    return st;
}

static char *put(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

MI_MUST static int apply(struct message *x, const struct changes *c)
{
    size_t size = x->text.n;
    for (size_t i = 0; i < c->n; i++)
        size = size - c->list[i].from.n + c->list[i].to.n;
    struct chunk *copy = chunk_new(size + 1);
    if (copy == NULL)
        return MI_ENOMEM;
    char *to = copy->data;
    const char *at = x->text.p;
    for (size_t i = 0; i < c->n; i++) {
        to = put(to, at, (size_t)(c->list[i].from.p - at));
        to = put(to, c->list[i].to.p, c->list[i].to.n);
        at = c->list[i].from.p + c->list[i].from.n;
    }
    put(to, at, (size_t)(x->text.p + x->text.n - at));
    return message_replace(x, copy, size);
}

static bool repair_all(struct traffic *t, struct message *x, struct changes *c, int st)
{
    if (st == 0 && c->n > 0)
        st = apply(x, c);
    free(c->list);
    if (st == 0)
        return true;
    log_error("out of memory, closing the connection: server=%s", t->server);
    outbox_break(&t->out[x->dir]);
    return false;
}

/* ---- interface ------------------------------------------------------------------------------ */

/* With --validate protocol whatever would be repaired; else a null result that cannot be. */
static bool must_refuse(const struct traffic *t, enum finding flaw, const struct pending *p)
{
    if (flaw == FIND_COUNT)
        return false;
    const struct method *k = method_find(p->method);
    return t->validate == VALIDATE_PROTOCOL ||
           (flaw == FIND_NULL_RESULT && k != NULL && !is_empty_result(k));
}

bool answer_repair(struct traffic *t, struct message *x, struct pending *p)
{
    struct changes c = {0};
    if (t->validate == VALIDATE_NONE)
        return true;
    enum finding flaw =
        x->dir == ROW_S2C && p != NULL && !p->cancelled ? flaw_of(&x->m, p) : FIND_COUNT;
    if (flaw == FIND_NULL_RESULT) {
        x->m.findings |= FINDING(FIND_NULL_RESULT);
        x->m.findings &= ~FINDING(FIND_RESULT_NOT_OBJECT);
    }
    if (x->batch_seq == 0 && must_refuse(t, flaw, p)) {
        struct buf why = {0};
        buf_printf(&why, "the server's answer is invalid: %s", finding_meaning(flaw));
        answer_reject_answer(t, x, p, buf_str(&why), "malformed-answer");
        buf_close(&why);
        return false;
    }
    int st = look_at(t, x, &x->m, &c, &t->odd.repairs);
    return repair_all(t, x, &c, st);
}

bool answer_repair_batch(struct traffic *t, struct message *batch)
{
    struct changes c = {0};
    if (t->validate == VALIDATE_NONE)
        return true;
    int st = look_at_members(t, batch, &c);
    return repair_all(t, batch, &c, st);
}
