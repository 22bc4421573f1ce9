#include "cli/recordings/live_options.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/frame/recording.h"
#include "redact/sanitizer.h"
#include "wire/mcp/tool_rule.h"

#include <unistd.h>

/* ---- options ---- */

static bool replay_live_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static enum live_record live_record_mode(const struct live_choice *l, const struct settings *s)
{
    static const struct {
        const char *word;
        enum live_record record;
    } modes[] = {{"append", LIVE_RECORD_APPEND},
                 {"new_episodes", LIVE_RECORD_APPEND},
                 {"new", LIVE_RECORD_NEW},
                 {"all", LIVE_RECORD_ALL}};
    for (size_t i = 0; i < MI_COUNT(modes); i++)
        if (settings_is_word(s, "record-mode", modes[i].word))
            return modes[i].record;
    return settings_is_word(s, "record-mode", "once") && l->file != NULL &&
                   !replay_live_exists(l->file)
               ? LIVE_RECORD_ALL
               : LIVE_RECORD_NONE;
}

static int read_record(struct live_choice *l, const struct settings *s)
{
    bool live = settings_is_word(s, "on-miss", "live");
    if (settings_is_word(s, "record-mode", "once") && live)
        return settings_fail_usage(s, "--record-mode once answers from FILE, or records it: omit "
                                      "--on-miss live, or use --record-mode append");
    if (!settings_is_word(s, "record-mode", "none") && l->file == NULL)
        return settings_fail_usage(s, "--record-mode requires a FILE: export the session first");
    l->record = live_record_mode(l, s);
    l->use = live || l->record != LIVE_RECORD_NONE;
    return EXIT_FINE;
}

static int read_output(struct live_choice *l, const struct settings *s)
{
    const char *output = settings_text(s, "output");
    if ((l->record == LIVE_RECORD_NEW) != (output != NULL))
        return settings_fail_usage(s, "--record-mode new and --output FILE belong together");
    if (output != NULL && replay_live_exists(output))
        return settings_fail_usage(s,
                                   "--output: %s exists already; name another file, or use "
                                   "--record-mode append",
                                   output);
    l->output = output != NULL ? output : l->record != LIVE_RECORD_NONE ? l->file : NULL;
    return EXIT_FINE;
}

int live_choice_read(struct live_choice *l, const struct settings *s, const char *operand,
                     char *const *server)
{
    *l = (struct live_choice){
        .file = recording_is_file(operand) ? operand : NULL,
        .server = server,
        .catch_up = settings_is_on(s, "catch-up"),
    };
    bool once = settings_is_word(s, "record-mode", "once");
    int status = read_record(l, s);
    if (status == EXIT_FINE)
        status = read_output(l, s);
    if (status != EXIT_FINE)
        return status;
    if (l->use && server == NULL)
        return settings_fail_usage(s, "missing server: put its command after '--'");
    if (!l->use && !once && server != NULL)
        return settings_fail_usage(s, "a server is used only with --on-miss live or --record-mode");
    if (l->catch_up && (!l->use || l->record == LIVE_RECORD_ALL))
        return settings_fail_usage(s, "--catch-up is for a recording with --on-miss live");
    return EXIT_FINE;
}

/* ---- the recording ---- */

int live_choice_begin(struct live_choice *l, struct source **ret)
{
    struct redact *rules = redact_current();
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
    int st =
        rules == NULL || l->rules.failed ? MI_ENOMEM : source_open_empty(ret, &l->header, &error);
    if (st < 0)
        log_error("%s", error.n > 0 ? buf_str(&error) : "out of memory");
    buf_close(&error);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

static bool write_tape(void *ctx)
{
    struct live_choice *l = ctx;
    return l->tape == NULL || tape_write(l->tape) == EXIT_FINE;
}

/* The tool rule of the recording, and no other rule, applies to the live server, so that the
 * client gets what the recorded client would have got. If the rule cannot be read, the replay
 * reports that. */
static int open_proxied(struct live_choice *l, const struct settings *s,
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
        status = proxied_open(&l->proxied, s, options, l->server);
    tool_rule_close(&rule);
    buf_close(&name);
    buf_close(&only);
    buf_close(&why);
    return status;
}

int live_choice_apply(struct live_choice *l, const struct settings *s,
                      const struct source_info *info, struct mock_config *cfg)
{
    if (!l->use)
        return EXIT_FINE;
    bool all = l->record == LIVE_RECORD_ALL;
    int status = open_proxied(l, s, info);
    if (status == EXIT_FINE && l->output != NULL &&
        tape_open(&l->tape, all ? NULL : l->file, &l->header, l->output) < 0) {
        log_error("out of memory");
        status = EXIT_TROUBLE;
    }
    cfg->live = (struct live_side_config){
        .argv = l->proxied.argv,
        .rules = {.all = all, .catch_up = l->catch_up},
        .keep = l->tape != NULL ? tape_keep_message : NULL,
        .ctx = l->tape,
    };
    cfg->done = write_tape;
    cfg->ctx = l;
    return status;
}

void live_choice_close(struct live_choice *l)
{
    tape_close(l->tape);
    proxied_close(&l->proxied);
    buf_close(&l->rules);
}
