/* command.c - `mcp-interposer diff [A] [B]`: compares two recordings call by call. */
#include "cli/diff/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/diff/diff_text.h"
#include "cli/diff/forms.h"
#include "cli/frame/filter.h"
#include "cli/frame/pager.h"
#include "cli/frame/recording.h"
#include "cli/frame/reporting.h"
#include "cli/frame/session.h"
#include "cli/settings/config.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {'i', "ignore", "POINTER...", NULL,
     "value in params and answers to ignore, such as /content/0/text; * matches one level"},
    {0, "slower", "FACTOR", NULL,
     "report a call as different if it took more than FACTOR times as long, such as 1.5"},
    {0, "slower-by", "DURATION", "10ms",
     "with --slower: only if the call took at least this much longer, too"},
    FILTER_CALL_OPTS,
    {'v', "verbose", NULL, NULL, "print the calls that are the same, too"},
    {0, "json", NULL, NULL, "print one JSON object per line for each call, and one for the sums"},
    REPORTING_OPTS,
    SESSION_STORE_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Compares the second recording with the first, and reports calls that were added,\n"
    "are missing, were moved, or differ in arguments, results or status. A single\n"
    "SESSION is compared with the previous session of its server; without SESSION,\n"
    "the newest finished session is compared.\n"
    COMMAND_SESSION_HELP
    "FILE is a cassette; its name contains a `/` or a `.`. The name of a server,\n"
    "`last` or no argument selects the newest finished session.\n"
    "Exit status: 0 the same; 1 different; 2 usage error; 3 failure.\n";
/* clang-format on */

struct diffing {
    const struct settings *s;
    struct recording recording[DIFF_SIDES];
    /* names and titles of the recordings; borrowed from `recording` */
    struct slice name[DIFF_SIDES], title[DIFF_SIDES];
    struct diff_rules rules;
    struct filter filter;
    struct diff *diff;
    struct result result;
    struct result_counts counts;
    struct reporting reporting;
    struct report_place place[DIFF_SIDES];
    bool verbose;
};

/* ---- options ---- */

/* Reads a factor such as "2", "1.5" or "2x". Returns 0, or MI_EINVAL if the factor is invalid. */
static int parse_slowdown_factor(const char *text, double *ret)
{
    size_t n = strspn(text, "0123456789.");
    char *end;
    double factor = strtod(text, &end);
    if (n == 0 || end != text + n || strcmp(end, end[0] == 'x' ? "x" : "") != 0 || factor < 1 ||
        factor > 1e6)
        return MI_EINVAL;
    *ret = factor;
    return 0;
}

static int read_ignore_option(struct diffing *x)
{
    struct buf error = {0};
    const char *pointer;
    size_t at = 0;
    int status = EXIT_FINE;
    while (status == EXIT_FINE && (pointer = settings_next_value(x->s, "ignore", &at)) != NULL)
        if (pointers_add(&x->rules.canon.ignore, "", slice_of(pointer), &error) < 0)
            status = settings_fail_usage(x->s, "--ignore: %s", buf_str(&error));
    if (status == EXIT_FINE && x->s->set.overflow)
        status = settings_fail_usage(x->s, "--ignore: at most %d pointers", OPT_MANY_MAX);
    buf_close(&error);
    return status;
}

static bool diff_selects_call(void *ctx, struct slice method, struct slice target)
{
    const struct diffing *x = ctx;
    return filter_matches_call(&x->filter, method, target);
}

static int read_options(struct diffing *x)
{
    const char *slower = settings_get_text(x->s, "slower");
    x->rules.canon.across = true;
    x->rules.slower_min_us = settings_duration_us(x->s, "slower-by");
    x->verbose = settings_is_on(x->s, "verbose");
    filter_read_from_options(&x->filter, x->s);
    if (x->filter.tool != NULL || x->filter.method != NULL) {
        x->rules.takes = diff_selects_call;
        x->rules.ctx = x;
    }
    int status = reporting_open(&x->reporting, x->s, settings_is_on(x->s, "json"));
    if (status != EXIT_FINE)
        return status;
    if (slower != NULL && parse_slowdown_factor(slower, &x->rules.slower) < 0)
        return settings_fail_usage(
            x->s, "--slower: invalid factor '%s': use a number such as 2 or 1.5", slower);
    return read_ignore_option(x);
}

/* ---- the recordings ---- */

static int open_recordings(struct diffing *x)
{
    char *const *ref = x->s->operands;
    struct recording *a = &x->recording[DIFF_A], *b = &x->recording[DIFF_B];
    int status;
    if (x->s->operands_n == 2) {
        status = recording_open_operand(a, x->s, ref[0], NULL);
        if (status == EXIT_FINE)
            status = recording_open_operand(b, x->s, ref[1], NULL);
    } else if (recording_is_file(ref[0])) {
        return settings_fail_usage(
            x->s,
            "'%s' needs a second recording: add a session, such as `last`, or "
            "another file",
            ref[0]);
    } else {
        status = recording_open_operand(b, x->s, ref[0], NULL);
        if (status == EXIT_FINE)
            status = recording_open_previous(a, x->s, b);
    }
    for (int i = 0; i < DIFF_SIDES; i++) {
        x->name[i] = x->recording[i].name;
        x->title[i] = buf_slice(&x->recording[i].title);
        *(x->recording[i].file != NULL ? &x->place[i].file : &x->place[i].session) = x->name[i];
    }
    return status;
}

