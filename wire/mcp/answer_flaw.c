#include "wire/mcp/answer_flaw.h"

#include "base/grow.h"
#include "wire/mcp/method.h"

#include <stdlib.h>

/* ---- flaws ---------------------------------------------------------------------------------- */

enum finding answer_flaw_find(const struct rpc *answer, struct slice method)
{
    if (answer->id.type == JSON_NULL)
        return FIND_NULL_ID;
    if (answer->findings & FINDING(FIND_NULL_BESIDE_ANSWER))
        return FIND_NULL_BESIDE_ANSWER;
    if (answer->kind == RPC_RESULT && answer->result.type == JSON_NULL &&
        method_find(method) != NULL)
        return FIND_NULL_RESULT;
    return FIND_COUNT;
}

bool answer_flaw_is_unrepairable(enum finding flaw, struct slice method)
{
    const struct method *k = method_find(method);
    bool has_empty_result =
        k != NULL && k->is_request && k->result[0].types == 0 && (k->flags & METHOD_PASSES_ON) == 0;
    return flaw == FIND_NULL_RESULT && !has_empty_result;
}

/* ---- repairs -------------------------------------------------------------------------------- */

/* Returns the text of the member that has this value, together with one adjacent comma. The object
 * must have another member. */
static struct slice find_member_text_of_value(struct slice text, struct slice value)
{
    const char *from = value.p, *to = value.p + value.n;
    while (*--from != ':')
        continue;
    while (*--from != '"')
        continue;
    /* the key `result` or `error` contains no quotes, even if it has escapes */
    while (*--from != '"')
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

static int repair_one_answer(struct slice text, const struct rpc *m, const struct answered *q,
                             struct changes *c, struct repairs *r)
{
    enum finding flaw = answer_flaw_find(m, q->method);
    struct slice from = m->id.text, to = q->id;
    if (flaw == FIND_COUNT || answer_flaw_is_unrepairable(flaw, q->method))
        return 0;
    if (flaw == FIND_NULL_BESIDE_ANSWER) {
        from =
            find_member_text_of_value(text, m->kind == RPC_RESULT ? m->error.text : m->result.text);
        to = (struct slice){"", 0};
    } else if (flaw == FIND_NULL_RESULT) {
        from = m->result.text;
        to = slice_of("{}");
    }
    repairs_add_repair(r, flaw, (size_t)(from.p - text.p), from);
    return changes_add(c, from, to);
}

int answer_flaw_add_repairs(struct slice text, const struct rpc *answer, const struct answered *q,
                            bool id_differs, struct changes *c, struct repairs *r)
{
    struct rpc m = *answer; /* a copy of the answer, in which repaired flaws are removed */
    int st = id_differs ? changes_add(c, m.id.text, q->id) : 0;
    if (st == 0 && m.id.type == JSON_NULL) {
        st = repair_one_answer(text, &m, q, c, r);
        m.id.type = JSON_NUMBER;
    }
    if (st == 0 && (m.findings & FINDING(FIND_NULL_BESIDE_ANSWER)) != 0) {
        st = repair_one_answer(text, &m, q, c, r);
        m.findings &= ~FINDING(FIND_NULL_BESIDE_ANSWER);
    }
    return st == 0 ? repair_one_answer(text, &m, q, c, r) : st;
}

int answer_flaw_write_repaired_answer(const struct rpc *answer, const struct answered *q,
                                      bool id_differs, struct buf *out, struct repairs *r)
{
    struct changes c = {0};
    buf_clear(out);
    int st = answer_flaw_add_repairs(answer->text, answer, q, id_differs, &c, r);
    size_t n = changes_compute_changed_size(&c, answer->text);
    if (st == 0 && c.n > 0 && !buf_reserve(out, n))
        st = MI_ENOMEM;
    if (st == 0 && c.n > 0) {
        changes_apply_to_text(&c, answer->text, out->p);
        out->n = n;
    }
    changes_close(&c);
    return st;
}

/* ---- changes -------------------------------------------------------------------------------- */

int changes_add(struct changes *c, struct slice from, struct slice to)
{
    if (!GROW(c->list, c->n, c->cap))
        return MI_ENOMEM;
    size_t i = c->n++;
    for (; i > 0 && c->list[i - 1].from.p > from.p; i--)
        c->list[i] = c->list[i - 1];
    c->list[i] = (struct change){from, to};
    return 0;
}

size_t changes_compute_changed_size(const struct changes *c, struct slice text)
{
    size_t size = text.n;
    for (size_t i = 0; i < c->n; i++)
        size = size - c->list[i].from.n + c->list[i].to.n;
    return size;
}

static char *append_bytes(char *to, const char *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

void changes_apply_to_text(const struct changes *c, struct slice text, char *to)
{
    const char *at = text.p;
    for (size_t i = 0; i < c->n; i++) {
        to = append_bytes(to, at, (size_t)(c->list[i].from.p - at));
        to = append_bytes(to, c->list[i].to.p, c->list[i].to.n);
        at = c->list[i].from.p + c->list[i].from.n;
    }
    append_bytes(to, at, (size_t)(text.p + text.n - at));
}

void changes_close(struct changes *c)
{
    free(c->list);
    *c = (struct changes){0};
}
