/* show.c - the detail pane: a call with all its messages, or a single message. */
#include "cli/ui/ui.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/frame/session.h"
#include "wire/json/text.h"

/* number of messages after a request in which its answer and stderr are searched */
#define SCAN_MAX 2000
#define BEFORE 50 /* number of messages before a request that are searched for stderr */
#define AFTER 20  /* number of messages after the answer that are searched for stderr */
/* Maximum number of bytes of large bodies that are read for a call. With this limit, no key takes
 * more than 50 ms, not even a key that searches these bodies. */
#define LARGE_MAX ((size_t)4 << 20)
#define EVENT_PAGES 8

void show_close(struct ui *u)
{
    struct shown *s = &u->shown;
    detail_close(s->doc);
    schema_notes_close(&s->notes);
    page_free(s->row);
    buf_close(&s->operation);
    for (size_t i = 0; i < SHOWN_MESSAGES; i++)
        buf_close(&s->large[i]);
    memset(s, 0, sizeof *s);
}

/* Seqs of the messages that belong to a call. */
struct gathering {
    int64_t seq, answer;
    /* seqs of the call's other messages: progress, cancellation, late answers */
    int64_t related[SHOWN_MESSAGES - 2];
    size_t related_n;
    int64_t line[SHOWN_LINES];
    size_t lines_n;
    bool more_lines;
};

static bool show_on_related_message(void *ctx, const struct query_message *m)
{
    struct gathering *g = ctx;
    if (m->kind == KIND_STDERR) {
        g->more_lines |= g->lines_n == SHOWN_LINES;
        if (g->lines_n < SHOWN_LINES)
            g->line[g->lines_n++] = m->seq;
    } else if (m->request_seq == g->seq && m->seq != g->answer &&
               g->related_n < MI_COUNT(g->related)) {
        g->related[g->related_n++] = m->seq;
    }
    return true;
}

/* Reads a message and adds its row to s->row. Returns MI_ENOENT if the message is not in the
 * vault. */
static int show_read_message_row(struct ui *u, int64_t seq, struct query_message **ret)
{
    struct page_row *row = NULL;
    int st = page_read_messages(u->q, NULL, ui_get_chosen_session(u)->id, seq, seq, &row);
    if (st < 0 || row == NULL)
        return st < 0 ? st : MI_ENOENT;
    row->next = u->shown.row;
    u->shown.row = row;
    *ret = &row->message;
    return 0;
}

static int show_load_message(struct ui *u, int64_t seq)
{
    struct shown *s = &u->shown;
    struct query_message *m;
    size_t i = s->subject.messages_n;
    struct slice body;
    const char *error;
    int st = i < SHOWN_MESSAGES ? show_read_message_row(u, seq, &m) : MI_ENOENT;
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    size_t most = LARGE_MAX - size_min(s->large_n, LARGE_MAX);
    st = session_read_body(u->q, ui_get_chosen_session(u)->uid, m, most, &s->large[i], &body,
                           &error);
    if (st < 0)
        return st;
    s->large_n += m->is_large ? body.n : 0;
    if (most == 0 && m->is_large) {
        body = (struct slice){0};
        error = "the messages of this call are very large; `show --seq` prints this message";
    }
    s->message[i] = (struct detail_message){
        .seq = m->seq,
        .t_us = m->t_us,
        .from_client = m->direction == ROW_C2S,
        .by_interposer = m->origin == ROW_INTERPOSER,
        .kind = m->kind,
        .action = m->action,
        .method = session_method_of_message(m),
        .target = session_target_of_message(m),
        .id = m->rpc_id,
        .finding = m->finding,
        .size = m->size,
        .redactions = m->redactions,
        .body = body,
        .is_beginning = m->is_large && (int64_t)body.n < m->body_length,
        .body_error = error,
    };
    s->subject.messages_n++;
    return 0;
}

static int show_add_stderr_lines(struct ui *u, const struct gathering *g)
{
    struct shown *s = &u->shown;
    struct query_message *m;
    for (size_t i = 0; i < g->lines_n; i++) {
        int st = show_read_message_row(u, g->line[i], &m);
        if (st == MI_ENOENT)
            continue;
        if (st < 0)
            return st;
        s->line[s->subject.stderr_n++] = (struct detail_line){m->t_us, m->body};
    }
    s->subject.stderr_more = g->more_lines;
    return 0;
}

