#include "replay/compare/diff.h"

#include "replay/compare/compare.h"
#include "replay/compare/list_pages.h"
#include "replay/source/sanitize.h"

#include <stdio.h>
#include <stdlib.h>

struct diff {
    const struct diff_rules *rules;             /* borrowed */
    struct compared_recording side[DIFF_SIDES]; /* owned, like all members after this one */
    struct intern topics; /* the topics of the calls; used only until the calls are aligned */
    int loaded;           /* number of recordings that were read */
    struct align_row *rows;
    uint32_t rows_n;
    struct list_pages pages[DIFF_SIDES];
    struct buf value[DIFF_SIDES]; /* sanitized values of the difference that is being reported */
    /* for each side: the result that list_pages_append_result() wrote; it is compared in place of
     * an answer that is a page of a list */
    struct buf list[DIFF_SIDES];
    char exit_status[DIFF_SIDES][24];
    struct buf error;
};

static int fail_with_source_error(struct diff *d, enum diff_side side, int st)
{
    buf_clear(&d->error);
    if (st == MI_EFULL)
        buf_adds(&d->error, "the recording has too many messages to be compared");
    else if (st != MI_ENOMEM)
        buf_adds(&d->error, source_error(d->side[side].source));
    return st;
}

const char *diff_error(struct diff *d)
{
    return d->error.n > 0 ? buf_str(&d->error) : "out of memory";
}

void diff_close(struct diff *d)
{
    if (d == NULL)
        return;
    for (int i = 0; i < DIFF_SIDES; i++) {
        compared_recording_close(&d->side[i]);
        list_pages_close(&d->pages[i]);
        buf_close(&d->value[i]);
        buf_close(&d->list[i]);
    }
    free(d->rows);
    intern_close(&d->topics);
    buf_close(&d->error);
    free(d);
}

static void write_exit_status(struct diff *d, enum diff_side side)
{
    const struct source_info *s = source_info(d->side[side].source);
    snprintf(d->exit_status[side], sizeof d->exit_status[side], "%lld", (long long)s->exit_status);
}

static bool diff_count_difference(void *ctx, const struct canon_difference *x)
{
    size_t *left = ctx;
    (void)x;
    return --*left > 0;
}

/* Returns how much the requests of two calls differ; for align_calls(). */
static int diff_measure_request_distance(void *ctx, uint32_t a, uint32_t b)
{
    struct diff *d = ctx;
    const uint32_t call[DIFF_SIDES] = {a, b};
    struct rpc m[DIFF_SIDES];
    size_t left = NEAR_DISTANCE;
    for (int i = 0; i < DIFF_SIDES; i++) {
        int st = compared_recording_read_request(&d->side[i], call[i], &m[i]);
        if (st < 0)
            return st == MI_ENOENT ? NEAR_DISTANCE
                                   : fail_with_source_error(d, (enum diff_side)i, st);
    }
    return (int)canon_find_differences(&m[DIFF_A], &m[DIFF_B], &d->rules->canon,
                                       diff_count_difference, &left);
}

static int align_sides(struct diff *d)
{
    const struct compared_recording *a = &d->side[DIFF_A], *b = &d->side[DIFF_B];
    const struct align_sides sides = {
        .a = a->call,
        .b = b->call,
        .n = a->n,
        .m = b->n,
        .topics = (uint32_t)d->topics.n,
        .distance = diff_measure_request_distance,
        .ctx = d,
    };
    int st = align_calls(&sides, &d->rows, &d->rows_n);
    for (int i = 0; st == 0 && i < DIFF_SIDES; i++)
        if ((st = list_pages_open(&d->pages[i], &d->side[i])) < 0)
            st = fail_with_source_error(d, (enum diff_side)i, st);
    intern_close(&d->topics);
    write_exit_status(d, DIFF_A);
    write_exit_status(d, DIFF_B);
    return st;
}

int diff_create(struct diff **ret, struct source *a, struct source *b,
                const struct diff_rules *rules)
{
    struct diff *d = calloc(1, sizeof *d);
    if (d == NULL)
        return MI_ENOMEM;
    d->rules = rules;
    *ret = d;
    int st = compared_recording_open(&d->side[DIFF_A], a, rules);
    return st == 0 ? compared_recording_open(&d->side[DIFF_B], b, rules) : st;
}

