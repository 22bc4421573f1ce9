/* replay.c - `mcp-interposer replay`: acts as a mock server that answers from a recording. */
#include "cli/recordings/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/frame/proxy_argv.h"
#include "cli/frame/recording.h"
#include "cli/frame/server_name.h"
#include "cli/recordings/new_cassette.h"
#include "redact/sanitizer.h"
#include "replay/mock/mock_server.h"
#include "wire/mcp/tool_rule.h"

#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

static const struct opt table_of_options[] = {
    {0, "name", "NAME", NULL, "use the newest session of the server with this name"},
    {'i', "ignore", "POINTER...", NULL,
     "value in the parameters to ignore, such as /arguments/path; * matches one level"},
    {0, "check-answers", NULL, NULL, "compare the client's answers to requests of the server, too"},
    {0, "repeat", "last|fail", "last",
     "what to answer if a request is sent more often than recorded"},
    {0, "ordering", "match|strict", "match", "order of the client's requests: any, or as recorded"},
    {0, "speed", "FACTOR", "0", "how fast to answer; 0: at once; 1: as recorded; 2: twice as fast"},
    {0, "fault", "FAULT...", NULL, "fault to inject, as KIND@METHOD[:TARGET][#N] (see below)"},
    {0, "on-miss", "error|live", "error",
     "how to answer a request that was not recorded: with an error, or from SERVER"},
    {0, "record-mode", "none|append|new|once|all|new_episodes", "none",
     "which answers of SERVER are written, and to which file (see below)"},
    {'o', "output", "FILE", NULL, "the new file of --record-mode new"},
    {0, "catch-up", NULL, NULL, "first send SERVER the earlier read-only requests"},
    {0, "strict", NULL, NULL, "a recorded request that is never sent is a failure, too"},
    {0, "report", "FILE", NULL, "write what did not match as JSON"},
    {0, "junit", "FILE", NULL, "write what did not match as JUnit XML"},
    {0, "sarif", "FILE", NULL, "write what did not match as SARIF"},
    {0, "max-message", "SIZE", "128MiB", "reject longer messages of the client"},
    {'v', "verbose", NULL, NULL, "write more to stderr"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Use this as the command of a server in a test: it answers on stdin and stdout\n"
    "what the recorded server answered, and nothing else.\n" COMMAND_SESSION_HELP
    "FILE is a cassette; its name contains a `/` or a `.`. The name of a server,\n"
    "`last` or no argument selects the newest finished session with other requests\n"
    "than `server/discover`. A request that was not recorded gets an error that names\n"
    "the nearest recorded one; it is also reported on stderr, and the exit status is\n"
    "1.\n"
    "\n"
    "--on-miss live: SERVER answers requests that were not recorded. --record-mode\n"
    "records these answers: append (new_episodes) adds them to FILE; new writes them\n"
    "to another file, together with the contents of FILE; once answers from FILE, or\n"
    "records FILE from SERVER if it does not exist; all records FILE anew. The file\n"
    "is written when the client has left.\n"
    "\n"
    "Faults: hang, delay=DURATION, error=CODE, close, crash, garbage, truncate,\n"
    "duplicate, wrong-id. METHOD and TARGET (tool, prompt, URI) may contain a *. N:\n"
    "only the N-th request.\n";
/* clang-format on */

/* ---- a live server, which answers what was not recorded ---- */

enum live_record {
    LIVE_RECORD_NONE,
    LIVE_RECORD_APPEND, /* append the new messages to the file that is replayed */
    LIVE_RECORD_NEW,    /* write the replayed recording and the new messages to another file */
    LIVE_RECORD_ALL,    /* record all messages; no request is answered from the recording */
};

struct live_choice {
    enum live_record record;
    bool use; /* whether a live server answers what was not recorded */
    bool catch_up;
    const char *file;             /* the operand if it is a file, otherwise NULL */
    const char *output;           /* the file to write; NULL: none */
    char *const *server;          /* borrowed; command line of the live server; NULL: not given */
    struct proxy_argv proxy_argv; /* owned */
    /* owned; collects the messages to record; NULL: nothing is recorded */
    struct new_cassette *new_cassette;
    char name[SERVER_NAME_MAX];
    struct buf rules; /* owned; the rules in the header of the recording */
    struct query_session header;
};

static bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static enum live_record read_live_record_mode(const struct live_choice *l, const struct settings *s)
{
    static const struct {
        const char *word;
        enum live_record record;
    } modes[] = {{"append", LIVE_RECORD_APPEND},
                 {"new_episodes", LIVE_RECORD_APPEND},
                 {"new", LIVE_RECORD_NEW},
                 {"all", LIVE_RECORD_ALL}};
    for (size_t i = 0; i < MI_COUNT(modes); i++)
        if (settings_value_equals(s, "record-mode", modes[i].word))
            return modes[i].record;
    return settings_value_equals(s, "record-mode", "once") && l->file != NULL &&
                   !file_exists(l->file)
               ? LIVE_RECORD_ALL
               : LIVE_RECORD_NONE;
}

static int read_record_mode(struct live_choice *l, const struct settings *s)
{
    bool live = settings_value_equals(s, "on-miss", "live");
    if (settings_value_equals(s, "record-mode", "once") && live)
        return settings_fail_usage(s, "--record-mode once adds nothing to an existing FILE, so it "
                                      "cannot be used with --on-miss live: omit --on-miss live, or "
                                      "use --record-mode append");
    if (!settings_value_equals(s, "record-mode", "none") && l->file == NULL)
        return settings_fail_usage(s, "--record-mode requires a FILE: export the session first");
    l->record = read_live_record_mode(l, s);
    l->use = live || l->record != LIVE_RECORD_NONE;
    return EXIT_FINE;
}

static int read_output_file(struct live_choice *l, const struct settings *s)
{
    const char *output = settings_get_text(s, "output");
    if ((l->record == LIVE_RECORD_NEW) != (output != NULL))
        return settings_fail_usage(
            s, "--record-mode new requires --output FILE, and --output requires --record-mode new");
    if (output != NULL && file_exists(output))
        return settings_fail_usage(s,
                                   "--output: %s exists already; name another file, or use "
                                   "--record-mode append",
                                   output);
    l->output = output != NULL ? output : l->record != LIVE_RECORD_NONE ? l->file : NULL;
    return EXIT_FINE;
}

/* Reads the options for a live server. operand: the session or the file; NULL if there is none.
 * Returns EXIT_FINE or, after a message on stderr, EXIT_USAGE. */
static int live_choice_read_options(struct live_choice *l, const struct settings *s,
                                    const char *operand, char *const *server)
{
    *l = (struct live_choice){
        .file = recording_is_file(operand) ? operand : NULL,
        .server = server,
        .catch_up = settings_is_on(s, "catch-up"),
    };
    bool once = settings_value_equals(s, "record-mode", "once");
    int status = read_record_mode(l, s);
    if (status == EXIT_FINE)
        status = read_output_file(l, s);
    if (status != EXIT_FINE)
        return status;
    if (l->use && server == NULL)
        return settings_fail_usage(s, "missing server: put its command after '--'");
    if (!l->use && !once && server != NULL)
        return settings_fail_usage(s, "a server is used only with --on-miss live or --record-mode");
    if (l->catch_up && (!l->use || l->record == LIVE_RECORD_ALL))
        return settings_fail_usage(s, "--catch-up requires a recording and --on-miss live");
    return EXIT_FINE;
}

/* For --record-mode all, which replays nothing: opens an empty recording instead of the file.
 * Returns EXIT_FINE or, after a message on stderr, EXIT_TROUBLE. */
static int live_choice_open_empty_recording(struct live_choice *l, struct source **ret)
{
    struct redact *rules = redact_get_current_sanitizer();
    struct buf error = {0};
    server_name_choose(NULL, l->server, l->name);
    if (rules != NULL)
        redact_write_rules(rules, &l->rules);
    l->header = (struct query_session){
        .name = slice_of(l->name),
        .started_at_us = clock_wall_us(),
        .record_level = slice_of("full"),
        .redact_rules = buf_slice(&l->rules),
    };
    int st = rules == NULL || l->rules.failed
                 ? MI_ENOMEM
                 : source_open_without_messages(ret, &l->header, &error);
    if (st < 0)
        log_error("%s", error.n > 0 ? buf_str(&error) : "out of memory");
    buf_close(&error);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

static bool on_replay_done(void *ctx)
{
    struct live_choice *l = ctx;
    return l->new_cassette == NULL || new_cassette_write_file(l->new_cassette) == EXIT_FINE;
}

/* Makes the command line of the live server's proxy. Only the tool rule of the recording applies to
 * the live server, so that the client sees the tools that the recorded client saw. If that rule
 * cannot be read, the replay reports the error. */
static int open_live_server(struct live_choice *l, const struct settings *s,
                            const struct source_info *info)
{
    struct tool_rule rule;
    struct buf name = {0}, only = {0}, why = {0};
    int st = tool_rule_read(&rule, info->tools_rule, &why);
    buf_slice_add(&name, info->name);
    buf_adds(&only, "--tools-rule=");
    if (st == 0)
        buf_slice_add(&only, buf_slice(&rule.text));
    const char *options[] = {"--name", name.n > 0 ? buf_str(&name) : NULL, buf_str(&only),
                             l->record != LIVE_RECORD_ALL ? "" : NULL, NULL};
    int status = EXIT_TROUBLE;
    if (st == MI_ENOMEM || name.failed || only.failed)
        log_error("out of memory");
    else
        status = proxy_argv_open(&l->proxy_argv, s, options, l->server);
    tool_rule_close(&rule);
    buf_close(&name);
    buf_close(&only);
    buf_close(&why);
    return status;
}

/* Adds the live server to the configuration of the mock server. Returns EXIT_FINE or, after a
 * message on stderr, EXIT_TROUBLE. */
static int live_choice_configure_mock(struct live_choice *l, const struct settings *s,
                                      const struct source_info *info, struct mock_config *cfg)
{
    if (!l->use)
        return EXIT_FINE;
    bool all = l->record == LIVE_RECORD_ALL;
    int status = open_live_server(l, s, info);
    if (status == EXIT_FINE && l->output != NULL &&
        new_cassette_open(&l->new_cassette, all ? NULL : l->file, &l->header, l->output) < 0) {
        log_error("out of memory");
        status = EXIT_TROUBLE;
    }
    cfg->live = (struct live_side_config){
        .argv = l->proxy_argv.argv,
        .rules = {.all = all, .catch_up = l->catch_up},
        .keep = l->new_cassette != NULL ? new_cassette_add_message : NULL,
        .ctx = l->new_cassette,
    };
    cfg->done = on_replay_done;
    cfg->ctx = l;
    return status;
}

static void live_choice_close(struct live_choice *l)
{
    new_cassette_close(l->new_cassette);
    proxy_argv_close(&l->proxy_argv);
    buf_close(&l->rules);
}

/* ---- options ---- */

static int read_ignore_or_fault_options(const struct settings *s, const char *name,
                                        struct mock_config *cfg)
{
    struct buf error = {0};
    size_t at = 0;
    int st = 0, status = EXIT_FINE;
    bool ignore = strcmp(name, "ignore") == 0;
    for (const char *v; st == 0 && (v = settings_next_value(s, name, &at)) != NULL;)
        st = ignore ? pointers_add(&cfg->rules.canon.ignore, "", slice_of(v), &error)
                    : faults_add(&cfg->faults, v, &error);
    if (st == MI_ENOMEM) {
        log_error("out of memory");
        status = EXIT_TROUBLE;
    } else if (st < 0) {
        status = settings_fail_usage(s, "--%s: %s", name, buf_str(&error));
    } else if (s->set.overflow) {
        status = settings_fail_usage(s, "--ignore and --fault: at most %d of each", OPT_MANY_MAX);
    }
    buf_close(&error);
    return status;
}

static int replay_command_read_rules(const struct settings *s, const char *operand,
                                     struct mock_config *cfg)
{
    int status = read_ignore_or_fault_options(s, "ignore", cfg);
    if (status == EXIT_FINE)
        status = read_ignore_or_fault_options(s, "fault", cfg);
    if (status == EXIT_FINE &&
        pace_parse_speed(settings_get_text(s, "speed"), &cfg->rules.pace) < 0)
        status = settings_fail_usage(
            s, "--speed: invalid factor '%s': use a number such as 0, 1, 0.5 or 10",
            settings_get_text(s, "speed"));
    if (status == EXIT_FINE && settings_get_size(s, "max-message") < 1024)
        status = settings_fail_usage(s, "--max-message: must be at least 1KiB");
    if (status == EXIT_FINE && operand != NULL && settings_get_text(s, "name") != NULL)
        status = settings_fail_usage(s, "--name cannot be used with a session or a file");
    cfg->rules.canon.answers = settings_is_on(s, "check-answers");
    cfg->rules.repeat_fail = settings_value_equals(s, "repeat", "fail");
    cfg->rules.strict_order = settings_value_equals(s, "ordering", "strict");
    cfg->strict = settings_is_on(s, "strict");
    cfg->path[REPORT_JSON] = settings_get_text(s, "report");
    cfg->path[REPORT_JUNIT] = settings_get_text(s, "junit");
    cfg->path[REPORT_SARIF] = settings_get_text(s, "sarif");
    cfg->max_message = settings_get_size(s, "max-message");
    return status;
}

static int run_mock_server(const struct settings *s, struct mock_config *cfg,
                           struct live_choice *live, const char *operand)
{
    struct recording r = {0};
    int status;
    if (live->record == LIVE_RECORD_ALL) {
        status = live_choice_open_empty_recording(live, &r.source);
        r.name = slice_of(operand);
        r.file = operand;
    } else {
        status = recording_open(&r, s, operand, settings_get_text(s, "name"));
    }
    if (status == EXIT_FINE) {
        cfg->source = r.source;
        cfg->recording = r.name;
        cfg->recording_is_file = r.file != NULL;
        status = live_choice_configure_mock(live, s, source_info(r.source), cfg);
    }
    if (status == EXIT_FINE)
        status = mock_run(cfg);
    recording_close(&r);
    return status;
}

static int replay_command_run(const struct settings *s)
{
    struct mock_config cfg = {0};
    struct live_choice live = {0};
    int at = s->set.operands_before_dashes;
    int n = at >= 0 ? at : s->operands_n;
    const char *operand = n > 0 ? s->operands[0] : NULL;
    if (settings_is_on(s, "verbose"))
        log_set_level(LOG_INFO);
    int status =
        n > 1 ? settings_fail_usage(s, "unexpected argument '%s'", s->operands[1]) : EXIT_FINE;
    if (status == EXIT_FINE)
        status = live_choice_read_options(&live, s, operand,
                                          at >= 0 && at < s->operands_n ? s->operands + at : NULL);
    if (status == EXIT_FINE)
        status = replay_command_read_rules(s, operand, &cfg);
    if (status == EXIT_FINE)
        status = run_mock_server(s, &cfg, &live, operand);
    live_choice_close(&live);
    pointers_close(&cfg.rules.canon.ignore);
    faults_close(&cfg.faults);
    return status;
}

const struct command command_replay = {
    .name = "replay",
    .aliases = "serve mock",
    .summary = "act as a mock server, from a recording",
    .usage = "[OPTIONS] [SESSION | FILE] [-- SERVER [ARG...]]",
    .about = about,
    .table = table_of_options,
    .operands_max = INT_MAX,
    .run = replay_command_run,
};
