#include "cli/diff/result.h"

#include "base/text.h"

void result_close(struct result *r)
{
    buf_close(&r->text);
}

struct slice result_get_stored_text(const struct result *r, struct result_span s)
{
    if (!s.exists || r->text.failed)
        return (struct slice){0};
    return (struct slice){r->text.p != NULL ? r->text.p + s.at : "", s.n};
}

const struct diff_call *result_get_call_for_row_name(const struct result *r)
{
    return &r->call[r->has[DIFF_A] ? DIFF_A : DIFF_B];
}

bool result_has_failed_call(const struct result *r)
{
    return (r->has[DIFF_A] && call_status_failed(r->call[DIFF_A].status)) ||
           (r->has[DIFF_B] && call_status_failed(r->call[DIFF_B].status));
}

bool result_has_slow_call(const struct result *r, int64_t us)
{
    return (r->has[DIFF_A] && r->call[DIFF_A].took_us >= us) ||
           (r->has[DIFF_B] && r->call[DIFF_B].took_us >= us);
}

/* ---- names ---- */

const char *result_name_of_change(enum result_change c)
{
    static const char *const names[RESULT_CHANGES] = {"same", "changed", "moved", "missing",
                                                      "added"};
    return names[c];
}

const char *result_name_of_diff_part(enum diff_part p)
{
    static const char *const names[] = {"request", "result", "error", "answer"};
    return names[p];
}

const char *result_entry_kind(const struct result *r, const struct result_difference *d)
{
    struct slice p = result_get_stored_text(r, d->pointer);
    return slice_begins(p, "/tools/")       ? "tool"
           : slice_begins(p, "/prompts/")   ? "prompt"
           : slice_begins(p, "/resources/") ? "resource"
                                            : "template";
}

/* ---- one row ---- */

static struct result_span result_store_text(struct result *r, struct slice text)
{
    struct result_span s = {r->text.n, text.n, text.p != NULL};
    buf_slice_add(&r->text, text);
    return s;
}

static bool result_store_difference(void *ctx, const struct diff_difference *one)
{
    struct result *r = ctx;
    struct result_difference *d = &r->difference[r->listed++];
    struct excerpt e = excerpt_cut_around_difference(one->value[DIFF_A], one->value[DIFF_B]);
    *d = (struct result_difference){.part = one->part, .is_entry = one->is_entry, .at = e.at};
    d->pointer = result_store_text(r, text_prefix(one->pointer, RESULT_POINTER_MAX));
    d->entry = result_store_text(r, text_prefix(one->entry, RESULT_POINTER_MAX));
    d->below = result_store_text(r, text_prefix(one->below, RESULT_POINTER_MAX));
    for (int i = 0; i < DIFF_SIDES; i++) {
        d->value[i] = result_store_text(r, e.text[i]);
        d->cut[i] = e.cut[i];
        d->size[i] = one->value[i].n;
    }
    return r->listed < RESULT_LISTED;
}

int result_compare_row(struct result *r, struct diff *d, uint32_t i)
{
    struct align_row row = diff_get_row(d, i);
    const uint32_t call[DIFF_SIDES] = {row.a, row.b};
    r->listed = 0;
    r->params = (struct slice){0};
    buf_clear(&r->text);
    for (int side = 0; side < DIFF_SIDES; side++) {
        r->has[side] = call[side] != ALIGN_NONE;
        if (r->has[side])
            r->call[side] = diff_get_call(d, (enum diff_side)side, call[side]);
    }
    int st = diff_compare_row(d, i, result_store_difference, r, &r->look);
    r->change = row.kind == ALIGN_MISSING        ? RESULT_MISSING
                : row.kind == ALIGN_ADDED        ? RESULT_ADDED
                : diff_row_has_changed(&r->look) ? RESULT_CHANGED
                : row.moved                      ? RESULT_MOVED
                                                 : RESULT_SAME;
    if (st == 0 && row.kind == ALIGN_MISSING)
        st = diff_read_params(d, DIFF_A, row.a, &r->params);
    if (st == 0 && row.kind == ALIGN_ADDED)
        st = diff_read_params(d, DIFF_B, row.b, &r->params);
    return st == 0 && r->text.failed ? MI_ENOMEM : st;
}

/* ---- all rows ---- */

void result_add_to_counts(struct result_counts *c, const struct result *r)
{
    c->rows[r->change]++;
    c->unread += r->look.unread;
    for (int i = 0; i < DIFF_ENTRIES; i++)
        c->tools[i] += r->look.tools[i];
}

bool result_has_differences(const struct result_counts *c)
{
    uint64_t n = c->facts;
    for (int i = RESULT_SAME + 1; i < RESULT_CHANGES; i++)
        n += c->rows[i];
    return n > 0;
}
