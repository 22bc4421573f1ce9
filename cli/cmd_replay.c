/* cmd_replay.c - `mcp-interposer replay`: be the server of a recorded session. */
#include "base/log.h"
#include "cli/config.h"
#include "cli/recording.h"
#include "replay/mock.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {'n', "name", "NAME", NULL, "the newest session of the server with this name"},
    {'i', "ignore", "POINTER...", NULL,
     "a place in the params that does not count: /arguments/path; * is any one level"},
    {0, "check-answers", NULL, NULL, "the client's answers to questions count like requests"},
    {0, "repeat", "last|fail", "last", "when a request was not recorded that often"},
    {0, "ordering", "match|strict", "match", "in which order the client may ask"},
    {'s', "speed", "FACTOR", "0", "0: at once; 1: as recorded; 2: twice as fast"},
    {'f', "fault", "FAULT...", NULL, "KIND@METHOD[:TARGET][#N]: what shall go wrong (see below)"},
    {0, "strict", NULL, NULL, "what was recorded and never asked for is a failure, too"},
    {0, "report", "FILE", NULL, "what did not match, as JSON"},
    {0, "junit", "FILE", NULL, "the same as JUnit XML"},
    {0, "max-message", "SIZE", "128MiB", "longer messages of the client are refused"},
    {'v', "verbose", NULL, NULL, "say more on stderr"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

static const char about[] =
    "Put this as the command of a server into a test: it answers on stdin and stdout what the\n"
    "recorded server answered, and nothing else. SESSION is an ID or the beginning of a UID as\n"
    "`sessions` shows them; FILE, which has a `/` or a `.` in it, is a cassette. Without either:\n"
    "the newest session that has ended and is more than a probe.\n"
    "A request that was not recorded gets an error that names the nearest one, and so does\n"
    "stderr; the exit status is 1 then.\n"
    "\n"
    "Faults: hang, delay=DURATION, error=CODE, close, crash, garbage, truncate, duplicate,\n"
    "wrong-id. METHOD and TARGET (tool, prompt, URI) may have a *. N: only the N-th request.\n";

/* ---- what the options say ---- */

static int read_many(const struct settings *s, const char *name, struct mock_config *cfg)
{
    struct buf error = {0};
    size_t at = 0;
    int st = 0, status = EXIT_FINE;
    bool ignore = strcmp(name, "ignore") == 0;
    for (const char *v; st == 0 && (v = settings_each(s, name, &at)) != NULL;)
        st = ignore ? pointers_add(&cfg->rules.canon.ignore, v, &error)
                    : faults_add(&cfg->faults, v, &error);
    if (st == MI_ENOMEM) {
        log_error("no memory");
        status = EXIT_TROUBLE;
    } else if (st < 0) {
        status = settings_usage(&command_replay, "--%s: %s", name, buf_str(&error));
    } else if (s->set.overflow) {
        status = settings_usage(&command_replay, "--ignore and --fault: more than %d of them",
                                OPT_MANY_MAX);
    }
    buf_close(&error);
    return status;
}

static int read_rules(const struct settings *s, struct mock_config *cfg)
{
    int status = read_many(s, "ignore", cfg);
    if (status == EXIT_FINE)
        status = read_many(s, "fault", cfg);
    if (status == EXIT_FINE && pace_read(settings_text(s, "speed"), &cfg->rules.pace) < 0)
        status =
            settings_usage(&command_replay, "--speed: '%s' is no factor; write 0, 1, 0.5 or 10",
                           settings_text(s, "speed"));
    if (status == EXIT_FINE && settings_size(s, "max-message") < 1024)
        status = settings_usage(&command_replay, "--max-message: at least 1KiB");
    if (status == EXIT_FINE && s->operands[0] != NULL && settings_text(s, "name") != NULL)
        status = settings_usage(&command_replay, "--name goes without a session or a file");
    cfg->rules.canon.answers = settings_on(s, "check-answers");
    cfg->rules.repeat_fail = settings_is(s, "repeat", "fail");
    cfg->rules.strict_order = settings_is(s, "ordering", "strict");
    cfg->strict = settings_on(s, "strict");
    cfg->report_path = settings_text(s, "report");
    cfg->junit_path = settings_text(s, "junit");
    cfg->max_message = settings_size(s, "max-message");
    return status;
}

static int replay(const struct settings *s, struct mock_config *cfg)
{
    struct recording r;
    int status = recording_open(&r, s, s->operands[0], settings_text(s, "name"));
    if (status == EXIT_FINE) {
        cfg->source = r.source;
        cfg->recording = r.name;
        status = mock_run(cfg);
    }
    recording_close(&r);
    return status;
}

static int run(int argc, char **argv)
{
    struct settings s;
    struct mock_config cfg = {0};
    if (!settings_read(&s, &command_replay, argc, argv))
        return s.exit_status;
    if (settings_on(&s, "verbose"))
        log_set_level(LOG_INFO);
    int status = read_rules(&s, &cfg);
    if (status == EXIT_FINE)
        status = replay(&s, &cfg);
    pointers_close(&cfg.rules.canon.ignore);
    faults_close(&cfg.faults);
    settings_close(&s);
    return status;
}

const struct command command_replay = {
    .name = "replay",
    .aliases = "serve mock",
    .summary = "be the server of a recorded session or a cassette",
    .usage = "[OPTIONS] [SESSION | FILE]",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = run,
};
