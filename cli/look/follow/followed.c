#include "cli/look/follow/followed.h"

#include <stdio.h>
#include <stdlib.h>

static void followed_free_session(struct followed_session *s)
{
    buf_close(&s->text);
    free(s);
}

void followed_close(struct followed *l)
{
    for (size_t i = 0; i < l->n; i++)
        followed_free_session(l->session[i]);
    l->n = l->open_n = 0;
}

/* Copies the row of a session. The texts of the row are copied to one block, which must not move
 * while slices point to it. */
static bool followed_copy_row(struct followed_session *to, const struct query_session *s)
{
    if (!buf_reserve(&to->text, fields_text_bytes(&fields_of_session, s) + 1))
        return false;
    to->s = *s;
    fields_copy_texts(&fields_of_session, &to->s, to->text.p);
    return true;
}

int followed_add_session(struct followed *l, const struct query_session *s,
                         struct followed_session **ret)
{
    if (ret != NULL)
        *ret = NULL;
    l->left_out |= l->n == FOLLOWED_MAX;
    if (l->n == FOLLOWED_MAX && s->id < l->session[0]->s.id)
        return 0;
    struct followed_session *x = calloc(1, sizeof *x);
    if (x == NULL || !followed_copy_row(x, s)) {
        free(x);
        return MI_ENOMEM;
    }
    if (l->n == FOLLOWED_MAX)
        followed_remove_session(l, 0);
    size_t i = l->n++;
    for (; i > 0 && l->session[i - 1]->s.id > s->id; i--)
        l->session[i] = l->session[i - 1];
    l->session[i] = x;
    if (ret != NULL)
        *ret = x;
    return 0;
}

int followed_update_session(struct followed_session *s, const struct query_session *now)
{
    buf_close(&s->text);
    return followed_copy_row(s, now) ? 0 : MI_ENOMEM;
}

void followed_remove_session(struct followed *l, size_t i)
{
    int64_t id = l->session[i]->s.id;
    size_t n = 0;
    for (size_t k = 0; k < l->open_n; k++)
        if (l->open[k].session_id != id)
            l->open[n++] = l->open[k];
    l->open_n = n;
    followed_free_session(l->session[i]);
    l->n--;
    memmove(&l->session[i], &l->session[i + 1], (l->n - i) * sizeof l->session[0]);
}

void followed_add_open_call(struct followed *l, const struct query_session *s, int64_t seq,
                            int64_t t_us, struct slice method, struct slice target)
{
    if (l->open_n == FOLLOWED_OPEN_MAX)
        return;
    struct slice what = target.p != NULL ? target : method;
    struct followed_call *c = &l->open[l->open_n++];
    *c = (struct followed_call){.session_id = s->id, .seq = seq, .at_us = s->started_at_us + t_us};
    snprintf(c->what, sizeof c->what, "%.*s %.*s", (int)size_min(s->name.n, 40), s->name.p,
             (int)size_min(what.n, FOLLOWED_WHAT_MAX), what.p != NULL ? what.p : "");
}

void followed_remove_open_call(struct followed *l, int64_t session_id, int64_t seq)
{
    for (size_t i = 0; i < l->open_n; i++) {
        if (l->open[i].session_id != session_id || l->open[i].seq != seq)
            continue;
        l->open_n--;
        memmove(&l->open[i], &l->open[i + 1], (l->open_n - i) * sizeof l->open[0]);
        return;
    }
}
