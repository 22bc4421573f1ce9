#include "cli/diff/json.h"

static const char *const sides[DIFF_SIDES] = {"a", "b"};

static void put_facts(struct json_out *j, const struct diff *d)
{
    struct diff_fact f;
    json_out_array(j, "session");
    for (size_t i = 0; diff_fact(d, i, &f); i++) {
        json_out_object(j, NULL);
        json_out_str(j, "name", f.name);
        for (int side = 0; side < DIFF_SIDES; side++)
            json_out_text(j, sides[side], f.value[side]);
        json_out_bool(j, "counts", f.counts);
        json_out_end(j);
    }
    json_out_end(j);
}

void diff_json_begin(struct json_out *j, const struct diff *d, const struct slice name[DIFF_SIDES])
{
    json_out_object(j, NULL);
    json_out_str(j, "format", "mcp-interposer-diff");
    json_out_int(j, "version", 1);
    for (int side = 0; side < DIFF_SIDES; side++) {
        json_out_object(j, sides[side]);
        json_out_text(j, "recording", name[side]);
        json_out_uint(j, "calls", diff_calls(d, (enum diff_side)side));
        json_out_end(j);
    }
    put_facts(j, d);
    json_out_array(j, "results");
}

static void put_call(struct json_out *j, const struct result *r, enum diff_side side)
{
    const struct diff_call *c = &r->call[side];
    if (!r->has[side]) {
        json_out_null(j, sides[side]);
        return;
    }
    json_out_object(j, sides[side]);
    json_out_uint(j, "seq", c->seq);
    json_out_str(j, "status", call_status_name(c->status));
    if (c->took_us >= 0)
        json_out_int(j, "took_us", c->took_us);
    else
        json_out_null(j, "took_us");
    json_out_end(j);
}

static void put_difference(struct json_out *j, const struct result *r,
                           const struct result_difference *d)
{
    json_out_object(j, NULL);
    json_out_str(j, "part", result_part_name(d->part));
    json_out_text(j, "pointer", result_text(r, d->pointer));
    if (d->entry.exists) {
        json_out_str(j, "kind", result_entry_kind(r, d));
        json_out_text(j, "entry", result_text(r, d->entry));
        json_out_text(j, "below", result_text(r, d->below));
    }
    for (int side = 0; side < DIFF_SIDES; side++)
        json_out_text(j, sides[side], result_text(r, d->value[side]));
    json_out_uint(j, "from", d->at);
    json_out_uint(j, "a_bytes", d->size[DIFF_A]);
    json_out_uint(j, "b_bytes", d->size[DIFF_B]);
    json_out_end(j);
}

void diff_json_row(struct json_out *j, const struct result *r)
{
    const struct diff_call *c = result_call(r);
    json_out_space(j, "\n");
    json_out_object(j, NULL);
    json_out_str(j, "change", result_change_name(r->change));
    json_out_text(j, "method", c->method);
    json_out_text(j, "target", c->target.n > 0 ? c->target : (struct slice){0});
    put_call(j, r, DIFF_A);
    put_call(j, r, DIFF_B);
    json_out_bool(j, "moved", r->look.moved);
    json_out_bool(j, "status_differs", r->look.status);
    json_out_bool(j, "slower", r->look.slower);
    json_out_bool(j, "answers_compared", !r->look.unread);
    json_out_uint(j, "differences_n", r->look.differences);
    json_out_array(j, "differences");
    for (size_t i = 0; i < r->listed; i++)
        put_difference(j, r, &r->difference[i]);
    json_out_end(j);
    json_out_end(j);
}

void diff_json_end(struct json_out *j, const struct diff *d, const struct result_counts *c)
{
    static const char *const tools[] = {"tools_new", "tools_changed", "tools_gone"};
    (void)d;
    json_out_end(j);
    for (int i = 0; i < RESULT_CHANGES; i++)
        json_out_uint(j, result_change_name((enum result_change)i), c->rows[i]);
    json_out_uint(j, "not_compared", c->unread);
    for (size_t i = 0; i < MI_COUNT(tools); i++)
        json_out_uint(j, tools[i], c->tools[i]);
    json_out_bool(j, "differs", result_differs(c));
    json_out_end(j);
    json_out_line(j);
}
