#include "vault/query/operation_list.h"

#include "base/grow.h"
#include "base/search.h"
#include "vault/query/call_rows.h"

#include <stdlib.h>

static bool operation_list_on_request(void *ctx, const struct query_call *c)
{
    struct operation_list *l = ctx;
    if (!GROW(l->hop, l->hop_n, l->hop_cap)) {
        l->no_memory = true;
        return false;
    }
    l->hop[l->hop_n++] = (struct listed_hop){c->request_seq, c->operation_seq};
    return true;
}

static bool operation_list_on_operation(void *ctx, const struct query_call *c)
{
    struct operation_list *l = ctx;
    if (!GROW(l->operation, l->n, l->cap) || !GROW(l->end, l->end_n, l->end_cap)) {
        l->no_memory = true;
        return false;
    }
    l->operation[l->n++] = (struct listed_operation){
        .seq = c->request_seq,
        .direction = c->direction,
        .requests = c->requests,
        .asked = c->asked,
        .status = c->status,
        .has_error_code = c->has_error_code,
        .error_code = c->error_code,
        .t_us = c->t_us,
        .closing_seq = c->closing_seq,
        .duration_us = c->duration_us,
        .server_us = c->server_us,
        .person_us = c->person_us,
    };
    if (c->closing_seq != 0)
        l->end[l->end_n++] = (struct listed_hop){c->closing_seq, c->request_seq};
    return true;
}

static int compare_continuations_by_seq(const void *a, const void *b)
{
    const struct listed_hop *x = a, *y = b;
    return (x->seq > y->seq) - (x->seq < y->seq);
}

static int compare_continuations_by_operation(const void *a, const void *b)
{
    const struct listed_hop *x = a, *y = b;
    if (x->operation_seq != y->operation_seq)
        return x->operation_seq < y->operation_seq ? -1 : 1;
    return compare_continuations_by_seq(a, b);
}

int operation_list_read(struct operation_list *l, struct query *q, int64_t session_id)
{
    struct filter f = FILTER_ANY;
    struct call_question x = {.filter = &f, .side = CALLS_OF_ALL, .several = true};
    bool has = false;
    int64_t last_seq = 0, t_us;
    f.session_id = session_id;
    if (query_is_store(q))
        return 0;
    int st = query_last_message(q, session_id, &last_seq, &t_us);
    x.from = query_call_id(session_id, l->last_seq + 1);
    x.up_to = query_call_id(session_id, last_seq);
    if (st == 0 && last_seq > l->last_seq)
        st = query_calls_of(q, &x, operation_list_on_request, l);
    if (st == 0)
        st = call_rows_check_operations(q, &has);
    x.operations = true;
    x.from = x.up_to = 0;
    l->n = l->end_n = 0; /* read all operations again, because any of them may have changed */
    if (st == 0 && has)
        st = query_calls_of(q, &x, operation_list_on_operation, l);
    l->last_seq = st == 0 ? last_seq : l->last_seq;
    free(l->of);
    l->of = l->hop_n > 0 ? calloc(l->hop_n, sizeof *l->of) : NULL;
    l->no_memory |= l->hop_n > 0 && l->of == NULL;
    if (l->of != NULL) {
        memcpy(l->of, l->hop, l->hop_n * sizeof *l->of);
        qsort(l->of, l->hop_n, sizeof *l->of, compare_continuations_by_operation);
    }
    if (l->end_n > 1)
        qsort(l->end, l->end_n, sizeof *l->end, compare_continuations_by_seq);
    return st == 0 && l->no_memory ? MI_ENOMEM : st;
}

void operation_list_close(struct operation_list *l)
{
    free(l->operation);
    free(l->hop);
    free(l->of);
    free(l->end);
    *l = (struct operation_list){0};
}

const struct listed_operation *operation_list_find(const struct operation_list *l, int64_t seq)
{
    size_t at = SEARCH_INT64(l->operation, l->n, seq, seq);
    return at < l->n && l->operation[at].seq == seq ? &l->operation[at] : NULL;
}

static int64_t find_operation_of_seq(const struct listed_hop *list, size_t n, int64_t seq)
{
    size_t at = SEARCH_INT64(list, n, seq, seq);
    return at < n && list[at].seq == seq ? list[at].operation_seq : 0;
}

int64_t operation_list_find_continued_seq(const struct operation_list *l, int64_t seq)
{
    return find_operation_of_seq(l->hop, l->hop_n, seq);
}

const struct listed_hop *operation_list_get_continuations(const struct operation_list *l,
                                                          int64_t first, size_t *ret_n)
{
    size_t from = SEARCH_INT64(l->of, l->hop_n, operation_seq, first), to = from;
    while (to < l->hop_n && l->of[to].operation_seq == first)
        to++;
    *ret_n = to - from;
    return *ret_n > 0 ? &l->of[from] : NULL;
}

const struct listed_operation *operation_list_find_by_end_seq(const struct operation_list *l,
                                                              int64_t seq)
{
    int64_t first = find_operation_of_seq(l->end, l->end_n, seq);
    return first != 0 ? operation_list_find(l, first) : NULL;
}
