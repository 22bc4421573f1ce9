#include "cli/check/text.h"

#include "base/text.h"

static void add_count(struct buf *b, size_t n, const char *what, const char *behind)
{
    buf_printf(b, "%zu %s%s%s", n, what, n == 1 ? "" : "s", behind);
}

#define PLACE_COLUMNS 55  /* before the sentence */
#define SENTENCE_MIN 40   /* a narrower sentence begins on the next line … */
#define SENTENCE_INDENT 9 /* … here */

static void add_finding(const struct check_report *r, const struct check_finding *f, struct buf *b,
                        struct buf *scratch)
{
    struct buf line = {0};
    buf_slice_add(&line, check_subject(r, f, scratch));
    buf_adds(&line, line.n > 0 ? ": " : "");
    check_sentence(r, f, &line);
    buf_printf(b, "%7lld  %s  %-8s  ", (long long)f->seq, check_sender(f),
               severity_name(f->severity));
    if (r->columns == 0 || r->columns >= PLACE_COLUMNS + SENTENCE_MIN) {
        buf_printf(b, "%-26s  ", f->name);
        text_fill(b, buf_slice(&line), PLACE_COLUMNS, r->columns == 0 ? SIZE_MAX : r->columns);
    } else {
        buf_printf(b, "%s\n%*s", f->name, SENTENCE_INDENT, "");
        text_fill(b, buf_slice(&line), SENTENCE_INDENT, r->columns);
    }
    buf_addc(b, '\n');
    b->failed |= line.failed;
    buf_close(&line);
}

static void add_title(const struct check_report *r, const struct check_recording *x, struct buf *b)
{
    struct buf line = {0};
    struct slice name = check_slice(r, x->name);
    if (x->session_id != 0)
        buf_adds(&line, "session ");
    if (x->session_id == 0 || r->several)
        text_visible(&line, x->session_id == 0 ? name : text_head(name, x->uid_shown));
    else
        buf_int(&line, x->session_id);
    if (x->server.n > 0) {
        buf_adds(&line, " (");
        text_visible(&line, check_slice(r, x->server));
        buf_addc(&line, ')');
    }
    buf_adds(&line, ": ");
    add_count(&line, (size_t)x->messages, "message", ", ");
    add_count(&line, x->count[SEVERITY_ERROR], "error", ", ");
    add_count(&line, x->count[SEVERITY_WARNING], "warning", ", ");
    add_count(&line, x->count[SEVERITY_NOTE], "note", "");
    text_fill(b, buf_slice(&line), 0, r->columns == 0 ? SIZE_MAX : r->columns);
    buf_addc(b, '\n');
    b->failed |= line.failed;
    buf_close(&line);
}

static void add_recording(const struct check_report *r, const struct check_recording *x,
                          struct buf *b, struct buf *scratch)
{
    add_title(r, x, b);
    for (size_t i = 0; i < x->n; i++)
        add_finding(r, &x->findings[i], b, scratch);
    if (x->not_listed > 0)
        buf_printf(b, "         … and %zu more\n", x->not_listed);
}

void check_text(const struct check_report *r, struct buf *b)
{
    struct buf scratch = {0};
    for (size_t i = 0; i < r->n; i++)
        add_recording(r, &r->recordings[i], b, &scratch);
    b->failed |= scratch.failed;
    buf_close(&scratch);
}