/* ---- the event that explains a failed call ---- */

/* Returns whether the event names this request. */
static bool event_is_about_request(const struct query_event *e, int64_t request)
{
    struct json_scan scan;
    int64_t seq = 0;
    if (e->detail.p == NULL || json_scan(e->detail, NULL, NULL, &scan) < 0 ||
        scan.type != JSON_OBJECT)
        return false;
    struct json_value detail = {scan.type, scan.root};
    return json_int(json_get(detail, "seq"), &seq) && seq == request;
}

/* Returns a title if the event explains why the call failed: the server hung and was killed,
 * crashed during the call, or was asked whether it is alive. Otherwise returns NULL. */
static const char *get_title_of_explaining_event(const struct query_event *e,
                                                 const struct listed *call, int64_t asked_us)
{
    bool hang = slice_is(e->kind, "hang"), exit = slice_is(e->kind, "exit");
    bool ended_it = call->status == CALL_SERVER_GONE && e->t_us >= asked_us &&
                    e->t_us <= asked_us + call->took_us;
    if (hang && (ended_it || event_is_about_request(e, call->seq)))
        return "Hang";
    if (exit && ended_it)
        return "Crash";
    if (slice_is(e->kind, "asked") && event_is_about_request(e, call->seq))
        return "Silence";
    return NULL;
}

/* Finds the last event of the page that explains the call, and stores it in s->row. Frees the other
 * events. */
static void keep_event_explaining_call(struct shown *s, struct page_row *page,
                                       const struct listed *call, int64_t asked_us)
{
    struct page_row **last = NULL;
    const char *title = NULL;
    for (struct page_row **at = &page; *at != NULL; at = &(*at)->next) {
        const char *found = get_title_of_explaining_event(&(*at)->event, call, asked_us);
        last = found != NULL ? at : last;
        title = found != NULL ? found : title;
    }
    if (last != NULL) {
        struct page_row *row = *last;
        *last = row->next;
        row->next = s->row;
        s->row = row;
        s->subject.post_mortem_title = slice_of(title);
        s->subject.post_mortem = row->event.detail;
    }
    page_free(page);
}

/* Finds the last event that explains a failed call. There may be several: a server is asked whether
 * it is alive before it is killed, and a request may be sent to two server processes. */
static int add_post_mortem(struct ui *u, const struct listed *call, int64_t asked_us)
{
    int64_t after = INT64_MIN;
    int st = 0;
    for (int i = 0; i < EVENT_PAGES && st == 0; i++) {
        struct page_row *page = NULL;
        st = page_read_events(u->q, NULL, ui_get_chosen_session(u)->id, after, &page);
        if (st < 0 || page == NULL)
            break;
        for (const struct page_row *e = page; e != NULL; e = e->next)
            after = e->event.id;
        keep_event_explaining_call(&u->shown, page, call, asked_us);
    }
    return st;
}

/* ---- the subject ---- */

static int show_add_call(struct ui *u, const struct listed *row)
{
    struct shown *s = &u->shown;
    int64_t id = ui_get_chosen_session(u)->id;
    struct gathering g = {.seq = row->seq, .answer = row->answer};
    int64_t end = row->answer > 0 ? row->answer + AFTER : row->seq + SCAN_MAX;
    if (end > row->seq + SCAN_MAX)
        end = row->seq + SCAN_MAX;
    int st = show_load_message(u, row->seq);
    if (st < 0 || s->subject.messages_n == 0)
        return st;
    st = query_message_rows(u->q, id, row->seq - BEFORE, end, QUERY_FORWARD, false,
                            show_on_related_message, &g);
    for (size_t i = 0; st == 0 && i < g.related_n; i++)
        if (row->answer == 0 || g.related[i] < row->answer)
            st = show_load_message(u, g.related[i]);
    if (st == 0 && row->answer > 0)
        st = show_load_message(u, row->answer);
    for (size_t i = 0; st == 0 && i < g.related_n; i++)
        if (row->answer > 0 && g.related[i] > row->answer)
            st = show_load_message(u, g.related[i]);
    if (st == 0)
        st = show_add_stderr_lines(u, &g);
    int64_t asked_us = s->message[0].t_us;
    s->subject.is_call = true;
    s->subject.status = row->status;
    s->subject.duration_us = row->took_us;
    if (st == 0 && row->status != CALL_OK)
        st = add_post_mortem(u, row, asked_us);
    return st;
}