int diff_load_or_align_calls(struct diff *d, bool *ret_done)
{
    enum diff_side side = (enum diff_side)d->loaded;
    bool loaded;
    *ret_done = d->loaded == DIFF_SIDES;
    if (*ret_done)
        return align_sides(d);
    int st = compared_recording_load_next_part(&d->side[side], d->rules, &d->topics, &loaded);
    d->loaded += loaded;
    return st < 0 ? fail_with_source_error(d, side, st) : 0;
}

int diff_open(struct diff **ret, struct source *a, struct source *b, const struct diff_rules *rules,
              struct buf *error)
{
    struct diff *d = NULL;
    bool done = false;
    int st = diff_create(&d, a, b, rules);
    while (st == 0 && !done)
        st = diff_load_or_align_calls(d, &done);
    if (st == 0) {
        *ret = d;
        return 0;
    }
    buf_adds(error, d != NULL ? diff_error(d) : "out of memory");
    diff_close(d);
    return st;
}

/* ---- the alignment ---- */

uint32_t diff_count_calls(const struct diff *d, enum diff_side side)
{
    return d->side[side].n;
}

struct diff_call diff_get_call(const struct diff *d, enum diff_side side, uint32_t call)
{
    return compared_recording_get_call(&d->side[side], call);
}

uint32_t diff_count_rows(const struct diff *d)
{
    return d->rows_n;
}

struct align_row diff_get_row(const struct diff *d, uint32_t row)
{
    return d->rows[row];
}

/* ---- a row ---- */

struct looking {
    struct diff *d;
    diff_fn fn;
    void *ctx;
    struct diff_look *look;
    enum diff_part part;
    bool initialize;
    const char *entry; /* start of the name of the last tool that differs; NULL: none so far */
    bool failed;       /* out of memory */
};

static struct slice diff_sanitize_value(struct looking *l, enum diff_side side,
                                        struct slice pointer, struct slice value)
{
    struct buf *b = &l->d->value[side];
    if (value.p == NULL)
        return value;
    buf_clear(b);
    if (sanitize_value(b, pointer, value) < 0)
        l->failed = true;
    return buf_slice(b);
}

static void report_difference(struct looking *l, struct diff_difference one, struct slice a,
                              struct slice b)
{
    l->look->differences++;
    if (l->fn == NULL)
        return;
    one.part = l->part;
    one.value[DIFF_A] = diff_sanitize_value(l, DIFF_A, one.pointer, a);
    one.value[DIFF_B] = diff_sanitize_value(l, DIFF_B, one.pointer, b);
    if (l->failed || !l->fn(l->ctx, &one))
        l->fn = NULL;
}

static struct json_value json_value_of_text(struct slice text)
{
    return text.p != NULL ? (struct json_value){json_type_at(text.p[0]), text}
                          : (struct json_value){0};
}

static bool diff_on_params_difference(void *ctx, const struct canon_difference *x)
{
    struct looking *l = ctx;
    if (l->initialize && slice_is(x->pointer, "/clientInfo/version"))
        return true;
    if (!compare_equal_or_sanitized(json_value_of_text(x->ours), json_value_of_text(x->theirs)))
        report_difference(l, (struct diff_difference){.pointer = x->pointer}, x->ours, x->theirs);
    return !l->failed;
}

static bool diff_on_answer_difference(void *ctx, const struct compare_difference *x)
{
    struct looking *l = ctx;
    /* Counts each tool once: all differences of one tool are reported one after the other. */
    if (x->entry.p != NULL && x->entry.p != l->entry && slice_begins(x->pointer, "/tools/")) {
        enum diff_entry change = !x->is_entry            ? DIFF_CHANGED
                                 : x->recorded.p == NULL ? DIFF_NEW
                                                         : DIFF_GONE;
        l->entry = x->entry.p;
        l->look->tools[change]++;
    }
    report_difference(
        l,
        (struct diff_difference){.pointer = x->pointer,
                                 .entry = x->entry,
                                 .below = x->entry.p != NULL ? x->below : (struct slice){0},
                                 .is_entry = x->is_entry},
        x->recorded, x->live);
    return !l->failed;
}

/* Reads the requests or the answers of both calls of a row. Sets *ret_both if both were
 * recorded. */