/* ---- output ---- */

static void begin_output(struct diffing *x, int64_t began_us)
{
    struct buf title = {0};
    buf_adds(&title, "diff ");
    buf_slice_add(&title, x->name[DIFF_A]);
    buf_addc(&title, ' ');
    buf_slice_add(&title, x->name[DIFF_B]);
    report_begin_suite(&x->reporting.report, buf_slice(&title), slice_of("mcp-interposer.diff"),
                       began_us);
    diff_add_session_difference(&x->reporting.report, x->diff, x->place);
    if (x->reporting.text)
        diff_text_begin(&x->reporting.out, x->diff, x->title);
    x->reporting.report.failed |= title.failed;
    buf_close(&title);
}

static void diff_print_row(struct diffing *x)
{
    const struct result *r = &x->result;
    struct reporting *to = &x->reporting;
    bool shown = x->verbose || r->change != RESULT_SAME || r->look.unread;
    struct report_case *c = diff_add_row_to_report(&to->report, &to->out, r, x->place);
    if (to->json && shown) {
        diff_json_add_row(reporting_begin_row(to), r, SIZE_MAX);
        reporting_end_row(to);
    }
    if (to->text && shown)
        diff_text_print_row(&to->out, r, buf_slice(&c->detail));
    to->out.b.failed |= c->detail.failed;
    report_add_case(&to->report);
}

static void finish_diff_output(struct diffing *x)
{
    if (x->reporting.json) {
        struct json_out *j = reporting_begin_row(&x->reporting);
        struct diff_name name[DIFF_SIDES];
        for (int i = 0; i < DIFF_SIDES; i++)
            name[i] = (struct diff_name){x->name[i], x->recording[i].session_id};
        json_out_str(j, "type", "summary");
        diff_json_add_both_recordings(j, x->diff, name);
        diff_json_add_counts(j, &x->counts);
        reporting_end_row(&x->reporting);
    }
    if (x->reporting.text)
        diff_text_end(&x->reporting.out, x->diff, &x->counts);
}

/* ---- the comparison ---- */

static int compare_rows(struct diffing *x, int64_t began_us)
{
    uint32_t n = diff_count_rows(x->diff);
    struct diff_fact f;
    for (size_t i = 0; diff_get_session_difference(x->diff, i, &f); i++)
        x->counts.facts += f.counts;
    begin_output(x, began_us);
    for (uint32_t i = 0; i < n; i++) {
        int st = result_compare_row(&x->result, x->diff, i);
        if (st < 0)
            return st;
        if ((x->filter.failed && !result_has_failed_call(&x->result)) ||
            (x->filter.slow_us > 0 && !result_has_slow_call(&x->result, x->filter.slow_us)))
            continue;
        result_add_to_counts(&x->counts, &x->result);
        diff_print_row(x);
    }
    finish_diff_output(x);
    return 0;
}

static int diff_compare_and_print(struct diffing *x)
{
    struct buf error = {0};
    struct pager pager = {.terminal = -1};
    int64_t began = clock_mono_us();
    int st = diff_open(&x->diff, x->recording[DIFF_A].source, x->recording[DIFF_B].source,
                       &x->rules, &error);
    if (st < 0) {
        log_error("%s", buf_str(&error));
        buf_close(&error);
        return EXIT_TROUBLE;
    }
    if (x->reporting.text)
        pager_open(&pager, &x->reporting.out);
    st = compare_rows(x, began);
    if (st < 0)
        log_error("%s", diff_error(x->diff));
    int status = st < 0 ? EXIT_TROUBLE : reporting_close(&x->reporting);
    reporting_close_without_files(&x->reporting);
    pager_close(&pager);
    return status != EXIT_FINE                  ? status
           : result_has_differences(&x->counts) ? EXIT_FOUND
                                                : EXIT_FINE;
}

static int diff_run(const struct settings *s)
{
    struct diffing *x = calloc(1, sizeof *x);
    if (x == NULL) {
        log_error("out of memory");
        return EXIT_TROUBLE;
    }
    x->s = s;
    int status = read_options(x);
    if (status == EXIT_FINE)
        status = open_recordings(x);
    if (status == EXIT_FINE)
        status = diff_compare_and_print(x);
    diff_close(x->diff);
    result_close(&x->result);
    reporting_close_without_files(&x->reporting);
    for (int i = 0; i < DIFF_SIDES; i++)
        recording_close(&x->recording[i]);
    pointers_close(&x->rules.canon.ignore);
    free(x);
    return status;
}

const struct command command_diff = {
    .name = "diff",
    .aliases = "compare",
    .summary = "compare two recordings, call by call",
    .usage = "[OPTIONS] [SESSION|FILE] [SESSION|FILE]",
    .about = about,
    .table = table_of_options,
    .operands_max = 2,
    .run = diff_run,
};
