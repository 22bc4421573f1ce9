#include "cli/ui/model/row_cache.h"

#include "cli/frame/preview.h"

#include <stdlib.h>

#define TEXTS 6
/* Number of messages that are read from a store at once: more than one, because the screen also
 * shows the neighbours of a row. */
#define STORE_BLOCK 64

void row_cache_close(struct row_cache *r)
{
    for (size_t i = 0; r->row != NULL && i < ROW_CACHE_MAX; i++)
        buf_close(&r->row[i].text);
    free(r->row);
    *r = (struct row_cache){0};
}

int row_cache_set_session(struct row_cache *r, int64_t session_id)
{
    if (r->row == NULL)
        r->row = calloc(ROW_CACHE_MAX, sizeof *r->row);
    if (r->row == NULL)
        return MI_ENOMEM;
    for (size_t i = 0; r->session_id != session_id && i < ROW_CACHE_MAX; i++)
        r->row[i].m.seq = 0;
    r->session_id = session_id;
    return 0;
}

/* A message that is copied to the cache. */
struct copying {
    struct row_copy *to;
    int64_t seq;
    int status; /* result of the copy; MI_ENOENT: the message was not found yet */
};

static bool row_cache_on_message(void *ctx, const struct query_message *m)
{
    struct copying *c = ctx;
    struct row_copy *to = c->to;
    struct slice *text[TEXTS];
    size_t at[TEXTS + 1];
    if (m->seq != c->seq)
        return true;
    to->m = *m;
    to->m.body = (struct slice){0};
    struct slice *const texts[TEXTS] = {&to->m.rpc_id,         &to->m.method,
                                        &to->m.target,         &to->m.finding,
                                        &to->m.request_method, &to->m.request_target};
    memcpy(text, texts, sizeof text);
    buf_clear(&to->text);
    for (size_t i = 0; i < TEXTS; i++) {
        at[i] = to->text.n;
        buf_slice_add(&to->text, *text[i]);
    }
    at[TEXTS] = to->text.n;
    if (m->body.p != NULL)
        preview_add_message(&to->text, m, m->body, ROW_CACHE_PREVIEW);
    if (to->text.failed) {
        c->status = MI_ENOMEM;
        to->m.seq = 0;
        return false;
    }
    for (size_t i = 0; i < TEXTS; i++)
        if (text[i]->p != NULL)
            *text[i] = (struct slice){buf_slice(&to->text).p + at[i], text[i]->n};
    to->preview = (struct slice){buf_slice(&to->text).p + at[TEXTS], to->text.n - at[TEXTS]};
    c->status = 0;
    return false;
}

int row_cache_get_row(struct row_cache *r, struct query *q, int64_t seq,
                      const struct row_copy **ret)
{
    struct copying c = {&r->row[(uint64_t)seq % ROW_CACHE_MAX], seq, MI_ENOENT};
    int64_t more = query_is_store(q) ? STORE_BLOCK : 1, from = seq - seq % more;
    if (c.to->m.seq != seq) {
        c.to->m.seq = 0;
        int st = query_message_rows(q, r->session_id, from, from + more - 1, QUERY_FORWARD, true,
                                    row_cache_on_message, &c);
        st = st < 0 ? st : c.status;
        if (st < 0)
            return st;
    }
    *ret = c.to;
    return 0;
}
