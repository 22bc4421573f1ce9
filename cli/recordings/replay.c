/* replay.c - `mcp-interposer replay`: acts as a mock server that answers from a recording. */
#include "cli/recordings/commands.h"

#include "base/log.h"
#include "cli/frame/recording.h"
#include "cli/recordings/live_options.h"

#include <limits.h>
#include <stdlib.h>

static const struct opt table_of_options[] = {
    {0, "name", "NAME", NULL, "use the newest session of the server with this name"},
    {'i', "ignore", "POINTER...", NULL,
     "place in the parameters to ignore, such as /arguments/path; * matches one level"},
    {0, "check-answers", NULL, NULL, "compare the client's answers to requests of the server, too"},
    {0, "repeat", "last|fail", "last",
     "what to answer if a request is sent more often than recorded"},
    {0, "ordering", "match|strict", "match", "order of the client's requests: any, or as recorded"},
    {0, "speed", "FACTOR", "0", "0: at once; 1: as recorded; 2: twice as fast"},
    {0, "fault", "FAULT...", NULL, "fault to inject, as KIND@METHOD[:TARGET][#N] (see below)"},
    {0, "on-miss", "error|live", "error",
     "answer to a request that was not recorded: an error, or from SERVER"},
    {0, "record-mode", "none|append|new|once|all|new_episodes", "none",
     "what is written of SERVER's answers, and where (see below)"},
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
    "FILE contains a `/` or a `.` and is a cassette. A name, `last` or neither: the\n"
    "newest finished session that is more than a probe.\n"
    "A request that was not recorded gets an error that names the nearest recorded\n"
    "one; it is also reported on stderr, and the exit status is 1.\n"
    "\n"
    "--on-miss live: SERVER answers what was not recorded, and --record-mode keeps\n"
    "it: append (new_episodes) adds it to FILE, new writes FILE and it to another\n"
    "file. once answers from FILE, or records FILE from SERVER if it does not exist;\n"
    "all records FILE anew. The file is written when the client has left.\n"
    "\n"
    "Faults: hang, delay=DURATION, error=CODE, close, crash, garbage, truncate,\n"
    "duplicate, wrong-id. METHOD and TARGET (tool, prompt, URI) may contain a *. N:\n"
    "only the N-th request.\n";
/* clang-format on */

/* ---- options ---- */

static int read_many(const struct settings *s, const char *name, struct mock_config *cfg)
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
    int status = read_many(s, "ignore", cfg);
    if (status == EXIT_FINE)
        status = read_many(s, "fault", cfg);
    if (status == EXIT_FINE && pace_read(settings_text(s, "speed"), &cfg->rules.pace) < 0)
        status = settings_fail_usage(
            s, "--speed: invalid factor '%s': use a number such as 0, 1, 0.5 or 10",
            settings_text(s, "speed"));
    if (status == EXIT_FINE && settings_size(s, "max-message") < 1024)
        status = settings_fail_usage(s, "--max-message: must be at least 1KiB");
    if (status == EXIT_FINE && operand != NULL && settings_text(s, "name") != NULL)
        status = settings_fail_usage(s, "--name cannot be used with a session or a file");
    cfg->rules.canon.answers = settings_is_on(s, "check-answers");
    cfg->rules.repeat_fail = settings_is_word(s, "repeat", "fail");
    cfg->rules.strict_order = settings_is_word(s, "ordering", "strict");
    cfg->strict = settings_is_on(s, "strict");
    cfg->path[REPORT_JSON] = settings_text(s, "report");
    cfg->path[REPORT_JUNIT] = settings_text(s, "junit");
    cfg->path[REPORT_SARIF] = settings_text(s, "sarif");
    cfg->max_message = settings_size(s, "max-message");
    return status;
}

static int run_mock_server(const struct settings *s, struct mock_config *cfg,
                           struct live_choice *live, const char *operand)
{
    struct recording r = {0};
    int status;
    if (live->record == LIVE_RECORD_ALL) {
        status = live_choice_begin(live, &r.source);
        r.name = slice_of(operand);
        r.file = operand;
    } else {
        status = recording_open(&r, s, operand, settings_text(s, "name"));
    }
    if (status == EXIT_FINE) {
        cfg->source = r.source;
        cfg->recording = r.name;
        cfg->recording_is_file = r.file != NULL;
        status = live_choice_apply(live, s, source_info(r.source), cfg);
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
        status = live_choice_read(&live, s, operand,
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
