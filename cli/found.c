#include "cli/found.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/session.h"

#define BEFORE 48 /* columns in front of what was found */

static void json_text(struct buf *b, const char *name, struct slice text)
{
    buf_printf(b, ",\"%s\":", name);
    if (text.p != NULL)
        text_json(b, text);
    else
        buf_adds(b, "null");
}

/* What was found, and what stands around it. */
static struct slice context_of(struct slice text, struct slice at, size_t before, size_t after)
{
    const char *from = at.p - size_min(before, (size_t)(at.p - text.p));
    const char *end = text.p + text.n;
    const char *to = at.p + at.n + size_min(after, (size_t)(end - (at.p + at.n)));
    while (from < at.p && text_utf8_cont(from))
        from++;
    while (to < end && text_utf8_cont(to))
        to--;
    return (struct slice){from, (size_t)(to - from)};
}

void found_json(struct out *o, const struct found *f)
{
    const struct query_message *m = f->message;
    struct buf *b = &o->b;
    const char *status = session_status(m);
    int64_t at_us = f->started_at_us + m->t_us;
    buf_printf(b, "{\"type\":\"match\",\"session_id\":%lld", (long long)f->session_id);
    json_text(b, "uid", slice_of(f->uid));
    json_text(b, "server", slice_of(f->server));
    buf_printf(b, ",\"seq\":%lld,\"at_us\":%lld", (long long)m->seq, (long long)at_us);
    json_text(b, "direction", m->direction);
    json_text(b, "kind", m->kind);
    json_text(b, "method", session_method(m));
    json_text(b, "target", session_target(m));
    json_text(b, "status", status != NULL ? slice_of(status) : (struct slice){0});
    json_text(b, "found", f->at);
    json_text(b, "context", context_of(f->text, f->at, 100, 200));
    buf_addc(b, '}');
    out_end_line(o);
}

/* Where it is, and what kind of message it is in. */
static void print_title(struct out *o, const struct found *f)
{
    const struct query_message *m = f->message;
    char when[CLOCK_TEXT_MAX];
    bool to_server = slice_is(m->direction, "c2s");
    const char *status = session_status(m);
    struct slice method = session_method(m), target = session_target(m);
    clock_local_text(f->started_at_us + m->t_us, when);
    out_style(o, OUT_BOLD);
    out_printf(o, "%lld", (long long)f->session_id);
    out_style(o, OUT_PLAIN);
    out_printf(o, " --seq %lld  ", (long long)m->seq);
    out_words(o, OUT_DIM, when);
    out_raw(o, "  ");
    out_style(o, OUT_CYAN);
    out_text(o, slice_of(f->server));
    out_style(o, OUT_PLAIN);
    out_printf(o, "  %s  ", out_arrow(o, to_server));
    if (status != NULL)
        out_words(o, strcmp(status, "ok") == 0 ? OUT_GREEN : OUT_RED, status);
    else
        out_text(o, m->kind);
    if (method.p != NULL) {
        out_raw(o, "  ");
        out_fit(o, method, 40);
    }
    if (target.p != NULL) {
        out_raw(o, " ");
        out_fit(o, target, 60);
    }
    out_end_line(o);
}

/* What was found, with as much around it as the line has room for. */
static void print_context(struct out *o, const struct found *f)
{
    struct slice at = f->at;
    struct slice around = context_of(f->text, at, BEFORE, 4 * o->columns);
    struct slice before = {around.p, (size_t)(at.p - around.p)};
    struct slice behind = {at.p + at.n, (size_t)(around.p + around.n - at.p) - at.n};
    size_t room = o->columns > 6 ? o->columns - 6 : 1;
    out_raw(o, "    ");
    out_text(o, before);
    room -= size_min(room, out_width(o, before));
    out_style(o, OUT_YELLOW);
    out_fit(o, at, room);
    out_style(o, OUT_PLAIN);
    room -= size_min(room, out_width(o, text_head(at, room)));
    if (room > 0)
        out_fit(o, behind, room);
    out_end_line(o);
}

void found_text(struct out *o, const struct found *f)
{
    print_title(o, f);
    print_context(o, f);
}
