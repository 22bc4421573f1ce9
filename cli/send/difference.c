#include "cli/send/difference.h"

#include "base/text.h"
#include "replay/compare/compare.h"

#define LISTED_MAX 20
#define VALUE_MAX 300 /* maximum bytes shown of a value */

struct printing {
    struct out *o;
    size_t n;
};

static void print_marked_value(struct out *o, const char *mark, enum out_style style,
                               struct slice value)
{
    if (value.p == NULL)
        return;
    struct slice head = text_prefix(value, VALUE_MAX);
    out_style(o, style);
    out_add_raw(o, mark);
    out_add_text(o, head);
    out_add_raw(o, head.n < value.n ? "..." : "");
    out_style(o, OUT_PLAIN);
    out_end_line(o);
}

static void print_difference_title(struct out *o, const char *text)
{
    out_end_line(o);
    out_print_styled_words(o, OUT_DIM, text);
    out_end_line(o);
}

static bool print_one_difference(void *ctx, const struct compare_difference *d)
{
    struct printing *p = ctx;
    if (p->n++ == 0)
        print_difference_title(p->o, "difference from the recorded answer:");
    if (p->n > LISTED_MAX)
        return true;
    out_add_text(p->o, d->pointer.n > 0 ? d->pointer : slice_of("(all)"));
    out_end_line(p->o);
    print_marked_value(p->o, "  - ", OUT_RED, d->recorded);
    print_marked_value(p->o, "  + ", OUT_GREEN, d->live);
    return true;
}

static int print_answer_differences(struct printing *p, const struct rpc *recorded,
                                    const struct rpc *live)
{
    struct json_value a = recorded->kind == RPC_ERROR ? recorded->error : recorded->result;
    struct json_value b = live->kind == RPC_ERROR ? live->error : live->result;
    static const struct pointers nothing;
    const struct compare_rules rules = {.ignore = &nothing};
    if (recorded->kind == live->kind)
        return compare_values(a, b, &rules, print_one_difference, p);
    (void)print_one_difference(p, &(struct compare_difference){
                                      .pointer = slice_of(""), .recorded = a.text, .live = b.text});
    return 0;
}

int difference_print_for_answer(struct out *o, struct live_session *t, uint32_t item,
                                const struct rpc *live)
{
    struct printing p = {.o = o};
    struct rpc recorded;
    uint32_t answer = t->items[item].answer;
    if (answer == LIVE_SESSION_NONE || t->items[answer].lost) {
        print_difference_title(o, "no answer was recorded");
        return 0;
    }
    int st = live_session_read_recorded_body(t, answer, &t->recorded);
    if (st < 0 || rpc_read(buf_slice(&t->recorded), &recorded) < 0)
        return st;
    if (print_answer_differences(&p, &recorded, live) < 0)
        return live_session_set_no_memory_error(t);
    if (p.n == 0)
        print_difference_title(o, "the answer is as recorded");
    if (p.n > LISTED_MAX) {
        out_printf(o, "and %zu more", p.n - LISTED_MAX);
        out_end_line(o);
    }
    return 0;
}
