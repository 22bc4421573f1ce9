/* redact.c - `mcp-interposer redact`: finds or removes secrets in recordings, with the present
 * rules. */
#include "cli/upkeep/commands.h"

#include "base/grow.h"
#include "base/json_out.h"
#include "base/log.h"
#include "cli/frame/out.h"
#include "cli/frame/recording.h"
#include "cli/frame/session.h"
#include "cli/settings/config.h"
#include "cli/upkeep/redact_file.h"
#include "vault/upkeep/scrub/scrub_run.h"

#include <stdlib.h>

static const struct opt table_of_options[] = {
    {0, "scan", NULL, NULL, "report what the rules find; change nothing"},
    {0, "apply", NULL, NULL, "replace it, and overwrite the old bytes"},
    {'a', "all", NULL, NULL, "process every session of the vault, and all its files"},
    {0, "json", NULL, NULL, "print one JSON object per line for each place"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    COMMAND_SESSION_HELP
    "FILE contains a `/` or a `.` and is a cassette. The rules are the built-in ones\n"
    "and those of [redact] in the configuration. A session includes its large bodies,\n"
    "its lines in the log directory and its escalations. Places and rules are\n"
    "printed, never the secrets.\n"
    "--apply skips running sessions, and the log of today while there is one.\n"
    "Exit status: 0 nothing was found, or nothing is left; 1 otherwise.\n";
/* clang-format on */

struct job {
    struct out out;
    bool json, apply;
    size_t places, n;
    bool left; /* something was skipped because a session is running */
};

struct target {
    int64_t id;
    char uid[32];
    bool runs;
};

struct targets {
    struct query *q;
    struct target *list; /* owned */
    size_t n, cap;
    bool failed, any_runs;
};

/* ---- output ---- */

static void print_place(struct job *j, const struct scrub_hit *h)
{
    if (h->file != NULL) {
        out_text(&j->out, slice_of(h->file));
        out_printf(&j->out, ":%zu", h->line);
        return;
    }
    if (h->session_id != 0)
        out_printf(&j->out, "session %lld%s", (long long)h->session_id, h->seq != 0 ? ", " : "");
    if (h->seq != 0)
        out_printf(&j->out, "message %lld", (long long)h->seq);
    out_printf(&j->out, "%s%s", h->session_id != 0 || h->seq != 0 ? ", " : "", h->where);
}

static void redact_command_print_json(struct job *j, const struct scrub_hit *h)
{
    struct buf b = {0};
    struct json_out json = json_out_to(&b);
    json_out_object(&json, NULL);
    json_out_str(&json, "type", "secret");
    if (h->session_id != 0)
        json_out_int(&json, "session_id", h->session_id);
    if (h->seq != 0)
        json_out_int(&json, "seq", h->seq);
    if (h->file != NULL) {
        json_out_str(&json, "file", h->file);
        json_out_uint(&json, "line", h->line);
    }
    json_out_str(&json, "where", h->where);
    json_out_text(&json, "rules", h->rules);
    json_out_uint(&json, "count", h->n);
    json_out_end(&json);
    out_raw(&j->out, b.failed ? "" : buf_str(&b));
    buf_close(&b);
}

static void redact_command_on_hit(void *ctx, const struct scrub_hit *h)
{
    struct job *j = ctx;
    j->places++;
    j->n += h->n;
    if (j->json) {
        redact_command_print_json(j, h);
    } else {
        print_place(j, h);
        out_raw(&j->out, ": ");
        out_text(&j->out, h->rules);
    }
    out_end_line(&j->out);
}

static void print_summary(struct job *j)
{
    if (j->json)
        return;
    if (j->n == 0)
        out_raw(&j->out, "nothing found");
    else
        out_printf(&j->out, "%zu %s in %zu %s", j->n, j->apply ? "replaced" : "found", j->places,
                   j->places == 1 ? "place" : "places");
    out_end_line(&j->out);
}

/* ---- sessions ---- */

static bool redact_command_on_session(void *ctx, const struct query_session *s)
{
    struct targets *t = ctx;
    if (!GROW(t->list, t->n, t->cap)) {
        t->failed = true;
        return false;
    }
    struct target *new = &t->list[t->n++];
    enum session_state state = session_state_of(t->q, s);
    *new = (struct target){.id = s->id};
    new->runs = state == SESSION_LIVE || state == SESSION_ELSEWHERE;
    memcpy(new->uid, s->uid.p, size_min(s->uid.n, sizeof new->uid - 1));
    t->any_runs |= new->runs;
    return true;
}

static int redact_command_fail(const char *why)
{
    log_error("%s", why);
    return EXIT_TROUBLE;
}

static int process_session(struct job *j, struct scrub *s, const struct target *t)
{
    if (j->apply && t->runs) {
        log_warn("session %lld may still be running and is not changed; run this again when it has "
                 "ended",
                 (long long)t->id);
        j->left = true;
        return EXIT_FINE;
    }
    return scrub_session(s, t->id, t->uid) < 0 ? redact_command_fail(scrub_error(s)) : EXIT_FINE;
}

/* only: the session to process; NULL: all sessions and all files. */
static int process_targets(struct job *j, struct scrub *s, const struct targets *t,
                           const struct target *only)
{
    bool today = !j->apply || !t->any_runs;
    int status = EXIT_FINE;
    if (only != NULL)
        status = process_session(j, s, only);
    for (size_t i = t->n; only == NULL && status == EXIT_FINE && i-- > 0;) /* oldest first */
        status = process_session(j, s, &t->list[i]);
    if (status == EXIT_FINE && scrub_files(s, only != NULL ? only->uid : NULL, today) < 0)
        status = redact_command_fail(scrub_error(s));
    if (status == EXIT_FINE && !today) {
        log_warn("today's log file is not changed: a session may still be writing to it");
        j->left = true;
    }
    if (scrub_finish(s, status == EXIT_FINE && today && (only == NULL || j->n > 0)) < 0)
        status = redact_command_fail(scrub_error(s));
    return status;
}

static int redact_vault(struct job *j, struct query *q, const char *ref)
{
    struct targets t = {.q = q};
    struct target only = {0};
    struct scrub *s = NULL;
    struct buf error = {0};
    int status = EXIT_FINE;
    int st = query_sessions(q, 0, redact_command_on_session, &t);
    if (st == 0 && ref != NULL) {
        struct query_session one;
        st = query_session(q, ref, &one);
        for (size_t i = 0; st == 0 && i < t.n; i++)
            if (t.list[i].id == one.id)
                only = t.list[i];
    }
    if (st < 0 || t.failed)
        status =
            redact_command_fail(t.failed || st == MI_ENOMEM ? "out of memory" : query_error(q));
    else if (scrub_open(&s, q, j->apply, redact_command_on_hit, j, &error) < 0)
        status = redact_command_fail(error.n > 0 ? buf_str(&error) : "out of memory");
    else
        status = process_targets(j, s, &t, only.id != 0 ? &only : NULL);
    scrub_close(s);
    buf_close(&error);
    free(t.list);
    return status;
}

/* ---- the command ---- */

static int redact_command_check(const struct settings *s, const char *operand)
{
    bool all = settings_is_on(s, "all");
    if (settings_is_on(s, "scan") == settings_is_on(s, "apply"))
        return settings_fail_usage(s, "use --scan or --apply");
    if (all == (operand != NULL))
        return settings_fail_usage(s, "use a SESSION, a FILE or --all");
    return EXIT_FINE;
}

static int redact_operand(const struct settings *s, struct job *j, const char *operand)
{
    struct query *q = NULL;
    if (recording_is_file(operand)) {
        int status = redact_file(operand, j->apply, redact_command_on_hit, j);
        if (status == EXIT_FINE)
            print_summary(j);
        return status;
    }
    int status = session_vault_open(s, &q);
    bool none = status == EXIT_FINE && !query_is_stored(q) && operand == NULL;
    if (none && !j->json)
        session_warn_none(q, "no session");
    if (status == EXIT_FINE && !none)
        status = redact_vault(j, q, operand);
    if (status == EXIT_FINE && !none)
        print_summary(j);
    query_close(q);
    return status;
}

static int redact_command_run(const struct settings *s)
{
    const char *operand = s->operands_n > 0 ? s->operands[0] : NULL;
    int status = redact_command_check(s, operand);
    if (status == EXIT_FINE) {
        struct job j = {.json = settings_is_on(s, "json"), .apply = settings_is_on(s, "apply")};
        out_open(&j.out);
        status = redact_operand(s, &j, operand);
        int printed = out_close(&j.out);
        if (status == EXIT_FINE && (j.left || (!j.apply && j.n > 0)))
            status = EXIT_FOUND;
        status = printed != EXIT_FINE ? printed : status;
    }
    return status;
}

const struct command command_redact = {
    .name = "redact",
    .summary = "find secrets in existing recordings, or remove them",
    .usage = "--scan | --apply [OPTIONS] SESSION | FILE | --all",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = redact_command_run,
};
