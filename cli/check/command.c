/* command.c - `mcp-interposer check [SESSION|FILE…]`: checks recordings, for the CI of a server. */
#include "cli/check/commands.h"

#include "base/log.h"
#include "base/terminal.h"
#include "base/text.h"
#include "cli/check/findings.h"
#include "cli/check/json.h"
#include "cli/check/junit.h"
#include "cli/check/recheck.h"
#include "cli/check/sarif.h"
#include "cli/check/text.h"
#include "cli/frame/filter.h"
#include "cli/frame/out.h"
#include "cli/frame/recording.h"
#include "cli/frame/save.h"
#include "cli/frame/session.h"
#include "vault/cassette/file.h"
#include "wire/json/text.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define BODY_MAX ((size_t)16 << 20) /* larger bodies are not checked again */
#define OPERANDS_MAX 1000
#define TEXT_SHOWN 80 /* bytes of an invalid line */

static const struct opt table_of_options[] = {
    {'F', "format", "text|json|junit|sarif", "text", "output format"},
    {0, "json", NULL, NULL, "the same as --format json"},
    {'o', "output", "FILE", "-", "output file; -: stdout"},
    {0, "fail-on", "LIST", "error",
     "which findings lead to exit status 1: names, error, warning, note, none"},
    {'i', "ignore", "LIST", NULL, "names of findings to ignore"},
    {0, "only", "client|server|both", "both", "only findings about messages of this side"},
    {'a', "all", NULL, NULL, "check every session of the vault"},
    FILTER_CALL_OPTS,
    FILTER_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Reports unusual messages and protocol violations in recordings: the findings\n"
    "that were noted while recording, and those of the rules of this version.\n"
    "findings.md explains them (documents, see: mcp-interposer help).\n" COMMAND_SESSION_HELP
    "FILE contains a `/` or a `.` and is a cassette. Without either: the newest\n"
    "session that has a message, or with --all, --server, --client, --since or\n"
    "--until all matching sessions, oldest first.\n"
    "--tool, --method, --failed, --since and --until select the messages that are\n"
    "reported.\n"
    "Exit status: 0 no finding of --fail-on; 1 such a finding; 2 usage error;\n"
    "3 failure.\n";
/* clang-format on */

/* The recording being checked. */
struct checking {
    struct check_report *report;
    struct query *q;  /* NULL: a file */
    struct slice uid; /* of the session */
    const struct filter *filter;
    int64_t started_at_us; /* of the session; 0: a file */
    struct recheck recheck;
    struct buf body;                     /* owned; a large one */
    const struct query_message *message; /* the current one, … */
    struct slice text;                   /* … its body … */
    breaches broken;                     /* … and the rules that it breaks */
    bool no_memory;
};

/* The invalid member, the text of an invalid line, or the error that the interposer sent instead of the server. */
static void add_detail(void *ctx, const struct finding_info *info, struct buf *b)
{
    struct checking *c = ctx;
    struct rpc rpc;
    struct buf text = {0};
    if ((info->rule & c->broken) != 0) {
        recheck_detail(&c->recheck, (enum rule)__builtin_ctzll(info->rule), b);
    } else if (c->text.p == NULL || info->finding == 0) {
        return;
    } else if (c->message->kind == KIND_NOISE) {
        buf_addc(b, '"');
        text_visible(b, text_head(c->text, TEXT_SHOWN));
        buf_adds(b, c->text.n > TEXT_SHOWN ? "…\"" : "\"");
    } else if (c->message->origin == ROW_INTERPOSER && rpc_read(c->text, &rpc) == 0) {
        json_unescape(&text, json_string_raw(rpc.error_message));
        text_visible(b, buf_slice(&text));
    }
    buf_close(&text);
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct checking *c = ctx;
    struct slice body = m->body;
    if (m->is_large) {
        buf_clear(&c->body);
        bool whole = (size_t)m->body_length <= BODY_MAX && c->q != NULL &&
                     query_body(c->q, c->uid, m, BODY_MAX, &c->body) == 0;
        body = whole ? buf_slice(&c->body) : (struct slice){0};
    }
    c->message = m;
    c->text = body;
    if (recheck_message(&c->recheck, m, body, &c->broken) < 0 ||
        (filter_message(c->filter, c->started_at_us, m) &&
         !check_add(c->report, m, c->broken, add_detail, c)))
        c->no_memory = true;
    return !c->no_memory;
}

static bool on_header(void *ctx, const struct query_session *s)
{
    struct checking *c = ctx;
    check_set_server(c->report, s->name);
    return true;
}

static int check_file(struct checking *c, const char *path, struct buf *error)
{
    check_add_recording(c->report, path, 0);
    return cassette_read(path, on_header, on_message, c, error);
}

static int check_session(struct checking *c, const char *ref, struct buf *error)
{
    struct query_session s;
    struct buf uid = {0};
    int st = query_session(c->q, ref, &s);
    if (st == 0) {
        buf_slice_add(&uid, s.uid); /* its text is lost with the next call */
        c->uid = buf_slice(&uid);
        check_add_recording(c->report, uid.failed ? "" : buf_str(&uid), s.id);
        check_set_server(c->report, s.name);
        c->started_at_us = s.started_at_us;
        st = query_timeline(c->q, s.id, 1, INT64_MAX, on_message, NULL, c);
    }
    if (st < 0)
        buf_adds(error, query_error(c->q));
    buf_close(&uid);
    return st;
}

static int check_one(const struct settings *s, struct check_report *report,
                     const struct filter *filter, const char *ref, struct query **q)
{
    struct buf error = {0};
    struct checking c = {.report = report, .filter = filter};
    int st, status = EXIT_FINE;
    if (!recording_is_file(ref) && *q == NULL)
        status = session_vault_open(s, q);
    if (status != EXIT_FINE)
        return status;
    c.q = recording_is_file(ref) ? NULL : *q;
    recheck_open(&c.recheck);
    st = recording_is_file(ref) ? check_file(&c, ref, &error) : check_session(&c, ref, &error);
    if (st < 0 || c.no_memory) {
        log_error("%s", c.no_memory || st == MI_ENOMEM ? "out of memory" : buf_str(&error));
        status = EXIT_TROUBLE;
    }
    recheck_close(&c.recheck);
    buf_close(&c.body);
    buf_close(&error);
    return status;
}

/* The sessions that match the filter options. */
struct selection {
    struct filter filter;
    struct buf uids; /* owned; each ends with a NUL; newest first */
};

static bool is_narrowed(const struct filter *f)
{
    return f->server != NULL || f->client != NULL || f->since_us != INT64_MIN ||
           f->until_us != INT64_MAX;
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct selection *w = ctx;
    if (filter_may_hold(&w->filter, s)) {
        buf_slice_add(&w->uids, s->uid);
        buf_addc(&w->uids, '\0');
    }
    return !w->uids.failed;
}

/* It is an error if no session matches. */
static int check_all(const struct settings *s, struct check_report *report, struct selection *w,
                     struct query **q)
{
    int status = session_vault_open(s, q);
    if (status != EXIT_FINE)
        return status;
    if (query_sessions(*q, 0, on_session, w) < 0 || w->uids.failed) {
        log_error("%s", w->uids.failed ? "out of memory" : query_error(*q));
        return EXIT_TROUBLE;
    }
    if (w->uids.n == 0) {
        log_error("no matching session in %s; see: mcp-interposer sessions", query_vault(*q));
        return EXIT_TROUBLE;
    }
    /* oldest first */
    for (size_t at = w->uids.n; status == EXIT_FINE && at > 0;) {
        for (at--; at > 0 && w->uids.p[at - 1] != '\0';)
            at--;
        status = check_one(s, report, &w->filter, w->uids.p + at, q);
    }
    return status;
}

static int check_operands(const struct settings *s, struct check_report *report, struct query **q)
{
    struct selection w = {0};
    int status = EXIT_FINE;
    filter_read(&w.filter, s);
    bool all = settings_on(s, "all") || is_narrowed(&w.filter);
    if (all && s->operands_n > 0)
        status = settings_usage(s, "'%s': name sessions, or select them with options, not both",
                                s->operands[0]);
    else if (all)
        status = check_all(s, report, &w, q);
    for (int i = 0; !all && status == EXIT_FINE && (i < s->operands_n || i == 0); i++)
        status = check_one(s, report, &w.filter, s->operands[i], q);
    buf_close(&w.uids);
    return status;
}

static const struct {
    const char *name;
    void (*write)(const struct check_report *r, struct buf *b);
} formats[] = {
    {"text", check_text}, {"json", check_json}, {"junit", check_junit}, {"sarif", check_sarif}};

static int write_report(const struct settings *s, struct check_report *report)
{
    struct buf b = {0};
    const char *format = settings_on(s, "json") ? "json" : settings_text(s, "format");
    if (settings_is(s, "output", "-"))
        report->columns = terminal_columns(STDOUT_FILENO);
    for (size_t i = 0; i < MI_COUNT(formats); i++)
        if (strcmp(format, formats[i].name) == 0)
            formats[i].write(report, &b);
    b.failed |= check_failed(report);
    int status = save_buf(settings_text(s, "output"), &b);
    buf_close(&b);
    return status;
}

static int run(const struct settings *s)
{
    struct query *q = NULL;
    struct check_report report;
    struct buf error = {0};
    (void)signal(SIGPIPE, SIG_IGN);
    int status = EXIT_FINE;
    check_open(&report);
    if (!check_fail_on(&report, settings_text(s, "fail-on"), &error))
        status = settings_usage(s, "--fail-on: %s", buf_str(&error));
    else if (settings_text(s, "ignore") != NULL &&
             !check_ignore(&report, settings_text(s, "ignore"), &error))
        status = settings_usage(s, "--ignore: %s", buf_str(&error));
    else if (settings_on(s, "json") && opt_source(&s->set, "format") == OPT_FLAG &&
             !settings_is(s, "format", "json"))
        status = settings_usage(s, "--json and --format %s: choose one", settings_text(s, "format"));
    report.of_client = !settings_is(s, "only", "server");
    report.of_server = !settings_is(s, "only", "client");
    if (status == EXIT_FINE)
        status = check_operands(s, &report, &q);
    if (status == EXIT_FINE)
        status = write_report(s, &report);
    if (status == EXIT_FINE && report.failing > 0)
        status = EXIT_FOUND;
    check_close(&report);
    query_close(q);
    buf_close(&error);
    return status;
}

const struct command command_check = {
    .name = "check",
    .summary = "report findings of recordings as text, JSON, JUnit, SARIF",
    .usage = "[OPTIONS] [SESSION|FILE...]",
    .about = about,
    .table = table_of_options,
    .operands_max = OPERANDS_MAX,
    .run = run,
};
