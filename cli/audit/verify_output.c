#include "cli/audit/verify_output.h"

#include "base/clock.h"
#include "base/log.h"

#include <stdio.h>

#define DETAILS_MAX 50 /* maximum number of problems that the text describes */

static const struct table_column columns[] = {
    {"ID", true, 20, 0},      {"STARTED", false, 19, 1},  {"SERVER", false, 24, -8},
    {"RECORDS", true, 12, 2}, {"STATUS", false, 32, -19},
};

static const enum out_style styles[AUDIT_STATUSES] = {
    [AUDIT_NOT_COVERED] = OUT_DIM, [AUDIT_REMOVING] = OUT_DIM,       [AUDIT_TAMPERED] = OUT_RED,
    [AUDIT_OPEN] = OUT_PLAIN,      [AUDIT_INCOMPLETE] = OUT_YELLOW,  [AUDIT_REDACTED] = OUT_PLAIN,
    [AUDIT_VALID] = OUT_GREEN,     [AUDIT_NOT_ANCHORED] = OUT_PLAIN,
};

int verify_output_open(struct verify_output *r, const struct settings *s)
{
    *r = (struct verify_output){0};
    table_open(&r->table, columns, MI_COUNT(columns));
    int status = reporting_open(&r->reporting, s, settings_is_on(s, "json"));
    r->reporting.out.held = !r->reporting.json;
    report_begin_suite(&r->reporting.report, slice_of("mcp-interposer audit verify"),
                       slice_of("mcp-interposer.audit"), clock_mono_us());
    return status;
}

void verify_output_close(struct verify_output *r)
{
    table_close(&r->table);
    buf_close(&r->details);
    buf_clear(&r->reporting.out.b); /* after a failure, the collected output is dropped */
    reporting_close_without_files(&r->reporting);
}

