#include "model/asker.h"

#include "wire/json/text.h"

static const char *const methods[ASKS_N] = {
    [ASKS_PERSON] = "elicitation/create",
    [ASKS_MODEL] = "sampling/createMessage",
    [ASKS_ROOTS] = "roots/list",
};

enum asks asker_classify_request(struct slice method)
{
    unsigned what = ASKS_N - 1;
    while (what > ASKS_NOTHING && !json_key_is(method, methods[what]))
        what--;
    return (enum asks)what;
}

const char *asker_get_request_method(enum asks what)
{
    return methods[what];
}

bool asker_method_counts_as_call(struct slice method)
{
    return method.p != NULL && !slice_is(method, "ping") && !slice_begins(method, "tasks/");
}

/* Removes the calls that ended before message `seq`. */
static void asker_drop_ended_calls(struct asker *a, int64_t seq)
{
    size_t n = 0;
    for (size_t i = 0; i < a->n; i++)
        if (a->open[i].closing_seq == 0 || a->open[i].closing_seq > seq)
            a->open[n++] = a->open[i];
    a->n = n;
}

void asker_add_call(struct asker *a, const struct asker_call *c)
{
    int64_t to = c->closing_seq != 0 ? c->closing_seq : INT64_MAX;
    if (a->n == ASKER_OPEN_MAX)
        asker_drop_ended_calls(a, c->seq);
    if (a->n < ASKER_OPEN_MAX)
        a->open[a->n++] = *c;
    else
        a->crowded_to = to > a->crowded_to ? to : a->crowded_to;
}

struct asker_call *asker_find_call_of_request(struct asker *a, int64_t seq)
{
    asker_drop_ended_calls(a, seq);
    return a->n == 1 && seq > a->crowded_to ? &a->open[0] : NULL;
}

int64_t asker_take_uncounted_time(struct asker_call *c, int64_t from_us, int64_t to_us)
{
    from_us = from_us > c->covered_us ? from_us : c->covered_us;
    to_us = to_us < c->end_us ? to_us : c->end_us;
    if (to_us <= from_us || to_us == INT64_MAX)
        return 0;
    c->covered_us = to_us;
    return to_us - from_us;
}
