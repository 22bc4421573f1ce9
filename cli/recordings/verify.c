/* verify.c - `mcp-interposer verify SESSION|FILE -- SERVER…`: compares a live server with a
 * recording. */
#include "cli/recordings/commands.h"

#include "base/clock.h"
#include "base/grow.h"
#include "base/log.h"
#include "cli/frame/recording.h"
#include "cli/frame/save.h"
#include "cli/recordings/verify_report.h"
#include "redact/sanitizer.h"
#include "vault/cassette/cassette_file.h"
#include "wire/rpc.h"

#include <limits.h>
#include <signal.h>
#include <stdlib.h>

static const struct opt table_of_options[] = {
    {'i', "ignore", "POINTER...", NULL,
     "value in the results to ignore, such as /content/0/text; * matches one level"},
    {'a', "all", NULL, NULL, "call every tool, even if it may change something"},
    {'u', "update", NULL, NULL, "write the new answers into FILE"},
    {'t', "timeout", "DURATION", "30s", "deadline of each answer"},
    {0, "grace", "DURATION", "1.5s",
     "time from closing the server's stdin to SIGKILL; SIGTERM is sent after half of this time"},
    {0, "report", "FILE", NULL, "write the results as JSON; -: stdout, in place of the text"},
    {0, "json", NULL, NULL, "the same as --report -"},
    REPORTING_OPTS,
    {'v', "verbose", NULL, NULL, "print the requests that match, too"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Sends the requests of a recording to SERVER, one after the other, and compares\n"
    "its answers.\n" COMMAND_SESSION_HELP
    "FILE is a cassette; its name contains a `/` or a `.`. The name of a server,\n"
    "`last` or no argument selects the newest finished session. Only requests that\n"
    "read are sent, and calls of tools marked read-only or idempotent; --all sends\n"
    "the others, too. The order of tools, prompts and resources in a list is ignored.\n"
    "Exit status: 0 all answers match; 1 some differ or are missing; 2 usage error;\n"
    "3 failure.\n";
/* clang-format on */

/* ---- --update: new answers, collected during the verification and written at its end ---- */

struct answer {
    int64_t seq;
    size_t at, n; /* offset and length of the answer in update.text */
};

struct update {
    struct answer *answers; /* the new answers, sorted by seq, ascending; owned */
    size_t n, cap;
    size_t next;     /* index in `answers` of the first answer that is not written yet */
    struct buf text; /* owned; the texts of the answers */
    struct cassette_writer *w;
    int status; /* the error of a callback; 0: none */
};

static int answer_update_open(struct update **ret)
{
    struct update *u = calloc(1, sizeof *u);
    if (u == NULL)
        return MI_ENOMEM;
    *ret = u;
    return 0;
}

static void answer_update_close(struct update *u)
{
    if (u == NULL)
        return;
    free(u->answers);
    buf_close(&u->text);
    free(u);
}

/* Replaces the recorded answer `seq` with this message. Returns 0 or MI_ENOMEM. */
static int update_replace_answer(struct update *u, int64_t seq, struct slice message)
{
    struct redact *rules = redact_get_current_sanitizer();
    struct buf sanitized = {0};
    size_t n, at = u->n;
    if (!GROW(u->answers, u->n, u->cap))
        return MI_ENOMEM;
    int st =
        rules != NULL ? redact_message(rules, message, REDACT_SECRETS, &sanitized, &n) : MI_ENOMEM;
    if (st == 0 && n == 0)
        buf_slice_add(&sanitized, message);
    if (st == 0 && sanitized.failed)
        st = MI_ENOMEM;
    /* keeps the answers sorted by seq: in the recording, a later request may be answered first */
    while (at > 0 && u->answers[at - 1].seq > seq) {
        u->answers[at] = u->answers[at - 1];
        at--;
    }
    u->answers[at] = (struct answer){.seq = seq, .at = u->text.n, .n = sanitized.n};
    u->n++;
    buf_slice_add(&u->text, buf_slice(&sanitized));
    buf_close(&sanitized);
    return u->text.failed ? MI_ENOMEM : st;
}

static bool answer_update_write_session(void *ctx, const struct query_session *s)
{
    struct update *u = ctx;
    u->status = cassette_write_session(u->w, s);
    return u->status == 0;
}

/* Replaces the body of an answer, and the members that are derived from the body. */
static void replace_answer_body(struct query_message *m, struct slice message)
{
    struct rpc r;
    m->body = message;
    m->size = -1;
    m->redactions = 0;
    m->has_error_code = false;
    m->finding = (struct slice){0};
    if (rpc_read(message, &r) < 0)
        return;
    m->kind = row_kind_of_rpc(r.kind);
    if (r.kind == RPC_RESULT && r.is_error.type == JSON_TRUE)
        m->finding = slice_of("tool-error");
}

static bool answer_update_write_message(void *ctx, const struct query_message *m)
{
    struct update *u = ctx;
    struct query_message changed = *m;
    if (u->next < u->n && u->answers[u->next].seq == m->seq) {
        const struct answer *a = &u->answers[u->next++];
        replace_answer_body(&changed, (struct slice){u->text.p + a->at, a->n});
    }
    u->status = cassette_write_message(u->w, &changed);
    return u->status == 0;
}

static bool update_write_cassette_lines(void *ctx, struct slice lines)
{
    return save_write_bytes(ctx, lines);
}

/* Writes the new answers into the file, completely or not at all. Other messages do not change. If
 * there is no new answer, the file is not touched. Returns EXIT_FINE or, after a message on stderr,
 * EXIT_TROUBLE. */
static int answer_update_write_file(struct update *u, const char *path)
{
    struct save file;
    struct buf error = {0};
    if (u->n == 0)
        return EXIT_FINE;
    save_open(&file, path, SAVE_PRIVATE);
    int st = cassette_write_open(&u->w, update_write_cassette_lines, &file);
    if (st == 0)
        st = cassette_read(path, answer_update_write_session, answer_update_write_message, u,
                           &error);
    if (st == 0)
        st = u->status;
    if (st == 0)
        st = cassette_write_end(u->w);
    cassette_write_close(u->w);
    if (st < 0 && file.error == 0)
        log_error("%s", error.n > 0 ? buf_str(&error) : "out of memory");
    int status = save_close(&file, st == 0);
    buf_close(&error);
    return st < 0 ? EXIT_TROUBLE : status;
}

/* ---- the verification ---- */

struct verifying {
    struct verify_report report;
    struct update *update; /* collects new answers; NULL: no --update */
    int status;            /* the first error of update_replace_answer(); 0: none */
};

static void verify_on_result(void *ctx, const struct verify_result *r)
{
    struct verifying *v = ctx;
    verify_report_add_result(&v->report, r);
    bool differs =
        r->verdict == VERIFY_CHANGED || r->verdict == VERIFY_SCHEMA || r->verdict == VERIFY_GONE;
    if (v->update != NULL && differs && v->status == 0)
        v->status = update_replace_answer(v->update, r->answer_seq, r->live);
}

/* Verifies the recording. Returns EXIT_FINE if that was possible, whatever the verdicts are. */
static int verify_recording(const struct settings *s, struct recording *r,
                            const struct pointers *ignore, char *const *argv, struct verifying *v)
{
    struct verify_config cfg = {
        .argv = argv,
        .ignore = ignore,
        .all = settings_is_on(s, "all"),
        .timeout_us = settings_duration_us(s, "timeout"),
        .grace_us = settings_duration_us(s, "grace"),
    };
    struct buf error = {0}, name = {0};
    buf_adds(&name, "verify ");
    buf_slice_add(&name, r->name);
    report_begin_suite(&v->report.reporting.report, buf_slice(&name),
                       slice_of("mcp-interposer.verify"), clock_mono_us());
    int st = verify_run(&cfg, r->source, verify_on_result, v, &error);
    if (st == 0)
        st = name.failed ? MI_ENOMEM : v->status;
    if (st < 0)
        log_error("%s", error.n > 0 ? buf_str(&error) : "out of memory");
    buf_close(&error);
    buf_close(&name);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

/* Writes the summary or the JSON report to stdout, and the reports that are requested to files. */
static int verify_command_finish(const struct settings *s, struct verifying *v,
                                 struct slice recording, int64_t lasted_us)
{
    const char *file = settings_get_text(s, "report");
    struct reporting *r = &v->report.reporting;
    struct buf json = {0};
    int status = EXIT_FINE;
    verify_report_append_json(&v->report, recording, lasted_us, &json);
    if (r->text)
        verify_report_print_summary(&v->report);
    if (r->json)
        buf_slice_add(&r->out.b, buf_slice(&json));
    r->out.b.failed |= r->json && json.failed;
    if (file != NULL && strcmp(file, "-") != 0)
        status = save_buffer_to_file(file, &json);
    buf_close(&json);
    if (status == EXIT_FINE)
        return reporting_close(r);
    reporting_close_without_files(r);
    return status;
}

static int verify_and_report(const struct settings *s, struct recording *r,
                             const struct pointers *ignore, char *const *argv)
{
    struct verifying v = {.report.verbose = settings_is_on(s, "verbose")};
    struct verify_report *x = &v.report;
    const char *file = settings_get_text(s, "report");
    int64_t began = clock_mono_us();
    int status = reporting_open(
        &x->reporting, s, settings_is_on(s, "json") || (file != NULL && strcmp(file, "-") == 0));
    if (status != EXIT_FINE)
        return status;
    if (settings_is_on(s, "update") && answer_update_open(&v.update) < 0) {
        log_error("out of memory");
        return EXIT_TROUBLE;
    }
    *(r->file != NULL ? &x->place.file : &x->place.session) = r->name;
    status = verify_recording(s, r, ignore, argv, &v);
    if (status == EXIT_FINE)
        status = verify_command_finish(s, &v, r->name, clock_mono_us() - began);
    else
        reporting_close_without_files(&x->reporting);
    if (status == EXIT_FINE && v.update != NULL)
        status = answer_update_write_file(v.update, r->file);
    if (status == EXIT_FINE && verify_report_has_differences(x))
        status = EXIT_FOUND;
    answer_update_close(v.update);
    verify_report_close(x);
    return status;
}

static int compare_with_reference(const struct settings *s, const char *ref, char *const *argv)
{
    struct pointers ignore = {0};
    struct recording r = {0};
    struct buf error = {0};
    const char *pointer;
    size_t at = 0;
    int status = EXIT_FINE;
    while (status == EXIT_FINE && (pointer = settings_next_value(s, "ignore", &at)) != NULL)
        if (pointers_add(&ignore, "", slice_of(pointer), &error) < 0)
            status = settings_fail_usage(s, "--ignore: %s", buf_str(&error));
    if (status == EXIT_FINE && settings_is_on(s, "update") && !recording_is_file(ref))
        status = settings_fail_usage(s, "--update requires a FILE: export the session first");
    if (status == EXIT_FINE && s->set.overflow)
        status = settings_fail_usage(s, "--ignore: at most %d pointers", OPT_MANY_MAX);
    if (status == EXIT_FINE)
        status = recording_open(&r, s, ref, NULL);
    if (status == EXIT_FINE)
        status = verify_and_report(s, &r, &ignore, argv);
    recording_close(&r);
    pointers_close(&ignore);
    buf_close(&error);
    return status;
}

static int verify_command_run(const struct settings *s)
{
    (void)signal(SIGPIPE, SIG_IGN);
    int at = s->set.operands_before_dashes;
    int status;
    if (at < 0 || at == s->operands_n)
        status = settings_fail_usage(s, "missing server: put its command after '--'");
    else if (at > 1)
        status = settings_fail_usage(s, "unexpected argument '%s'", s->operands[1]);
    else
        status = compare_with_reference(s, at == 1 ? s->operands[0] : NULL, s->operands + at);
    return status;
}

const struct command command_verify = {
    .name = "verify",
    .summary = "call a server and compare its answers with a recording",
    .usage = "[OPTIONS] [SESSION|FILE] -- SERVER [ARG...]",
    .about = about,
    .table = table_of_options,
    .operands_max = INT_MAX,
    .run = verify_command_run,
};
