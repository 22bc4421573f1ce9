/* cmd_check.c - `mcp-interposer check [SESSION|FILE…]`: what is wrong in a recording, for a server's CI. */
#include "base/log.h"
#include "base/text.h"
#include "cli/check.h"
#include "cli/filter.h"
#include "cli/recording.h"
#include "cli/save.h"
#include "cli/session.h"
#include "vault/cassette.h"
#include "vault/recheck.h"
#include "wire/json_text.h"

#include <signal.h>
#include <stdlib.h>

#define BODY_MAX ((size_t)16 << 20) /* of a body that is read again */
#define OPERANDS_MAX 1000
#define TEXT_SHOWN 80 /* bytes of a line that is no message */

static const struct opt table_of_options[] = {
    {'f', "format", "text|json|junit|sarif", "text", "what is written"},
    {'o', "output", "FILE", "-", "where it goes; -: stdout"},
    {0, "fail-on", "LIST", "error",
     "names of findings, error, warning, note or none: what ends with exit status 1"},
    {'i', "ignore", "LIST", NULL, "names of findings that are left out"},
    {0, "only", "client|server|both", "both", "findings about what this side has sent"},
    {'a', "all", NULL, NULL, "every session of the vault"},
    FILTER_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

static const char about[] =
    "Tells what is odd about the messages of recordings, or breaks a rule of MCP, as\n"
    "docs/findings.md explains: what was noted when they passed, and what today's rules say.\n"
    "SESSION is an ID or the beginning of a UID as `sessions` shows them; FILE, which has a `/` "
    "or\n"
    "a `.` in it, is a cassette. Without either: the newest session that has a message,\n"
    "or with --all, --server, --client, --since or --until all those, the oldest first.\n"
    "Exit status: 0 nothing of --fail-on; 1 something of it; 2 usage; 3 failure.\n";

/* One recording under way. */
struct checking {
    struct check_report *report;
    struct query *q;  /* NULL: a file */
    struct slice uid; /* of the session */
    struct recheck recheck;
    struct buf body; /* owned; a large one */
    const struct query_message
        *message; /* at hand, with its body and what breaks the rules in it */
    struct slice text;
    breaches broken;
    bool no_memory;
};

/* The member that is wrong, the line that is no message, the error that we gave in the server's place. */
static void why(void *ctx, const struct finding_info *info, struct buf *b)
{
    struct checking *c = ctx;
    struct rpc rpc;
    struct buf text = {0};
    if ((info->rule & c->broken) != 0) {
        recheck_why(&c->recheck, (enum rule)__builtin_ctzll(info->rule), b);
    } else if (c->text.p == NULL || info->finding == 0) {
        return;
    } else if (slice_is(c->message->kind, "noise")) {
        buf_addc(b, '"');
        text_visible(b, text_head(c->text, TEXT_SHOWN));
        buf_adds(b, c->text.n > TEXT_SHOWN ? "…\"" : "\"");
    } else if (slice_is(c->message->origin, "interposer") && rpc_read(c->text, &rpc) == 0) {
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
        !check_add(c->report, m, c->broken, why, c))
        c->no_memory = true;
    return !c->no_memory;
}

static bool on_header(void *ctx, const struct query_session *s)
{
    struct checking *c = ctx;
    check_begin_session(c->report, s);
    return true;
}

static int check_file(struct checking *c, const char *path, struct buf *error)
{
    check_begin(c->report, path, true);
    return cassette_read(path, on_header, on_message, c, error);
}

static int check_session(struct checking *c, const char *ref, struct buf *error)
{
    struct query_session s;
    struct buf uid = {0};
    int st = query_session(c->q, ref, &s);
    if (st == 0) {
        buf_slice_add(&uid, s.uid); /* the session's text goes with the next call */
        c->uid = buf_slice(&uid);
        check_begin(c->report, uid.failed ? "" : buf_str(&uid), false);
        check_begin_session(c->report, &s);
        st = query_timeline(c->q, s.id, 1, INT64_MAX, on_message, NULL, c);
    }
    if (st < 0)
        buf_adds(error, query_error(c->q));
    buf_close(&uid);
    return st;
}

static int check_one(const struct settings *s, struct check_report *report, const char *ref,
                     struct query **q)
{
    struct buf error = {0};
    struct checking c = {.report = report};
    int st, status = EXIT_FINE;
    if (!recording_is_file(ref) && *q == NULL)
        status = session_vault_open(s, q);
    if (status != EXIT_FINE)
        return status;
    c.q = recording_is_file(ref) ? NULL : *q;
    recheck_open(&c.recheck);
    st = recording_is_file(ref) ? check_file(&c, ref, &error) : check_session(&c, ref, &error);
    if (st < 0 || c.no_memory) {
        log_error("%s", c.no_memory || st == MI_ENOMEM ? "no memory" : buf_str(&error));
        status = EXIT_TROUBLE;
    }
    recheck_close(&c.recheck);
    buf_close(&c.body);
    buf_close(&error);
    return status;
}

/* The uids of sessions that are wanted, each with its NUL. */
struct wanted {
    struct filter filter;
    struct buf uids; /* owned */
};

static bool is_narrowed(const struct filter *f)
{
    return f->server != NULL || f->client != NULL || f->since_us != INT64_MIN ||
           f->until_us != INT64_MAX;
}

static bool on_session(void *ctx, const struct query_session *s)
{
    struct wanted *w = ctx;
    if (filter_takes(&w->filter, s)) {
        buf_slice_add(&w->uids, s->uid);
        buf_addc(&w->uids, '\0');
    }
    return !w->uids.failed;
}

/* What looks at nothing must not be green. */
static int check_all(const struct settings *s, struct check_report *report, struct wanted *w,
                     struct query **q)
{
    int status = session_vault_open(s, q);
    if (status != EXIT_FINE)
        return status;
    if (query_sessions(*q, 0, on_session, w) < 0 || w->uids.failed) {
        log_error("%s", w->uids.failed ? "no memory" : query_error(*q));
        return EXIT_TROUBLE;
    }
    if (w->uids.n == 0) {
        log_error("no session in %s is like that; see: mcp-interposer sessions", query_vault(*q));
        return EXIT_TROUBLE;
    }
    /* newest first is how they came */
    for (size_t at = w->uids.n; status == EXIT_FINE && at > 0;) {
        for (at--; at > 0 && w->uids.p[at - 1] != '\0';)
            at--;
        status = check_one(s, report, w->uids.p + at, q);
    }
    return status;
}

static int check_operands(const struct settings *s, struct check_report *report, struct query **q)
{
    struct wanted w = {0};
    int status = EXIT_FINE;
    filter_read(&w.filter, s);
    bool all = settings_on(s, "all") || is_narrowed(&w.filter);
    if (all && s->operands_n > 0)
        status = settings_usage(&command_check, "'%s': all sessions, or these, not both",
                                s->operands[0]);
    else if (all)
        status = check_all(s, report, &w, q);
    for (int i = 0; !all && status == EXIT_FINE && (i < s->operands_n || i == 0); i++)
        status = check_one(s, report, s->operands[i], q);
    buf_close(&w.uids);
    return status;
}

static int write_report(const struct settings *s, struct check_report *report)
{
    struct save file;
    struct buf b = {0};
    check_write(report, settings_text(s, "format"), &b);
    save_open(&file, settings_text(s, "output"));
    if (b.failed)
        log_error("no memory");
    else
        (void)save_write(&file, buf_slice(&b));
    int status = save_close(&file, !b.failed);
    if (b.failed)
        status = EXIT_TROUBLE;
    buf_close(&b);
    return status;
}

static int run(int argc, char **argv)
{
    struct settings s;
    struct query *q = NULL;
    struct check_report report;
    struct buf error = {0};
    if (!settings_read(&s, &command_check, argc, argv))
        return s.exit_status;
    (void)signal(SIGPIPE, SIG_IGN);
    int status = EXIT_FINE;
    check_open(&report);
    if (!check_fail_on(&report, settings_text(&s, "fail-on"), &error))
        status = settings_usage(&command_check, "--fail-on: %s", buf_str(&error));
    else if (settings_text(&s, "ignore") != NULL &&
             !check_ignore(&report, settings_text(&s, "ignore"), &error))
        status = settings_usage(&command_check, "--ignore: %s", buf_str(&error));
    report.of_client = !settings_is(&s, "only", "server");
    report.of_server = !settings_is(&s, "only", "client");
    if (status == EXIT_FINE)
        status = check_operands(&s, &report, &q);
    if (status == EXIT_FINE)
        status = write_report(&s, &report);
    if (status == EXIT_FINE && report.failing > 0)
        status = EXIT_FOUND;
    check_close(&report);
    query_close(q);
    buf_close(&error);
    settings_close(&s);
    return status;
}

const struct command command_check = {
    .name = "check",
    .summary = "tell what is wrong in recordings: findings as text, JSON, JUnit or SARIF",
    .usage = "[OPTIONS] [SESSION|FILE...]",
    .about = about,
    .table = table_of_options,
    .operands_max = OPERANDS_MAX,
    .run = run,
};
