/* command.c - `mcp-interposer check [SESSION|FILE…]`: checks recordings, for the CI of a server. */
#include "cli/check/commands.h"

#include "base/grow.h"
#include "base/log.h"
#include "cli/check/forms.h"
#include "cli/check/recording_check.h"
#include "cli/frame/filter.h"
#include "cli/frame/recording.h"
#include "cli/frame/reporting.h"
#include "cli/frame/session.h"
#include "model/context.h"

#include <stdlib.h>

#define OPERANDS_MAX 1000
#define TEXT_OF(n) #n
#define NUMBER_TEXT(n) TEXT_OF(n)

static const struct opt table_of_options[] = {
    {'F', "format", "text|json|junit|sarif", "text", "output format"},
    {0, "json", NULL, NULL, "the same as --format json"},
    {'o', "output", "FILE", "-", "output file; -: stdout"},
    REPORTING_OPTS,
    {0, "fail-on", "LIST", "error",
     "which findings lead to exit status 1: names, error, warning, note, none"},
    {'i', "ignore", "LIST", NULL, "names of findings to ignore"},
    {0, "large-result", "N", NUMBER_TEXT(CONTEXT_LARGE_RESULT),
     "report answers with more estimated tokens than this as large-result"},
    {0, "only", "client|server|both", "both", "only findings about messages of this side"},
    {'a', "all", NULL, NULL, "check every session of the vault"},
    FILTER_CALL_OPTS,
    FILTER_OPTS,
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Reports unusual messages and protocol violations in recordings: the findings\n"
    "that were noted while recording, and those of the rules of this version.\n"
    "findings.md explains them (`mcp-interposer help` says where it is).\n" COMMAND_SESSION_HELP
    "FILE is a cassette; its name contains a `/` or a `.`. Without SESSION and FILE:\n"
    "the newest session that has a message, or with --all, --server, --client,\n"
    "--since or --until all matching sessions, oldest first.\n"
    "--tool, --method, --failed, --slow, --since and --until select the messages\n"
    "that are reported.\n"
    "Exit status: 0 no finding of --fail-on; 1 such a finding; 2 usage error;\n"
    "3 failure.\n";
/* clang-format on */

/* Opens the vault, unless it is open already. */
static int open_vault_if_not_open(const struct settings *s, struct check_report *report,
                                  struct query **q)
{
    int status = *q == NULL ? session_vault_open(s, q) : EXIT_FINE;
    if (status != EXIT_FINE)
        return status;
    int st = query_has_several_vaults(*q, &report->several);
    return st < 0 ? session_report_query_error(*q, st) : EXIT_FINE;
}

static int check_one_recording(const struct settings *s, struct check_report *report,
                               const struct filter *filter, const char *ref, struct query **q)
{
    struct query_session x;
    if (recording_is_file(ref)) {
        struct buf error = {0};
        int st = recording_check_run_on_file(report, filter, ref, &error);
        if (st < 0)
            log_error("%s", st == MI_ENOMEM ? "out of memory" : buf_str(&error));
        buf_close(&error);
        return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
    }
    int status = open_vault_if_not_open(s, report, q);
    if (status != EXIT_FINE)
        return status;
    int st = query_session(*q, ref, &x);
    if (st == 0)
        st = recording_check_run_on_session(report, filter, *q, &x, NULL);
    return st < 0 ? session_report_query_error(*q, st) : EXIT_FINE;
}

/* The sessions that match the options. */
struct selection {
    struct filter filter;
    int64_t *id; /* owned; the ids of the sessions, newest first */
    size_t n, cap;
    int status;
};

static bool filter_selects_sessions(const struct filter *f)
{
    return f->server != NULL || f->client != NULL || f->project != NULL ||
           f->since_us != INT64_MIN || f->until_us != INT64_MAX;
}

static bool add_session_to_selection(void *ctx, const struct query_session *s)
{
    struct selection *w = ctx;
    w->status = GROW(w->id, w->n, w->cap) ? 0 : MI_ENOMEM;
    if (w->status == 0)
        w->id[w->n++] = s->id;
    return w->status == 0;
}

/* Checks all sessions that match, oldest first. Reports an error if there is none. */
static int check_matching_sessions(const struct settings *s, struct check_report *report,
                                   struct selection *w, struct query **q)
{
    struct query_session x;
    int status = open_vault_if_not_open(s, report, q);
    if (status != EXIT_FINE)
        return status;
    int st = query_matching_sessions(*q, &w->filter, FILTER_HOLDS, 0, add_session_to_selection, w);
    st = st == 0 ? w->status : st;
    if (st == 0 && w->n == 0) {
        log_error("no matching session in %s; see: mcp-interposer sessions", query_vault(*q));
        return EXIT_TROUBLE;
    }
    for (size_t i = w->n; st == 0 && i-- > 0;) {
        st = query_session_by_id(*q, w->id[i], &x);
        if (st == 0)
            st = recording_check_run_on_session(report, &w->filter, *q, &x, NULL);
    }
    return st < 0 ? session_report_query_error(*q, st) : EXIT_FINE;
}

static int check_operands(const struct settings *s, struct check_report *report, struct query **q)
{
    struct selection w = {0};
    int status = EXIT_FINE;
    filter_read_from_options(&w.filter, s);
    bool all = settings_is_on(s, "all") || filter_selects_sessions(&w.filter);
    if (all && s->operands_n > 0)
        status = settings_fail_usage(
            s, "'%s': name sessions, or select them with options, not both", s->operands[0]);
    else if (all)
        status = check_matching_sessions(s, report, &w, q);
    for (int i = 0; !all && status == EXIT_FINE && (i < s->operands_n || i == 0); i++)
        status = check_one_recording(s, report, &w.filter, s->operands[i], q);
    free(w.id);
    return status;
}

static int write_report(const struct check_report *report, struct reporting *r)
{
    if (r->text)
        check_print_text(report, &r->out);
    if (r->json) {
        check_report_print_json(report, reporting_begin_row(r));
        reporting_end_row(r);
    }
    if (r->junit != NULL || r->sarif != NULL)
        check_add_findings_to_report(report, &r->report);
    r->out.b.failed |= check_report_has_failed(report);
    return reporting_close(r);
}

static int check_run(const struct settings *s)
{
    struct query *q = NULL;
    struct check_report report;
    struct reporting r;
    struct buf error = {0};
    int status = reporting_open(&r, s, settings_is_on(s, "json"));
    check_report_open(&report);
    if (status == EXIT_FINE &&
        !check_set_failing_findings(&report, settings_get_text(s, "fail-on"), &error))
        status = settings_fail_usage(s, "--fail-on: %s", buf_str(&error));
    else if (status == EXIT_FINE && settings_get_text(s, "ignore") != NULL &&
             !check_set_ignored_findings(&report, settings_get_text(s, "ignore"), &error))
        status = settings_fail_usage(s, "--ignore: %s", buf_str(&error));
    report.large_result = settings_get_number(s, "large-result");
    report.of_client = !settings_value_equals(s, "only", "server");
    report.of_server = !settings_value_equals(s, "only", "client");
    if (status == EXIT_FINE)
        status = check_operands(s, &report, &q);
    if (status == EXIT_FINE)
        status = write_report(&report, &r);
    else
        reporting_close_without_files(&r);
    if (status == EXIT_FINE && report.failing > 0)
        status = EXIT_FOUND;
    check_report_close(&report);
    query_close(q);
    buf_close(&error);
    return status;
}

const struct command command_check = {
    .name = "check",
    .summary = "report violations and other findings in recordings",
    .usage = "[OPTIONS] [SESSION|FILE...]",
    .about = about,
    .table = table_of_options,
    .operands_max = OPERANDS_MAX,
    .run = check_run,
};