typedef int (*read_fn)(struct compared_recording *s, uint32_t call, struct rpc *ret);
static int read_both_bodies(struct diff *d, struct align_row row, read_fn read,
                            struct rpc ret[DIFF_SIDES], bool *ret_both)
{
    uint32_t call[DIFF_SIDES] = {row.a, row.b};
    *ret_both = true;
    for (int i = 0; i < DIFF_SIDES; i++) {
        int st = read(&d->side[i], call[i], &ret[i]);
        if (st < 0 && st != MI_ENOENT)
            return fail_with_source_error(d, (enum diff_side)i, st);
        *ret_both = *ret_both && st == 0;
    }
    return 0;
}

static int compare_pair_params(struct looking *l, struct align_row row)
{
    struct rpc m[DIFF_SIDES];
    bool both;
    int st = read_both_bodies(l->d, row, compared_recording_read_request, m, &both);
    if (st < 0 || !both || slice_eq(m[DIFF_A].params.text, m[DIFF_B].params.text))
        return st;
    l->part = DIFF_PARAMS;
    l->initialize = rpc_method_is(&m[DIFF_A], "initialize");
    (void)canon_find_differences(&m[DIFF_A], &m[DIFF_B], &l->d->rules->canon,
                                 diff_on_params_difference, l);
    return l->failed ? MI_ENOMEM : 0;
}

static struct json_value get_result_or_error(const struct rpc *m)
{
    return m->kind == RPC_ERROR ? m->error : m->result;
}

/* Whether not the two pages of a row are compared, but the whole lists to which they belong. This
 * is so if both are the first pages of their lists, or if some row pairs the first pages of these
 * lists. */
static bool pair_compares_whole_lists(const struct diff *d, struct align_row row)
{
    const struct list_pages *a = &d->pages[DIFF_A], *b = &d->pages[DIFF_B];
    if (!list_pages_has_page_of_call(a, row.a) && !list_pages_has_page_of_call(b, row.b))
        return false;
    uint32_t first_a = list_pages_find_first_call(a, row.a),
             first_b = list_pages_find_first_call(b, row.b);
    if (first_a == row.a || first_b == row.b)
        return first_a == row.a && first_b == row.b;
    for (uint32_t i = 0; i < d->rows_n; i++)
        if (d->rows[i].a == first_a)
            return d->rows[i].b == first_b;
    return false;
}

/* `value` has the answers of both calls. If an answer is one of several pages of a list, it is
 * replaced: the first page by the result for the whole list, any other page by a result with an
 * empty list. Returns 0, MI_ENOENT or an error. */
static int replace_pages_by_whole_lists(struct diff *d, struct align_row row,
                                        struct json_value value[DIFF_SIDES])
{
    const uint32_t call[DIFF_SIDES] = {row.a, row.b};
    for (int i = 0; i < DIFF_SIDES; i++) {
        if (!list_pages_has_page_of_call(&d->pages[i], call[i]))
            continue;
        buf_clear(&d->list[i]);
        int st = list_pages_append_result(&d->pages[i], &d->side[i], call[i], &d->list[i]);
        if (st < 0)
            return st == MI_ENOENT ? st : fail_with_source_error(d, (enum diff_side)i, st);
        value[i] = (struct json_value){JSON_OBJECT, buf_slice(&d->list[i])};
    }
    return 0;
}

static int compare_pair_answers(struct looking *l, struct align_row row)
{
    struct compare_rules rules = {.ignore = &l->d->rules->canon.ignore, .both_recorded = true};
    struct rpc m[DIFF_SIDES];
    bool both;
    int st = read_both_bodies(l->d, row, compared_recording_read_answer, m, &both);
    l->look->unread = st == 0 && !both;
    if (st < 0 || !both)
        return st;
    struct json_value value[DIFF_SIDES] = {get_result_or_error(&m[DIFF_A]),
                                           get_result_or_error(&m[DIFF_B])};
    struct slice *a = &value[DIFF_A].text, *b = &value[DIFF_B].text;
    l->part = m[DIFF_A].kind == RPC_ERROR ? DIFF_ERROR : DIFF_RESULT;
    if (m[DIFF_A].kind != m[DIFF_B].kind) {
        l->part = DIFF_ANSWER;
        report_difference(l, (struct diff_difference){.pointer = {"", 0}}, *a, *b);
        return l->failed ? MI_ENOMEM : 0;
    }
    if (l->part == DIFF_RESULT && pair_compares_whole_lists(l->d, row))
        st = replace_pages_by_whole_lists(l->d, row, value);
    if (st == 0 && !slice_eq(*a, *b))
        st = compare_values(value[DIFF_A], value[DIFF_B], &rules, diff_on_answer_difference, l);
    l->look->unread = st == MI_ENOENT;
    return l->failed ? MI_ENOMEM : st == MI_ENOENT ? 0 : st;
}