static bool copy_single_call(void *ctx, const struct query_call *c)
{
    struct query_call *ret = ctx;
    *ret = *c;
    return false;
}

/* Reads a call by its seq. If `operation` is true, *ret is the whole operation of the call. *ret
 * has seq 0 if there is no such call. */
static int show_read_call_by_seq(struct ui *u, int64_t seq, bool operation, struct query_call *ret)
{
    struct filter any = FILTER_ANY;
    struct call_question x = {.filter = &any, .side = CALLS_OF_PEERS, .operations = operation};
    *ret = (struct query_call){0};
    any.session_id = ui_get_chosen_session(u)->id;
    x.from = x.up_to = query_call_id(any.session_id, seq);
    return query_calls_of(u->q, &x, copy_single_call, ret);
}

/* If this request is a part of an operation with several requests, or the operation has asked for
 * input, writes a sentence about the operation. */
static int ui_show_add_operation(struct ui *u, int64_t seq)
{
    struct query_call part, whole;
    struct buf *b = &u->shown.operation;
    int st = show_read_call_by_seq(u, seq, false, &part);
    if (st == 0)
        st = show_read_call_by_seq(u, part.operation_seq != 0 ? part.operation_seq : seq, true,
                                   &whole);
    if (st < 0 || (part.operation_seq == 0 && whole.requests < 2 && whole.asked == 0))
        return st;
    buf_clear(b);
    if (part.operation_seq != 0)
        buf_printf(b, "a part of call %lld: ", (long long)part.operation_seq);
    buf_printf(b, "%lld request%s", (long long)whole.requests, whole.requests == 1 ? "" : "s");
    if (whole.duration_us >= 0)
        buf_printf(b, " in %s", units_format_duration(whole.duration_us).s);
    else
        buf_adds(b, ", not ended");
    if (whole.asked > 0)
        buf_printf(b, ", asked for input %lld time%s", (long long)whole.asked,
                   whole.asked == 1 ? "" : "s");
    if (whole.person_us > 0)
        buf_printf(b, ", a person took %s", units_format_duration(whole.person_us).s);
    u->shown.subject.operation = buf_slice(b);
    return b->failed ? MI_ENOMEM : 0;
}

/* Reads the tools of the session, unless they were read already. */
static int read_session_tools(struct ui *u)
{
    const struct query_session *s = ui_get_chosen_session(u);
    if (u->tools_of == s->id)
        return 0;
    tool_list_close(&u->tools);
    u->tools_of = 0;
    int st = tool_list_load_session(u->q, s, &u->tools);
    st = st == MI_ENOENT ? 0 : st;
    u->tools_of = st == 0 ? s->id : 0;
    return st;
}

static int show_open_detail(struct ui *u, const struct list_row *row)
{
    struct shown *s = &u->shown;
    s->subject = (struct detail_subject){
        .started_at_us = ui_get_chosen_session(u)->started_at_us,
        .status = CALL_UNKNOWN,
        .duration_us = -1,
        .message = s->message,
        .stderr_line = s->line,
    };
    int st = 0;
    if (row->event != NULL) {
        s->subject.post_mortem_title = row->event->kind;
        s->subject.post_mortem = row->event->detail.p != NULL ? row->event->detail : slice_of("{}");
    } else {
        st = u->mode == LISTING_CALLS ? show_add_call(u, &row->listed)
                                      : show_load_message(u, row->listed.seq);
    }
    if (st == 0 && s->subject.is_call)
        st = read_session_tools(u);
    if (st == 0 && s->subject.is_call) {
        schema_notes_find(&s->notes, &u->tools.tools, s->message, s->subject.messages_n);
        s->subject.note = s->notes.note;
        s->subject.notes_n = s->notes.n;
        st = ui_show_add_operation(u, row->listed.seq);
    }
    if (st == 0 && (s->subject.messages_n > 0 || row->event != NULL))
        st = detail_open(&s->doc, &s->subject);
    return st;
}

