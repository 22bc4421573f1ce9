#include "cli/diff/junit.h"

#include "base/clock.h"
#include "base/junit.h"
#include "base/text.h"

#include <stdio.h>

void diff_junit_close(struct diff_junit *x)
{
    buf_close(&x->cases);
}

static void add_value(struct buf *xml, const char *side, struct slice value, bool cut_before,
                      bool cut_after)
{
    buf_adds(xml, side);
    if (value.p == NULL) {
        buf_adds(xml, "(missing)\n");
        return;
    }
    buf_adds(xml, cut_before ? "..." : "");
    text_xml(xml, value);
    buf_adds(xml, cut_after ? "...\n" : "\n");
}

static void add_case(struct diff_junit *x, struct buf *name, const char *type, struct buf *message,
                     struct buf *xml, int64_t took_us)
{
    char seconds[32];
    struct junit_case c = {
        .classname = slice_of("mcp-interposer.diff"),
        .name = buf_slice(name),
        .time = seconds,
        .outcome = type != NULL ? JUNIT_FAILED : JUNIT_PASSED,
        .type = type,
        .message = buf_slice(message),
        .xml = xml->n > 0 ? buf_slice(xml) : (struct slice){0},
    };
    snprintf(seconds, sizeof seconds, "%.6f", (double)took_us / 1e6);
    x->tests++;
    x->failures += type != NULL;
    junit_case(&x->cases, &c);
    x->cases.failed |= name->failed || message->failed || xml->failed;
    buf_close(name);
    buf_close(message);
    buf_close(xml);
}

void diff_junit_facts(struct diff_junit *x, const struct diff *d)
{
    struct buf name = {0}, message = {0}, xml = {0};
    struct diff_fact f;
    buf_adds(&name, "session");
    for (size_t i = 0; diff_fact(d, i, &f); i++) {
        if (!f.counts)
            continue;
        buf_adds(&message, message.n > 0 ? ", " : "");
        buf_adds(&message, f.name);
        buf_printf(&xml, "%s:\n", f.name);
        add_value(&xml, "- ", f.value[DIFF_A], false, false);
        add_value(&xml, "+ ", f.value[DIFF_B], false, false);
    }
    add_case(x, &name, message.n > 0 ? "changed" : NULL, &message, &xml, 0);
}

static void add_name(struct buf *b, const struct result *r)
{
    static const char *const ends[DIFF_SIDES] = {"/", " "};
    const struct diff_call *c = result_call(r);
    for (int side = 0; side < DIFF_SIDES; side++) {
        if (r->has[side])
            buf_printf(b, "#%llu", (unsigned long long)r->call[side].seq);
        else
            buf_addc(b, '-');
        buf_adds(b, ends[side]);
    }
    buf_slice_add(b, c->method);
    if (c->target.n > 0) {
        buf_addc(b, ' ');
        buf_slice_add(b, c->target);
    }
}

/* "status ok -> error; 2 differences". */
static void add_message(struct buf *b, const struct result *r)
{
    buf_adds(b, result_change_name(r->change));
    if (r->look.status)
        buf_printf(b, "; status %s -> %s", call_status_name(r->call[DIFF_A].status),
                   call_status_name(r->call[DIFF_B].status));
    if (r->look.slower)
        buf_adds(b, "; slower");
    if (r->look.differences > 0)
        buf_printf(b, "; %llu difference%s", (unsigned long long)r->look.differences,
                   r->look.differences == 1 ? "" : "s");
}

void diff_junit_row(struct diff_junit *x, const struct result *r)
{
    struct buf name = {0}, message = {0}, xml = {0};
    add_name(&name, r);
    if (r->change != RESULT_SAME)
        add_message(&message, r);
    for (size_t i = 0; i < r->listed; i++) {
        const struct result_difference *d = &r->difference[i];
        buf_printf(&xml, "%s ", result_part_name(d->part));
        text_xml(&xml, result_text(r, d->pointer));
        buf_addc(&xml, '\n');
        add_value(&xml, "- ", result_text(r, d->value[DIFF_A]), d->at > 0, d->cut[DIFF_A]);
        add_value(&xml, "+ ", result_text(r, d->value[DIFF_B]), d->at > 0, d->cut[DIFF_B]);
    }
    int64_t took = r->has[DIFF_B] ? r->call[DIFF_B].took_us : r->call[DIFF_A].took_us;
    add_case(x, &name, r->change != RESULT_SAME ? result_change_name(r->change) : NULL, &message,
             &xml, took > 0 ? took : 0);
}

void diff_junit_write(const struct diff_junit *x, const struct slice name[DIFF_SIDES],
                      int64_t lasted_us, struct buf *b)
{
    struct buf title = {0};
    char seconds[32], now[CLOCK_TEXT_MAX];
    snprintf(seconds, sizeof seconds, "%.6f", (double)lasted_us / 1e6);
    clock_utc_text(clock_wall_us(), now);
    now[sizeof "2026-01-31T23:59:59" - 1] = '\0';
    buf_adds(&title, "diff ");
    buf_slice_add(&title, name[DIFF_A]);
    buf_addc(&title, ' ');
    buf_slice_add(&title, name[DIFF_B]);
    struct junit_suite suite = {
        .name = buf_slice(&title),
        .tests = x->tests,
        .failures = x->failures,
        .time = seconds,
        .timestamp = now,
    };
    junit_begin(b, NULL);
    junit_begin_suite(b, &suite);
    buf_slice_add(b, buf_slice(&x->cases));
    junit_end_suite(b, &suite);
    junit_end(b);
    b->failed |= x->cases.failed || title.failed;
    buf_close(&title);
}
