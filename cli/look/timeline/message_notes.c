#include "cli/look/timeline/message_notes.h"

#include "base/units.h"
#include "cli/frame/session.h"

/* Whether the message is an answer that determines the status of its request. A dropped answer does
 * not determine the status. */
static bool answer_determines_status(const struct query_message *m)
{
    return call_answer_ends_request(m->kind, m->action);
}

const char *message_outcome_word(const struct query_message *m, enum out_style *ret_style)
{
    static const enum out_style styles[KIND_UNKNOWN + 1] = {
        [KIND_REQUEST] = OUT_BOLD, [KIND_NOTIFICATION] = OUT_DIM, [KIND_BATCH] = OUT_BOLD,
        [KIND_NOISE] = OUT_YELLOW, [KIND_STDERR] = OUT_YELLOW,    [KIND_UNKNOWN] = OUT_RED,
    };
    *ret_style = styles[m->kind];
    if (answer_determines_status(m)) {
        enum call_status status = query_get_call_status(m);
        *ret_style = session_status_style(status);
        return call_status_name(status);
    }
    return m->kind == KIND_NOTIFICATION ? "notify" : row_kind_name(m->kind);
}

/* Adds the findings, except the one that the column WHAT already shows. */
static void message_notes_add_findings(struct buf *b, const struct query_message *m)
{
    const char *shown =
        answer_determines_status(m) ? call_status_name(query_get_call_status(m)) : "";
    const char *gap = b->n > 0 ? ": " : "";
    for (struct slice rest = m->finding; rest.n > 0;) {
        const char *comma = memchr(rest.p, ',', rest.n);
        struct slice name = {rest.p, comma != NULL ? (size_t)(comma - rest.p) : rest.n};
        rest.p += size_min(rest.n, name.n + 1);
        rest.n -= size_min(rest.n, name.n + 1);
        if (slice_is(name, shown))
            continue;
        buf_adds(b, gap);
        buf_slice_add(b, name);
        gap = ",";
    }
}

static void message_notes_add(struct buf *b, const char *what, int64_t seq)
{
    buf_adds(b, b->n > 0 ? ", " : "");
    buf_adds(b, what);
    if (seq > 0)
        buf_int(b, seq);
}

void message_notes_append(struct buf *b, const struct query_message *m, bool unanswered)
{
    enum call_status status = session_status_of_message(m);
    /* If the column WHAT shows one of these statuses, the note "by interposer" is not needed: the
     * status implies that the interposer has answered in place of the server. */
    bool shows_origin =
        status == CALL_SERVER_GONE || status == CALL_INTERRUPTED || status == CALL_TIMEOUT;
    if (m->action == ROW_REFUSED)
        message_notes_add(b, "refused", 0);
    else if (m->action == ROW_SWALLOWED && m->kind != KIND_STDERR)
        message_notes_add(b, "swallowed", 0);
    else if (m->action == ROW_ACTION_UNKNOWN)
        message_notes_add(b, "unknown action", 0);
    if (m->direction == ROW_DIRECTION_UNKNOWN)
        message_notes_add(b, "unknown direction", 0);
    if (m->origin == ROW_INTERPOSER && !shows_origin)
        message_notes_add(b, "by interposer", 0);
    if (unanswered)
        message_notes_add(b, "no answer", 0);
    if (m->batch_seq > 0)
        message_notes_add(b, "in batch ", m->batch_seq);
    if (m->request_seq > 0 && (!session_message_is_answer(m) || !m->has_request))
        message_notes_add(b, "to ", m->request_seq);
    message_notes_add_findings(b, m);
}

void operation_notes_append(struct buf *b, const struct query_message *m,
                            const struct operation_list *l)
{
    int64_t first = m->kind == KIND_REQUEST ? operation_list_find_continued_seq(l, m->seq) : 0;
    const struct listed_operation *o = operation_list_find_by_end_seq(l, m->seq);
    const struct listed_operation *of = first != 0 ? operation_list_find(l, first) : NULL;
    if (of != NULL)
        message_notes_add(b, of->direction == m->direction ? "continues " : "for ", first);
    if (o == NULL)
        return;
    message_notes_add(b, "ends ", o->seq);
    buf_printf(b, ": %lld request%s in %s", (long long)o->requests, o->requests == 1 ? "" : "s",
               units_format_duration(o->duration_us).s);
    if (o->person_us > 0)
        buf_printf(b, ", of which a person took %s", units_format_duration(o->person_us).s);
}