/* Sets how long an open call has waited: from its request until now or, in a session that is not
 * live, until the end of the recording. */
static int show_update_waiting_time(struct ui *u)
{
    const struct query_session *s = ui_get_chosen_session(u);
    bool live = u->state == SESSION_LIVE;
    int64_t last, end_us = (live ? clock_wall_us() : s->ended_at_us) - s->started_at_us;
    int st = live || s->ended_at_us != 0 ? 0 : query_last_message(u->q, s->id, &last, &end_us);
    if (st == 0)
        detail_update_open_call(u->shown.doc, end_us - u->shown.message[0].t_us, !live);
    return st;
}

int show_selected_row(struct ui *u, size_t columns)
{
    struct shown *s = &u->shown;
    struct list_row selected;
    int st = 0;
    if (!list_get_selected_row(u, &selected) || ui_get_chosen_session(u) == NULL) {
        show_close(u);
        return 0;
    }
    struct listed row = selected.listed;
    bool same = s->session == ui_get_chosen_session(u)->id && s->seq == row.seq;
    if (!same || s->answer != row.answer) {
        size_t at = s->at, top = s->top;
        show_close(u);
        s->session = ui_get_chosen_session(u)->id;
        s->seq = row.seq;
        s->answer = row.answer;
        s->at = same ? at : 0;
        s->top = same ? top : 0;
        st = show_open_detail(u, &selected);
        if (st < 0)
            show_close(u); /* at the next drawing, the call is read again */
    }
    if (st == 0 && s->doc != NULL && s->columns != columns) {
        detail_set_width(s->doc, columns, u->ascii);
        s->columns = columns;
    }
    if (st == 0 && s->doc != NULL && row.status == CALL_OPEN && u->mode == LISTING_CALLS)
        st = show_update_waiting_time(u);
    u->ticks |= row.status == CALL_OPEN && u->state == SESSION_LIVE;
    return st;
}

/* ---- drawing ---- */

int draw_detail(struct ui *u, const struct area *a)
{
    struct shown *s = &u->shown;
    size_t height = a->height - 1;
    bool exact = true;
    if (u->focus == PANE_SESSIONS) {
        draw_caption(u, a, PANE_DETAIL, "overview");
        draw_overview(u, a);
        return 0;
    }
    int st = show_selected_row(u, a->width);
    bool later = st < 0 && central_clear_interruption(u);
    if (st < 0 && !later)
        return st;
    if (later || s->doc == NULL) {
        draw_caption(u, a, PANE_DETAIL, later ? "detail: reading..." : "detail");
        return 0;
    }
    size_t n = detail_count_lines(s->doc, &exact);
    if (exact && n > 0 && s->at >= n)
        s->at = n - 1;
    else if (s->at >= n)
        n = s->at + 1; /* the estimated number of lines was too low */
    if (s->at < s->top)
        s->top = s->at;
    else if (height > 0 && s->at >= s->top + height)
        s->top = s->at - height + 1;
    if (s->seq < 0)
        draw_caption(u, a, PANE_DETAIL, "event  %zu/%zu", s->at + 1, n);
    else
        draw_caption(u, a, PANE_DETAIL, "%s %lld  %zu/%zu%s",
                     s->subject.is_call ? "call" : "message", (long long)s->seq, s->at + 1, n,
                     exact ? "" : "+");
    for (size_t i = 0; i < height; i++) {
        bool selected = s->top + i == s->at && u->focus == PANE_DETAIL;
        if (!detail_draw_line(s->doc, s->top + i, s->from, a->width, &u->cells))
            break;
        draw_line(u, a, 1 + i, selected ? SCREEN_CHOSEN : SCREEN_NORMAL);
    }
    return 0;
}
