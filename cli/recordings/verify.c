/* verify.c - `mcp-interposer verify SESSION|FILE -- SERVER…`: compares a live server with a recording. */
#include "cli/recordings/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/frame/out.h"
#include "cli/frame/recording.h"
#include "cli/frame/save.h"
#include "cli/recordings/update.h"
#include "cli/settings/config.h"
#include "replay/verify/report.h"
#include "wire/json/text.h"

#include <limits.h>
#include <signal.h>

static const struct opt table_of_options[] = {
    {'i', "ignore", "POINTER...", NULL,
     "place in the results to ignore, such as /content/0/text; * matches one level"},
    {'a', "all", NULL, NULL, "call every tool, whatever it may change"},
    {'u', "update", NULL, NULL, "write the new answers into FILE"},
    {'t', "timeout", "DURATION", "30s", "deadline of each answer"},
    {0, "grace", "DURATION", "1.5s",
     "from closing the server's stdin to SIGKILL; SIGTERM half-way"},
    {0, "report", "FILE", NULL, "write the results as JSON; -: stdout, in place of the text"},
    {0, "json", NULL, NULL, "the same as --report -"},
    {0, "junit", "FILE", NULL, "write the results as JUnit XML"},
    {'v', "verbose", NULL, NULL, "print the requests that match, too"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Sends the requests of a recording to SERVER, one after the other, and compares\n"
    "its answers.\n" COMMAND_SESSION_HELP
    "FILE contains a `/` or a `.` and is a cassette. A name, `last` or neither: the\n"
    "newest finished session. Only requests that read are sent, and calls of tools\n"
    "marked read-only or idempotent; --all sends the others, too. The order of tools,\n"
    "prompts and resources in a list is ignored.\n"
    "Exit status: 0 all answers match; 1 some differ or are missing; 2 usage error;\n"
    "3 failure.\n";
/* clang-format on */

struct verifying {
    struct out out;
    struct verify_report report;
    struct update *update; /* NULL: without --update */
    bool quiet, verbose;
    int status; /* of update_keep() */
};

/* ---- output for people ---- */

static void print_raw(struct out *o, struct slice raw)
{
    struct buf b = {0};
    json_unescape(&b, raw);
    out_text(o, buf_slice(&b));
    buf_close(&b);
}

static void print_value(struct out *o, struct slice value)
{
    if (value.p == NULL) {
        out_raw(o, "missing");
        return;
    }
    struct slice head = text_head(value, VERIFY_VALUE_MAX);
    out_text(o, head);
    if (head.n < value.n)
        out_raw(o, "...");
}

static void print_differences(struct out *o, const struct verify_result *r)
{
    size_t n = size_min(r->differences, VERIFY_DIFFERENCES_MAX);
    for (size_t i = 0; i < n; i++) {
        const struct verify_difference *d = &r->difference[i];
        out_raw(o, "    ");
        size_t from = o->b.n;
        out_text(o, d->pointer.n > 0 ? d->pointer : slice_of("(all)"));
        out_raw(o, ": recorded ");
        print_value(o, d->recorded);
        out_raw(o, ", live ");
        print_value(o, d->live);
        out_fill_line(o, from, 4);
    }
    if (r->differences > n) {
        out_printf(o, "    and %zu more", r->differences - n);
        out_end_line(o);
    }
}

static void print_result(struct out *o, const struct verify_result *r)
{
    static const enum out_style styles[VERIFY_VERDICTS] = {OUT_GREEN, OUT_RED, OUT_RED,
                                                           OUT_RED,   OUT_RED, OUT_YELLOW};
    out_style(o, styles[r->verdict]);
    out_printf(o, "%-14s", verify_verdict_name(r->verdict));
    out_style(o, OUT_PLAIN);
    out_raw(o, " ");
    size_t from = o->b.n;
    out_printf(o, "%lld ", (long long)r->seq);
    print_raw(o, r->method);
    if (r->target.p != NULL) {
        out_raw(o, " ");
        print_raw(o, r->target);
    }
    if (r->reason != NULL)
        out_printf(o, ": %s", r->reason);
    if (r->remedy != NULL)
        out_printf(o, "; %s", r->remedy);
    out_fill_line(o, from, 15);
    print_differences(o, r);
}

static void print_summary(struct out *o, const struct verify_report *r)
{
    size_t from = o->b.n;
    uint64_t n = verify_report_requests(r);
    out_printf(o, "%llu %s:", (unsigned long long)n, n == 1 ? "request" : "requests");
    for (int i = 0; i < VERIFY_VERDICTS; i++)
        if (r->counts[i] > 0 || i == VERIFY_MATCH)
            out_printf(o, "%s %llu %s", i > 0 ? "," : "", (unsigned long long)r->counts[i],
                       verify_verdict_name((enum verify_verdict)i));
    out_fill_line(o, from, 0);
}

static void on_result(void *ctx, const struct verify_result *r)
{
    struct verifying *v = ctx;
    verify_report_add(&v->report, r);
    if (!v->quiet && (v->verbose || r->verdict != VERIFY_MATCH))
        print_result(&v->out, r);
    bool differs =
        r->verdict == VERIFY_CHANGED || r->verdict == VERIFY_SCHEMA || r->verdict == VERIFY_GONE;
    if (v->update != NULL && differs && v->status == 0)
        v->status = update_keep(v->update, r->answer_seq, r->live);
}

/* ---- files ---- */

typedef void (*report_fn)(const struct verify_report *r, struct slice recording, int64_t lasted_us,
                          struct buf *b);

/* path: NULL: no report. */
static int write_report(const char *path, report_fn fn, const struct verifying *v,
                        struct slice recording, int64_t lasted_us)
{
    struct buf b = {0};
    if (path == NULL)
        return EXIT_FINE;
    fn(&v->report, recording, lasted_us, &b);
    int status = save_buf(path, &b);
    buf_close(&b);
    return status;
}

/* ---- the run ---- */

static bool is_stdout(const struct settings *s, const char *option)
{
    const char *path = settings_text(s, option);
    return path != NULL && strcmp(path, "-") == 0;
}

/* EXIT_FINE: the recording was verified, whatever the verdicts. */
static int verify_recording(const struct settings *s, struct recording *r,
                            const struct pointers *ignore, char *const *argv, struct verifying *v)
{
    struct verify_config cfg = {
        .argv = argv,
        .ignore = ignore,
        .all = settings_on(s, "all"),
        .timeout_us = settings_duration_us(s, "timeout"),
        .grace_us = settings_duration_us(s, "grace"),
    };
    struct buf error = {0};
    out_open(&v->out);
    int st = verify_run(&cfg, r->source, on_result, v, &error);
    if (st == 0)
        st = v->status;
    if (st < 0)
        log_error("%s", error.n > 0 ? buf_str(&error) : "out of memory");
    else if (!v->quiet)
        print_summary(&v->out, &v->report);
    buf_close(&error);
    int status = out_close(&v->out);
    return st < 0 ? EXIT_TROUBLE : status;
}

static int write_reports(const struct settings *s, const struct verifying *v,
                         struct slice recording, int64_t lasted_us)
{
    bool json = settings_on(s, "json") && !is_stdout(s, "report");
    int status = write_report(json ? "-" : NULL, verify_report_json, v, recording, lasted_us);
    if (status == EXIT_FINE)
        status =
            write_report(settings_text(s, "report"), verify_report_json, v, recording, lasted_us);
    if (status == EXIT_FINE)
        status =
            write_report(settings_text(s, "junit"), verify_report_junit, v, recording, lasted_us);
    return status;
}

static int run_on(const struct settings *s, struct recording *r, const struct pointers *ignore,
                  char *const *argv)
{
    struct verifying v = {
        .quiet = settings_on(s, "json") || is_stdout(s, "report") || is_stdout(s, "junit"),
        .verbose = settings_on(s, "verbose"),
    };
    int64_t began = clock_mono_us();
    if (settings_on(s, "update") && update_open(&v.update) < 0) {
        log_error("out of memory");
        return EXIT_TROUBLE;
    }
    int status = verify_recording(s, r, ignore, argv, &v);
    int64_t lasted = clock_mono_us() - began;
    if (status == EXIT_FINE)
        status = write_reports(s, &v, r->name, lasted);
    if (status == EXIT_FINE && v.update != NULL)
        status = update_write(v.update, r->file);
    if (status == EXIT_FINE && verify_report_differs(&v.report))
        status = EXIT_FOUND;
    update_close(v.update);
    verify_report_close(&v.report);
    return status;
}

static int verify(const struct settings *s, const char *ref, char *const *argv)
{
    struct pointers ignore = {0};
    struct recording r = {0};
    struct buf error = {0};
    const char *pointer;
    size_t at = 0;
    int status = EXIT_FINE;
    while (status == EXIT_FINE && (pointer = settings_each(s, "ignore", &at)) != NULL)
        if (pointers_add(&ignore, "", slice_of(pointer), &error) < 0)
            status = settings_usage(s, "--ignore: %s", buf_str(&error));
    if (status == EXIT_FINE && settings_on(s, "update") && !recording_is_file(ref))
        status = settings_usage(s, "--update requires a FILE: export the session first");
    if (status == EXIT_FINE && s->set.overflow)
        status = settings_usage(s, "--ignore: at most %d places", OPT_MANY_MAX);
    if (status == EXIT_FINE)
        status = recording_open(&r, s, ref, NULL);
    if (status == EXIT_FINE)
        status = run_on(s, &r, &ignore, argv);
    recording_close(&r);
    pointers_close(&ignore);
    buf_close(&error);
    return status;
}

static int run(const struct settings *s)
{
    (void)signal(SIGPIPE, SIG_IGN);
    int at = s->set.operands_before_dashes;
    int status;
    if (at < 0 || at == s->operands_n)
        status = settings_usage(s, "missing server: put its command after '--'");
    else if (at > 1)
        status = settings_usage(s, "unexpected argument '%s'", s->operands[1]);
    else
        status = verify(s, at == 1 ? s->operands[0] : NULL, s->operands + at);
    return status;
}

const struct command command_verify = {
    .name = "verify",
    .summary = "compare a live server's answers with a recording",
    .usage = "[OPTIONS] [SESSION|FILE] -- SERVER [ARG...]",
    .about = about,
    .table = table_of_options,
    .operands_max = INT_MAX,
    .run = run,
};
