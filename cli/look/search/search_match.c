#include "cli/look/search/search_match.h"

#include "base/clock.h"
#include "base/text.h"
#include "cli/frame/preview.h"
#include "cli/frame/session.h"

#include <stdio.h>

#define BEFORE 48 /* maximum bytes of context shown before a match */
#define PIPED 116 /* maximum bytes of a match with its context, if stdout is a pipe */

struct slice search_match_get_context(const struct search_match *f, size_t before, size_t after)
{
    struct slice text = f->text, at = f->at;
    const char *from = at.p - size_min(before, (size_t)(at.p - text.p));
    const char *end = text.p + text.n;
    const char *to = at.p + at.n + size_min(after, (size_t)(end - (at.p + at.n)));
    while (from < at.p && text_is_utf8_continuation(from))
        from++;
    while (to < end && text_is_utf8_continuation(to))
        to--;
    return (struct slice){from, (size_t)(to - from)};
}

void search_match_add_json_members(struct json_out *j, const struct search_match *f)
{
    const struct query_message *m = f->message;
    enum call_status status = session_status_of_message(m);
    json_out_str(j, "type", "match");
    json_out_int(j, "session_id", f->session_number);
    json_out_str(j, "uid", f->uid);
    json_out_str(j, "server", f->server);
    json_out_int(j, "seq", m->seq);
    json_out_int(j, "at_us", f->started_at_us + m->t_us);
    json_out_str(j, "direction", row_direction_name(m->direction));
    json_out_str(j, "kind", row_kind_name(m->kind));
    json_out_text(j, "method", session_method_of_message(m));
    json_out_text(j, "target", session_target_of_message(m));
    json_out_str(j, "status", status != CALL_UNKNOWN ? call_status_name(status) : NULL);
    json_out_text(j, "found", f->at);
    json_out_text(j, "context", search_match_get_context(f, 100, 200));
}

/* Prints method and target; begins a new line if they need more than `left` columns. */
static void print_method_and_target(struct out *o, struct slice method, struct slice target,
                                    size_t left)
{
    size_t wanted = out_width(o, method) + 1 + out_width(o, target);
    if (wanted + 2 > left) {
        out_add_raw(o, "\n  ");
        left = o->columns - size_min(o->columns, 2);
    }
    out_add_raw(o, "  ");
    left -= size_min(left, 2);
    left -= size_min(left, out_add_fitting_text(o, OUT_PLAIN, method, size_min(40, left)) + 1);
    if (target.p != NULL) {
        out_add_raw(o, " ");
        out_add_fitting_text(o, OUT_PLAIN, target, size_min(60, left));
    }
}

static void search_match_print_title(struct out *o, const struct search_match *f)
{
    const struct query_message *m = f->message;
    char number[32], seq[32];
    struct clock_text when = clock_format_local_time(f->started_at_us + m->t_us);
    bool to_server = m->direction == ROW_C2S;
    enum call_status status = session_status_of_message(m);
    struct slice method = session_method_of_message(m), target = session_target_of_message(m);
    const char *what = status != CALL_UNKNOWN ? call_status_name(status) : row_kind_name(m->kind);
    snprintf(number, sizeof number, "%lld", (long long)f->session_number);
    snprintf(seq, sizeof seq, " --seq %lld", (long long)m->seq);
    struct slice session = slice_of(number);
    if (f->several)
        session = text_prefix(slice_of(f->uid), f->uid_shown);
    out_write_styled(o, OUT_BOLD, session);
    out_printf(o, "%s  ", seq);
    out_print_styled_words(o, OUT_DIM, when.s);
    out_add_raw(o, "  ");
    out_write_styled(o, OUT_CYAN, slice_of(f->server));
    out_printf(o, "  %s  ", out_direction_arrow(o, to_server));
    out_print_styled_words(o, status != CALL_UNKNOWN ? session_status_style(status) : OUT_PLAIN,
                           what);
    if (method.p != NULL || target.p != NULL) {
        size_t used = out_width(o, session) + strlen(seq) + strlen(when.s) +
                      out_width(o, slice_of(f->server)) +
                      out_width(o, slice_of(out_direction_arrow(o, to_server))) + strlen(what) + 8;
        print_method_and_target(o, method, target, o->columns > used ? o->columns - used : 0);
    }
    out_end_line(o);
}

/* Prints the match with as much text before and after it as fits. */
static void search_match_print_context(struct out *o, const struct search_match *f)
{
    struct slice at = f->at;
    bool piped = o->columns == OUT_UNLIMITED;
    size_t columns = piped ? PIPED : o->columns > 6 ? o->columns - 6 : 1;
    size_t rest = PIPED > BEFORE + at.n ? PIPED - BEFORE - at.n : 0;
    struct slice around = search_match_get_context(f, BEFORE, piped ? rest : 4 * columns);
    struct slice before = {around.p, (size_t)(at.p - around.p)};
    struct slice after = {at.p + at.n, (size_t)(around.p + around.n - at.p) - at.n};
    out_add_raw(o, "    ");
    out_add_text(o, before);
    columns -= size_min(columns, out_width(o, before));
    out_add_fitting_text(o, OUT_YELLOW, at, columns);
    columns -= size_min(columns, out_width(o, text_prefix(at, columns)));
    if (columns > 0)
        out_add_fitting_text(o, OUT_PLAIN, after, columns);
    out_end_line(o);
}

/* Prints the preview of a message that was found by its fields alone, as in `show`. */
static void search_match_print_preview(struct out *o, const struct search_match *f)
{
    const struct query_message *m = f->message;
    bool piped = o->columns == OUT_UNLIMITED;
    size_t columns = piped ? PIPED : o->columns > 6 ? o->columns - 6 : 1;
    struct buf b = {0};
    preview_add_message(&b, m, m->body.p != NULL ? m->body : f->text, piped ? PIPED : 4 * columns);
    if (b.n > 0) {
        out_add_raw(o, "    ");
        out_add_fitting_text(o, OUT_PLAIN, buf_slice(&b), columns);
        out_end_line(o);
    }
    o->b.failed |= b.failed;
    buf_close(&b);
}

void search_match_print_text(struct out *o, const struct search_match *f)
{
    search_match_print_title(o, f);
    if (f->at.n > 0)
        search_match_print_context(o, f);
    else
        search_match_print_preview(o, f);
}
