#include "cli/look/follow/tail_page.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/units.h"
#include "cli/frame/record_json.h"

#include <stdlib.h>

void tail_page_open(struct tail_page *p, struct query *q, bool json)
{
    *p = (struct tail_page){.q = q, .json = json};
    out_open(&p->out);
    p->page = (struct out){
        .held = true,
        .is_terminal = p->out.is_terminal,
        .coloured = p->out.coloured,
        .utf8 = p->out.utf8,
        .columns = p->out.columns,
    };
    timeline_open(&p->timeline, &p->page, q, NULL, &p->view, json ? TIMELINE_JSON : BODIES_SHORT);
    timeline_prepare_many_sessions(&p->timeline);
}

int tail_page_close(struct tail_page *p)
{
    timeline_close(&p->timeline);
    for (size_t i = 0; i < TAIL_KNOWN; i++)
        operation_list_close(&p->known[i].list);
    buf_close(&p->text);
    buf_close(&p->page.b);
    buf_close(&p->page.text);
    free(p->line);
    return out_close(&p->out);
}

/* ---- lines ---- */

void tail_page_set_session(struct tail_page *p, const struct query_session *s)
{
    p->of = s;
    p->timeline.session = s;
}

void tail_page_mark_session_stale(struct tail_page *p, int64_t session_id)
{
    for (size_t i = 0; i < TAIL_KNOWN; i++)
        p->known[i].stale |= p->known[i].session_id == session_id;
}

/* Gives the timeline the operations of the session that the next line belongs to. */
static int tail_page_set_session_operations(struct tail_page *p)
{
    /* an empty list for a store, because the operations of a store are not read */
    static const struct operation_list none;
    size_t i = 0;
    p->timeline.operations = &none;
    if (query_is_store(p->q))
        return 0;
    while (i < TAIL_KNOWN && p->known[i].session_id != p->of->id)
        i++;
    if (i == TAIL_KNOWN) {
        i = p->next_known++ % TAIL_KNOWN;
        operation_list_close(&p->known[i].list);
        p->known[i].session_id = p->of->id;
        p->known[i].stale = true;
    }
    struct tail_operations *k = &p->known[i];
    int st = k->stale ? operation_list_read(&k->list, p->q, k->session_id) : 0;
    k->stale = st < 0;
    p->timeline.operations = &k->list;
    return st;
}

static int tail_page_add_line(struct tail_page *p, int64_t t_us, size_t from)
{
    if (!GROW(p->line, p->line_n, p->line_cap))
        return MI_ENOMEM;
    p->line[p->line_n++] = (struct tail_line){p->of->started_at_us + t_us, from, p->page.b.n};
    return 0;
}

int tail_page_add_message(struct tail_page *p, const struct query_message *m)
{
    size_t from = p->page.b.n;
    timeline_measure_columns(&p->timeline, m);
    int st = tail_page_set_session_operations(p);
    if (st == 0)
        st = timeline_print_message(&p->timeline, m);
    return st == 0 ? tail_page_add_line(p, m->t_us, from) : st;
}

int tail_page_add_event(struct tail_page *p, const struct query_event *e)
{
    size_t from = p->page.b.n;
    timeline_print_event(&p->timeline, e);
    return tail_page_add_line(p, e->t_us, from);
}

int tail_page_add_session(struct tail_page *p, const struct query_session *now, bool ended)
{
    size_t from = p->page.b.n;
    int64_t t_us = ended ? now->ended_at_us - now->started_at_us : 0;
    if (p->json) {
        struct session_view v;
        int st = session_read_view(p->q, now, false, &v);
        if (st < 0)
            return st;
        record_json_append_session(&p->page.b, now, &v);
        buf_addc(&p->page.b, '\n');
        session_close(&v);
    } else {
        struct query_event e = {.t_us = t_us, .kind = slice_of(ended ? "ended" : "started")};
        buf_clear(&p->text);
        if (ended)
            session_append_end_reason(&p->text, now, SESSION_ENDED);
        e.detail = buf_slice(&p->text);
        timeline_print_event(&p->timeline, &e);
    }
    return tail_page_add_line(p, t_us, from);
}

/* ---- output ---- */

void tail_page_print_titles(struct tail_page *p)
{
    p->timeline.out = &p->out; /* the titles are printed at once, not sorted with the lines */
    timeline_print_titles(&p->timeline);
    p->timeline.out = &p->page;
}

static int compare_tail_lines(const void *a, const void *b)
{
    const struct tail_line *x = a, *y = b;
    if (x->at_us != y->at_us)
        return x->at_us < y->at_us ? -1 : 1;
    /* qsort() is not stable: lines of the same time stay in the order in which they were added */
    return x->from < y->from ? -1 : x->from > y->from;
}

int tail_page_print(struct tail_page *p)
{
    if (p->line_n > 1)
        qsort(p->line, p->line_n, sizeof *p->line, compare_tail_lines);
    if (p->line_n > 0)
        tail_page_erase_open_calls(p);
    for (size_t i = 0; i < p->line_n; i++)
        buf_add(&p->out.b, p->page.b.p + p->line[i].from, p->line[i].to - p->line[i].from);
    int st = p->page.b.failed ? MI_ENOMEM : 0;
    p->line_n = 0;
    buf_clear(&p->page.b);
    return st;
}

void tail_page_erase_open_calls(struct tail_page *p)
{
    if (p->open_shown)
        out_add_raw(&p->out, "\r\033[K");
    p->open_shown = false;
}

static void tail_page_print_open_calls(struct tail_page *p, const struct followed *f)
{
    struct out *o = &p->out;
    struct buf *b = &p->text;
    buf_clear(b);
    if (f->open_n > 0)
        buf_printf(b, "%zu open: ", f->open_n);
    for (size_t i = 0; i < f->open_n && b->n < 4 * o->columns; i++) {
        int64_t us = clock_wall_us() - f->open[i].at_us;
        buf_printf(b, "%s%s %s", i > 0 ? ", " : "", f->open[i].what,
                   units_format_duration(us > 0 ? us : 0).s);
    }
    p->open_shown = f->open_n > 0;
    if (p->open_shown)
        out_add_fitting_text(o, OUT_YELLOW, buf_slice(b), o->columns > 1 ? o->columns - 1 : 1);
}

void tail_page_show_open_calls(struct tail_page *p, const struct followed *f)
{
    if (p->shows_open) {
        tail_page_erase_open_calls(p);
        tail_page_print_open_calls(p, f);
    }
    out_flush(&p->out);
}