/* Whether the interposer made the error. Such an error says how long the call had waited and what
 * the server's process was doing, so its text is not compared. */
static bool error_is_from_interposer(enum call_status s)
{
    return s == CALL_TIMEOUT || s == CALL_SERVER_GONE || s == CALL_INTERRUPTED;
}

static bool call_is_slower(const struct diff_rules *r, const struct diff_call *a,
                           const struct diff_call *b)
{
    return r->slower > 0 && a->took_us >= 0 && b->took_us >= 0 &&
           (double)b->took_us > r->slower * (double)a->took_us &&
           b->took_us - a->took_us > r->slower_min_us;
}

int diff_compare_row(struct diff *d, uint32_t i, diff_fn fn, void *ctx, struct diff_look *ret)
{
    struct align_row row = d->rows[i];
    *ret = (struct diff_look){.moved = row.moved};
    if (row.a == ALIGN_NONE || row.b == ALIGN_NONE)
        return 0;
    struct looking l = {.d = d, .fn = fn, .ctx = ctx, .look = ret};
    struct diff_call a = diff_get_call(d, DIFF_A, row.a), b = diff_get_call(d, DIFF_B, row.b);
    ret->status = a.status != b.status;
    ret->slower = call_is_slower(d->rules, &a, &b);
    int st = compare_pair_params(&l, row);
    if (st == 0 && a.answer != 0 && b.answer != 0 &&
        !(a.status == b.status && error_is_from_interposer(a.status)))
        st = compare_pair_answers(&l, row);
    return st;
}

bool diff_row_has_changed(const struct diff_look *l)
{
    return l->differences > 0 || l->status || l->slower;
}

int diff_read_params(struct diff *d, enum diff_side side, uint32_t call, struct slice *ret)
{
    struct rpc m;
    int st = compared_recording_read_request(&d->side[side], call, &m);
    *ret = (struct slice){0};
    if (st == MI_ENOENT)
        return 0;
    if (st < 0)
        return fail_with_source_error(d, side, st);
    struct buf *b = &d->value[side];
    buf_clear(b);
    if (m.params.type == JSON_NONE)
        return 0;
    if (sanitize_value(b, (struct slice){"", 0}, m.params.text) < 0)
        return MI_ENOMEM;
    *ret = buf_slice(b);
    return 0;
}

/* ---- the sessions ---- */

static struct slice exit_status(const struct diff *d, enum diff_side side)
{
    if (!source_info(d->side[side].source)->has_exit_status)
        return (struct slice){0};
    return slice_of(d->exit_status[side]);
}

bool diff_get_session_difference(const struct diff *d, size_t i, struct diff_fact *ret)
{
    const struct source_info *a = source_info(d->side[DIFF_A].source);
    const struct source_info *b = source_info(d->side[DIFF_B].source);
    bool ended = a->server_ended || b->server_ended;
    const struct diff_fact facts[] = {
        {"server_name", {a->server_name, b->server_name}, false},
        {"server_version", {a->server_version, b->server_version}, false},
        {"client_name", {a->client_name, b->client_name}, false},
        {"client_version", {a->client_version, b->client_version}, false},
        {"protocol_version", {a->protocol_version, b->protocol_version}, true},
        {"record_level", {a->record_level, b->record_level}, false},
        {"end_reason", {a->end_reason, b->end_reason}, ended},
        {"exit_status", {exit_status(d, DIFF_A), exit_status(d, DIFF_B)}, ended},
    };
    for (size_t k = 0; k < MI_COUNT(facts); k++) {
        if (slice_eq(facts[k].value[DIFF_A], facts[k].value[DIFF_B]) || i-- > 0)
            continue;
        *ret = facts[k];
        ret->counts = ret->counts && ret->value[DIFF_A].p != NULL && ret->value[DIFF_B].p != NULL;
        return true;
    }
    return false;
}