/* Appends a clause such as "message 12: it does not agree with its commitment". */
static void append_fault_clause(struct buf *b, const struct audit_wrong *w)
{
    if (w->record[0] != '\0')
        buf_printf(b, "%s: ", w->record);
    buf_adds(b, w->text);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void json_add_fault(struct json_out *j, const struct audit_wrong *w)
{
    json_out_str(j, "kind", audit_kind_name(w->kind));
    json_out_str(j, "record", w->record[0] != '\0' ? w->record : NULL);
    json_out_str(j, "text", w->text);
}

static void json_add_audited_session(struct verify_output *r, const struct audit_session *s)
{
    struct json_out *j = reporting_begin_row(&r->reporting);
    json_out_str(j, "type", "session");
    if (s->id != 0)
        json_out_int(j, "session_id", s->id);
    else
        json_out_null(j, "session_id");
    json_out_text(j, "uid", s->uid);
    json_out_text(j, "name", s->name);
    json_out_str(j, "status", audit_status_name(s->status));
    if (s->records > 0)
        json_out_int(j, "records", s->records);
    if (s->why[0] != '\0')
        json_out_str(j, "why", s->why);
    if (s->redacted_at_us != 0) {
        json_out_int(j, "redacted", s->redacted);
        json_out_int(j, "redacted_at_us", s->redacted_at_us);
    }
    if (s->status == AUDIT_TAMPERED)
        json_add_fault(j, &s->wrong);
    reporting_end_row(&r->reporting);
}

static void json_add_audited_vault(struct verify_output *r, const struct audit_vault *v,
                                   const char *verdict)
{
    struct buf key = {0};
    struct json_out *j = reporting_begin_row(&r->reporting);
    json_out_str(j, "type", "vault");
    json_out_str(j, "verdict", verdict);
    json_out_bool(j, "covered", v->has_log);
    json_out_text(j, "origin", v->origin.n > 0 ? v->origin : (struct slice){0});
    json_out_int(j, "leaves", v->leaves);
    json_out_int(j, "unsigned", v->unsigned_leaves);
    json_out_int(j, "anchored", v->anchored);
    if (v->has_key)
        key_write_public(&key, &v->key);
    json_out_text(j, "key", v->has_key ? buf_slice(&key) : (struct slice){0});
    json_out_uint(j, "sessions", r->tests);
    json_out_object(j, "statuses");
    for (int i = 0; i < AUDIT_STATUSES; i++)
        if (r->n[i] > 0)
            json_out_uint(j, audit_status_name((enum audit_status)i), r->n[i]);
    json_out_end(j);
    json_out_uint(j, "wrong", r->wrong);
    reporting_end_row(&r->reporting);
    r->reporting.out.b.failed |= key.failed;
    buf_close(&key);
}

/* ---- cases ---------------------------------------------------------------------------------- */

static void add_fault_to_report(struct report *r, struct report_case *c,
                                const struct audit_wrong *w)
{
    c->outcome = REPORT_FAILED;
    c->rule = (struct report_rule){
        audit_kind_name(w->kind), audit_explain_fault_kind(w->kind),
        "Compare the vault with a copy that is older than the change, and with the checkpoints "
        "that were anchored. docs/evidence.md says what each kind of change means.",
        REPORT_ERROR};
    append_fault_clause(&c->message, w);
    report_add_case(r);
}

static void add_session_to_report(struct report *r, const struct audit_session *s)
{
    struct report_case *c = report_begin_case(r);
    const char *status = audit_status_name(s->status);
    c->place.session = s->uid;
    if (s->id != 0)
        buf_printf(&c->name, "session %lld", (long long)s->id);
    else
        buf_printf(&c->name, "session %.*s", (int)size_min(s->uid.n, 40), s->uid.p);
    if (s->status == AUDIT_TAMPERED) {
        add_fault_to_report(r, c, &s->wrong);
        return;
    }
    bool skipped = s->status == AUDIT_NOT_COVERED || s->status == AUDIT_OPEN;
    c->outcome = audit_status_is_failure(s->status) ? REPORT_FAILED
                 : skipped                          ? REPORT_SKIPPED
                                                    : REPORT_PASSED;
    c->rule = (struct report_rule){status, "The session is incomplete.",
                                   "The message says what is missing. A session stays incomplete "
                                   "if its proxy and its recorder were killed.",
                                   REPORT_WARNING};
    buf_adds(&c->message, s->why[0] != '\0' ? s->why : status);
    report_add_case(r);
}

static struct report_case *begin_report_case_of_log(struct report *r, const char *record)
{
    struct report_case *c = report_begin_case(r);
    buf_adds(&c->name, record[0] != '\0' ? record : "log");
    return c;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* Adds a paragraph to the details: what is wrong, and what that implies. where: the session, or ""
 * for the log. */
static void add_fault_details(struct verify_output *r, const char *where,
                              const struct audit_wrong *w)
{
    if (r->shown++ >= DETAILS_MAX)
        return;
    buf_printf(&r->details, "%s%s: ", where, where[0] != '\0' ? "" : "log");
    append_fault_clause(&r->details, w);
    buf_printf(&r->details, " (%s). %s\n", audit_kind_name(w->kind),
               audit_explain_fault_kind(w->kind));
}

static void verify_output_add_table_row(struct verify_output *r, const struct audit_session *s)
{
    char when[CLOCK_TEXT_MAX] = "-";
    struct table *t = &r->table;
    if (s->started_at_us != 0)
        clock_write_local_time(s->started_at_us, when);
    if (s->id != 0)
        table_add_int(t, s->id, OUT_BOLD);
    else
        table_add_cell(t, slice_of("-"), OUT_PLAIN);
    table_add_cell(t, slice_of(when), OUT_PLAIN);
    table_add_cell(t, s->name.n > 0 ? s->name : slice_of("-"), OUT_CYAN);
    if (s->records > 0)
        table_add_int(t, s->records, OUT_PLAIN);
    else
        table_add_cell(t, slice_of("-"), OUT_PLAIN);
    table_add_cell(t, slice_of(audit_status_name(s->status)), styles[s->status]);
}

static void add_session_details(struct verify_output *r, const struct audit_session *s)
{
    char where[64];
    snprintf(where, sizeof where, "session %lld", (long long)s->id);
    if (s->status == AUDIT_TAMPERED) {
        add_fault_details(r, s->id != 0 ? where : "log", &s->wrong);
    } else if (s->why[0] != '\0' && r->shown++ < DETAILS_MAX) {
        buf_printf(&r->details, "%s: %s.\n", where, s->why);
    } else if (s->status == AUDIT_REDACTED && r->shown++ < DETAILS_MAX) {
        buf_printf(&r->details, "%s: %lld record%s redacted, the last time %s.\n", where,
                   (long long)s->redacted, s->redacted == 1 ? " was" : "s were",
                   clock_format_local_time(s->redacted_at_us).s);
    }
}

static void print_session_counts(struct verify_output *r)
{
    static const enum audit_status order[] = {AUDIT_TAMPERED,     AUDIT_INCOMPLETE, AUDIT_VALID,
                                              AUDIT_NOT_ANCHORED, AUDIT_REDACTED,   AUDIT_OPEN,
                                              AUDIT_REMOVING,     AUDIT_NOT_COVERED};
    struct out *o = &r->reporting.out;
    const char *before = ": ";
    size_t from = o->b.n;
    out_printf(o, "%llu session%s", (unsigned long long)r->tests, r->tests == 1 ? "" : "s");
    for (size_t i = 0; i < MI_COUNT(order); i++) {
        if (r->n[order[i]] == 0)
            continue;
        out_printf(o, "%s%llu %s", before, (unsigned long long)r->n[order[i]],
                   audit_status_name(order[i]));
        before = "; ";
    }
    out_fill_line(o, from, 2);
}

static void print_log_summary(struct verify_output *r, const struct audit_vault *v)
{
    struct out *o = &r->reporting.out;
    size_t from = o->b.n;
    if (!v->has_log) {
        if (v->wrong > 0)
            return;
        out_add_raw(o, "This vault was recorded by a version without evidence. Sessions that are "
                       "recorded from now on have evidence.");
        out_fill_line(o, from, 2);
        return;
    }
    out_printf(o, "log: %lld %s, ", (long long)v->leaves, v->leaves == 1 ? "leaf" : "leaves");
    if (v->unsigned_leaves == v->leaves)
        out_add_raw(o, "not signed");
    else if (v->unsigned_leaves == 0)
        out_add_raw(o, "all signed");
    else
        out_printf(o, "the last %lld not signed", (long long)v->unsigned_leaves);
    if (v->anchored > 0)
        out_printf(o, ", the first %lld anchored", (long long)v->anchored);
    else
        out_add_raw(o, ", not anchored");
    if (r->wrong > 0)
        out_printf(o, "; %llu %s wrong", (unsigned long long)r->wrong,
                   r->wrong == 1 ? "thing is" : "things are");
    out_fill_line(o, from, 2);
}

static uint64_t count_unfinished_sessions(const struct verify_output *r)
{
    return r->n[AUDIT_INCOMPLETE] + r->n[AUDIT_REMOVING];
}

/* Returns the name of the verdict, also for --json. */
static const char *verify_output_get_verdict_name(const struct verify_output *r)
{
    bool tampered = r->wrong > 0 || r->n[AUDIT_TAMPERED] > 0;
    return tampered ? "TAMPERED" : count_unfinished_sessions(r) > 0 ? "incomplete" : "valid";
}

/* Prints what was compared with the log and the checkpoints, and what was not. */
static void print_compared_parts(struct verify_output *r, const struct audit_vault *v)
{
    struct out *o = &r->reporting.out;
    uint64_t covered = r->tests - r->n[AUDIT_NOT_COVERED] - r->n[AUDIT_REMOVING];
    size_t from = o->b.n;
    out_printf(o,
               "compared: the database, %llu session%s, the log, %lld checkpoint%s of the vault, "
               "%lld from files or anchors%s",
               (unsigned long long)covered, covered == 1 ? "" : "s", (long long)v->checkpoints,
               v->checkpoints == 1 ? "" : "s", (long long)v->notes,
               v->kept > 0 ? ", and the checkpoint next to the key" : "");
    out_fill_line(o, from, 2);
    from = o->b.n;
    out_add_raw(o, "not compared: ");
    if (!v->all)
        out_add_raw(o, "other sessions, ");
    if (r->n[AUDIT_NOT_COVERED] > 0)
        out_printf(o, "%llu without evidence, ", (unsigned long long)r->n[AUDIT_NOT_COVERED]);
    if (r->n[AUDIT_REMOVING] > 0)
        out_printf(o, "%llu being removed, ", (unsigned long long)r->n[AUDIT_REMOVING]);
    if (r->n[AUDIT_OPEN] > 0)
        out_printf(o, "the end of %llu running session%s, ", (unsigned long long)r->n[AUDIT_OPEN],
                   r->n[AUDIT_OPEN] == 1 ? "" : "s");
    if (v->has_key && !v->trusted)
        out_add_raw(o, "the key (--key), ");
    out_add_raw(o,
                "the tables `running`, `operations`, `escalations`, `shipped` and `ship_targets`, "
                "and the directories Logs/, Escalations/ and Search/");
    out_fill_line(o, from, 2);
}

/* Prints the last line, the verdict. The exit status expresses the same verdict. */
static void print_verdict(struct verify_output *r, const struct audit_vault *v)
{
    struct out *o = &r->reporting.out;
    unsigned long long wrong = r->n[AUDIT_TAMPERED] + r->wrong, open = count_unfinished_sessions(r);
    out_add_raw(o, "verdict: ");
    out_print_styled_words(o,
                           wrong > 0  ? OUT_RED
                           : open > 0 ? OUT_YELLOW
                                      : OUT_GREEN,
                           verify_output_get_verdict_name(r));
    if (wrong > 0)
        out_printf(o, ": %llu thing%s wrong; %s", wrong, wrong == 1 ? " is" : "s are",
                   v->stopped ? "nothing else was compared" : "recorded data was changed");
    else if (open > 0)
        out_printf(o, ": %llu session%s incomplete; the rest agrees with the log", open,
                   open == 1 ? " is" : "s are");
    else if (!v->has_log)
        out_add_raw(o, ", but no session has evidence: nothing was compared");
    else if (v->anchored == 0 && v->kept > 0)
        out_add_raw(
            o, ": the vault agrees with its log, and the log agrees with the checkpoint next to "
               "the key");
    else if (v->anchored == 0)
        out_add_raw(o, ": the vault agrees with its own log, but was compared with nothing else");
    else if (v->anchored < v->leaves)
        out_printf(o, ": the vault agrees with its log; the first %lld of %lld leaves are anchored",
                   (long long)v->anchored, (long long)v->leaves);
    else
        out_add_raw(o, ": the vault agrees with its log, and the whole log is anchored");
    out_end_line(o);
}

static int verify_output_print_text(struct verify_output *r, const struct audit_vault *v)
{
    struct out *o = &r->reporting.out;
    bool fine = true;
    if (r->tests > 0) {
        fine = table_print(&r->table, o);
        out_end_line(o);
    }
    out_print_paragraphs(o, 2, buf_slice(&r->details));
    if (r->shown > DETAILS_MAX)
        out_printf(o, "and %zu more: see --json\n", r->shown - DETAILS_MAX);
    if (r->shown > 0)
        out_end_line(o);
    if (!v->stopped) {
        print_session_counts(r);
        print_log_summary(r, v);
    }
    if (!v->stopped && v->has_log)
        print_compared_parts(r, v);
    print_verdict(r, v);
    return fine && !r->details.failed ? EXIT_FINE : EXIT_TROUBLE;
}

/* ---- the functions of the header ------------------------------------------------------------- */

void verify_output_add_session(struct verify_output *r, const struct audit_session *s)
{
    r->n[s->status]++;
    r->tests++;
    add_session_to_report(&r->reporting.report, s);
    if (r->reporting.json)
        json_add_audited_session(r, s);
    if (r->reporting.text) {
        verify_output_add_table_row(r, s);
        add_session_details(r, s);
    }
}

void verify_output_add_fault(struct verify_output *r, const struct audit_wrong *w)
{
    r->wrong++;
    add_fault_to_report(&r->reporting.report,
                        begin_report_case_of_log(&r->reporting.report, w->record), w);
    if (r->reporting.json) {
        struct json_out *j = reporting_begin_row(&r->reporting);
        json_out_str(j, "type", "log");
        json_add_fault(j, w);
        reporting_end_row(&r->reporting);
    }
    if (r->reporting.text)
        add_fault_details(r, "", w);
}

int verify_output_print_all(struct verify_output *r, const struct audit_vault *v)
{
    bool found = r->wrong > 0 || r->n[AUDIT_TAMPERED] > 0 || count_unfinished_sessions(r) > 0;
    if (r->wrong == 0) {
        (void)begin_report_case_of_log(&r->reporting.report, "");
        report_add_case(&r->reporting.report);
    }
    if (r->reporting.json)
        json_add_audited_vault(r, v, verify_output_get_verdict_name(r));
    if (r->reporting.text && verify_output_print_text(r, v) != EXIT_FINE)
        r->reporting.out.b.failed = true;
    int status = reporting_close(&r->reporting);
    return status != EXIT_FINE ? status : found ? EXIT_FOUND : EXIT_FINE;
}
