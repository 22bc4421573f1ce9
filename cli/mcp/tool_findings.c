/* tool_findings.c - the MCP tool `findings`. */
#include "cli/mcp/tool_findings.h"

#include "cli/check/forms.h"
#include "cli/check/recording_check.h"
#include "cli/mcp/tool_rows.h"

struct listing {
    struct rows rows;
    struct check_report options; /* of this struct, only of_client and of_server are used */
    enum severity lowest;
    int64_t checked; /* the number of sessions whose findings were read */
    int status;
};

/* Adds a text such as: error: invalid-params of seq 7 from the client, "tools/call" "read_file".
 * Then come the meaning of the finding, and the details in quotes. */
void findings_add_finding(struct tool_call *c, const struct check_report *report,
                          const struct check_finding *f)
{
    struct slice method = check_report_get_text(report, f->method),
                 why = check_report_get_text(report, f->detail);
    check_report_write_members(report, f, &c->j);
    buf_printf(&c->text, "%s: %s of seq %lld from the %s", severity_name(f->severity), f->name,
               (long long)f->seq, finding_sender_name(f));
    if (method.n > 0) {
        buf_addc(&c->text, ',');
        append_quoted_method_and_target(&c->text, method, check_report_get_text(report, f->target));
    }
    buf_printf(&c->text, ". %s", f->meaning);
    if (why.n > 0) {
        buf_addc(&c->text, ' ');
        append_quoted_text_or_dash(&c->text, why, 2 * SHOWN_BRIEF);
    }
}

static void mcp_findings_add_row(struct tool_call *c, const struct check_report *report,
                                 const struct check_finding *f)
{
    const struct check_recording *x = &report->recordings[0];
    struct slice server = check_report_get_text(report, x->server);
    json_out_int(&c->j, "session_id", x->session_id);
    json_out_text(&c->j, "server", server);
    buf_printf(&c->text, "session %lld ", (long long)x->session_id);
    append_quoted_text_or_dash(&c->text, server, SHOWN_NAME);
    buf_addc(&c->text, ' ');
    findings_add_finding(c, report, f);
}

/* Adds the findings of a session. Returns false if no further row is wanted. */
static bool mcp_findings_add_session(struct listing *l, const struct check_report *report,
                                     int64_t id)
{
    const struct check_recording *x = &report->recordings[0];
    bool more = true;
    size_t i = l->rows.first.session == id ? (size_t)l->rows.first.n : 0;
    for (; more && i < x->n; i++) {
        if (x->findings[i].severity < l->lowest)
            continue;
        if (rows_begin_row(&l->rows, id, (int64_t)i))
            mcp_findings_add_row(l->rows.c, report, &x->findings[i]);
        more = rows_end_row(&l->rows);
    }
    return more;
}

static bool mcp_findings_on_session(void *ctx, const struct query_session *s)
{
    struct listing *l = ctx;
    struct rows *r = &l->rows;
    if (rows_should_end_page(r, s->id, 0))
        return false;
    struct recording_check_limit limit = {INT64_MAX, tool_should_continue, r->c};
    struct check_report report;
    check_report_open(&report);
    report.of_client = l->options.of_client;
    report.of_server = l->options.of_server;
    l->status = recording_check_run_on_session(&report, &r->c->filter, r->c->q, s, &limit);
    l->checked++;
    if (l->status == 0 && check_report_has_failed(&report))
        l->status = MI_ENOMEM;
    bool more = l->status == 0 && mcp_findings_add_session(l, &report, s->id);
    check_report_close(&report);
    return more;
}

int answer_list_findings(struct tool_call *c)
{
    struct listing l = {.lowest = SEVERITY_NOTE};
    const char *severity = tool_get_text_argument(c, "severity"),
               *from = tool_get_text_argument(c, "from");
    for (int i = SEVERITY_NOTE; i <= SEVERITY_ERROR; i++)
        if (severity != NULL && strcmp(severity, severity_name((enum severity)i)) == 0)
            l.lowest = (enum severity)i;
    l.options.of_client = from == NULL || strcmp(from, "server") != 0;
    l.options.of_server = from == NULL || strcmp(from, "client") != 0;
    int st = rows_open(&l.rows, c, "findings", ROWS_LIMIT);
    if (st < 0)
        return st;
    c->filter.up_to_id = l.rows.first.session;
    st = query_matching_sessions(c->q, &c->filter, FILTER_HOLDS, 0, mcp_findings_on_session, &l);
    rows_close(&l.rows, "No finding");
    json_out_int(&c->j, "sessions_checked", l.checked);
    buf_printf(&c->text, "Sessions that were checked for this page: %lld.\n", (long long)l.checked);
    return st < 0 ? st : l.status;
}
