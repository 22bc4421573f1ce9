#include "cli/frame/session_line.h"

struct session_line session_line(const struct query_session *s, const struct session_view *v)
{
    return (struct session_line){
        .s = *s,
        .v = *v,
        .uid_head = session_get_uid_prefix(s, 8),
        .uid_shown = session_get_uid_prefix(s, SESSION_UID_SHOWN),
        .evidence = slice_of(session_evidence_name(s->evidence)),
        .state = slice_of(session_state_name(v->state)),
        .errors = session_count_errors(v->summary.ended_as),
        .failed_requests = session_count_errors(v->summary.by_status),
        .imported = query_session_is_imported(s),
    };
}

static void append_client_name_and_version(struct buf *b, const void *row, struct cell name)
{
    const struct session_line *l = row;
    buf_slice_add(b, name.text.p != NULL ? name.text : slice_of("-"));
    buf_adds(b, l->s.client_version.p != NULL ? " " : "");
    buf_slice_add(b, l->s.client_version);
}

static void append_session_end(struct buf *b, const void *row, struct cell reason)
{
    const struct session_line *l = row;
    (void)reason;
    session_append_end_reason(b, &l->s, l->v.state);
    buf_adds(b, l->imported ? ", imported" : "");
    buf_adds(b, l->v.sent ? ", sent" : "");
    buf_adds(b, l->v.summary.tools_changed ? ", tools changed" : "");
    buf_adds(b, l->v.summary.unfinished ? ", unfinished lines" : "");
}

static enum out_style choose_session_end_style(const void *row)
{
    const struct session_line *l = row;
    if (l->v.state == SESSION_LIVE)
        return OUT_GREEN;
    if (l->v.state != SESSION_ENDED)
        return OUT_RED;
    return l->s.has_exit_status && l->s.exit_status != 0 ? OUT_YELLOW : OUT_PLAIN;
}

#define RECORD struct session_line
#define ONE 1u /* flag: the rows are of one vault */
#define SEVERAL 2u
#define OPERATIONS 4u /* flag: a call of several requests counts once, as one operation */
#define REQUESTS 8u
/* clang-format off */
static const struct show_column columns[] = {
    {SHOW_AS("id", s.number, NUMBER, NOT_NULL), .json = true},
    {SHOW_RECORD(s, fields_of_session), .json = true},
    {SHOW(imported, FLAG, NOT_NULL), .json = true},
    {SHOW_AS("sent", v.sent, FLAG, NOT_NULL), .json = true},
    {SHOW(evidence, TEXT, NOT_NULL), .json = true},
    {SHOW(state, TEXT, NOT_NULL), .json = true},
    {SHOW_AS("duration_us", v.lasted_us, TOOK, NOT_NULL), .json = true},
    {SHOW_AS("messages", v.summary.last_seq, NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("calls", v.summary.calls, NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("ok", v.summary.by_status[CALL_OK], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("tool_errors", v.summary.by_status[CALL_TOOL_ERROR], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("errors", v.summary.by_status[CALL_ERROR], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("refused", v.summary.by_status[CALL_REFUSED], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("cancelled", v.summary.by_status[CALL_CANCELLED], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("server_gone", v.summary.by_status[CALL_SERVER_GONE], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("interrupted", v.summary.by_status[CALL_INTERRUPTED], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("timeouts", v.summary.by_status[CALL_TIMEOUT], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("open", v.summary.by_status[CALL_OPEN], NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("tools_changed", v.summary.tools_changed, FLAG, NOT_NULL), .json = true},
    {SHOW_AS("unfinished", v.summary.unfinished, FLAG, NOT_NULL), .json = true},
    {SHOW_AS("operations", v.summary.operations, NUMBER, NOT_NULL), .json = true},
    {SHOW_AS("person_us", v.summary.person_us, TOOK, NOT_NULL), .json = true},
    /* For people: */
    {SHOW(s.number, NUMBER, NOT_NULL), .table = {"ID", 20, 0}, .when = ONE, .style = OUT_BOLD},
    {SHOW(uid_head, TEXT, NOT_NULL), .table = {"UID", 26, 5}, .when = ONE, .style = OUT_DIM},
    {SHOW(uid_shown, TEXT, NOT_NULL), .table = {"UID", 26, 0}, .when = SEVERAL, .style = OUT_BOLD},
    {SHOW(s.started_at_us, TIME, NOT_NULL), .table = {"STARTED", 19, -19}},
    {SHOW(s.host, TEXT, NO_TEXT), .table = {"HOST", 24, -8}, .when = SEVERAL},
    {SHOW(s.name, TEXT, NOT_NULL), .table = {"SERVER", 24, -8}, .style = OUT_CYAN},
    {SHOW(s.client_name, TEXT, NO_TEXT), .table = {"CLIENT", 24, 4}, .text = append_client_name_and_version},
    {SHOW(s.protocol_version, TEXT, NO_TEXT), .table = {"PROTOCOL", 12, 3}},
    {SHOW(v.summary.operations, NUMBER, NOT_NULL), .table = {"CALLS", 12, 1}, .when = OPERATIONS},
    {SHOW(v.summary.calls, NUMBER, NOT_NULL), .table = {"REQUESTS", 12, 1}, .when = REQUESTS},
    {SHOW(errors, NUMBER, NOT_NULL), .table = {"ERRORS", 12, 0}, .when = OPERATIONS, .style = OUT_RED},
    {SHOW(failed_requests, NUMBER, NOT_NULL), .table = {"ERRORS", 12, 0}, .when = REQUESTS, .style = OUT_RED},
    {SHOW(v.lasted_us, TOOK, NOT_NULL), .table = {"LASTED", 10, 2}},
    {SHOW(s.cwd, TEXT, NO_TEXT), .table = {"DIRECTORY", 48, 6}},
    /* 32 columns have room for `client-closed 143, tools changed` */
    {SHOW(s.end_reason, TEXT, NO_TEXT), .table = {"ENDED", 56, -32},
     .when = ONE, .text = append_session_end, .style_of = choose_session_end_style},
    /* 17 columns have room for `client-closed 143` */
    {SHOW(s.end_reason, TEXT, NO_TEXT), .table = {"ENDED", 56, -17},
     .when = SEVERAL, .text = append_session_end, .style_of = choose_session_end_style},
};
/* clang-format on */

struct show_list session_list_columns(bool several, bool requests)
{
    return (struct show_list){SHOW_LIST("session", columns),
                              .when =
                                  (several ? SEVERAL : ONE) | (requests ? REQUESTS : OPERATIONS)};
}
