/* prune.c - `mcp-interposer prune`: removes old sessions, logs and escalations. */
#include "cli/upkeep/commands.h"

#include "base/clock.h"
#include "base/json_out.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/frame/ask.h"
#include "cli/frame/out.h"
#include "cli/frame/session.h"
#include "cli/settings/retain.h"
#include "vault/store/running.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* while proxies run, the pause after a step lasts this many times as long as the step */
#define PAUSE_FACTOR 3
/* longest wait, in microseconds, while another process has locked the database */
#define LOCKED_MAX_US 10000000
#define ASKED_MAX 20 /* maximum number of sessions listed before the question */

static const struct opt table_of_options[] = {
    {0, "older-than", "AGE", NULL,
     "remove sessions that ended longer ago than AGE, such as 30d, 2w or 1mo"},
    {0, "max-size", "SPACE", NULL,
     "remove the oldest sessions until the vault is not larger than SPACE, such as 2GiB"},
    {0, "keep-last", "N", NULL,
     "keep the last N sessions whatever other rules say; as the only rule: remove all others"},
    {'d', "dry-run", NULL, NULL, "print what would be removed; remove nothing"},
    {'y', "yes", NULL, NULL, "do not ask before anything is removed"},
    {0, "unsent", NULL, NULL, "also remove sessions that were not sent to the target in [ship]"},
    {0, "json", NULL, NULL,
     "print one JSON object per line for each session, and one for the sums; requires --dry-run "
     "or --yes"},
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Removes sessions with their messages, events and large bodies, and log files and\n"
    "escalations that are older than all remaining sessions. Running sessions and the\n"
    "newest session are kept. Without a rule on the command line, the rules of the\n"
    "configuration apply. If the configuration has rules, each proxy also prunes\n"
    "while nothing is written to the vault:\n"
    "\n"
    "  [retention]\n"
    "  older-than = 30d\n"
    "  keep-last = 100\n"
    "\n"
    "With SESSION, only that session is removed, even the newest, unless it is\n"
    "running. Its lines in the log files stay.\n" COMMAND_SESSION_HELP
    "\n"
    "With a url in [ship], only sessions that were sent there at least an hour ago\n"
    "are removed (see `ship status`), unless --unsent is given.\n"
    "AGE and SPACE need a unit. The command shows what would be removed, and asks on\n"
    "the terminal. Where it cannot ask, as in a script or with --json, it requires\n"
    "--dry-run or --yes.\n"
    "The database file shrinks only while no proxy runs; otherwise its free\n"
    "space is used for new messages.\n"
    "Exit status: 0 success; 1 if something would be removed with --dry-run, or if\n"
    "the answer was not yes.\n";
/* clang-format on */

static void print_count(struct out *o, int64_t n, const char *what)
{
    out_printf(o, ", %lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

static bool prune_report_has_items(const struct prune_report *r)
{
    return r->sessions > 0 || r->bodies > 0 || r->logs > 0 || r->escalations > 0;
}

/* Prints the report. If `removed` is true, r counts what was removed; otherwise what would be
 * removed. */
static void print_report(struct out *o, bool removed, const struct prune_report *r)
{
    size_t from = o->b.n;
    out_printf(o, "%s %lld session%s", removed ? "removed" : "would remove", (long long)r->sessions,
               r->sessions == 1 ? "" : "s");
    print_count(o, r->messages, "message");
    print_count(o, r->bodies, "file");
    out_add_raw(o, " of large bodies");
    print_count(o, r->logs, "log file");
    print_count(o, r->escalations, "escalation");
    out_printf(o, "; %s in files", units_format_bytes(r->file_bytes).s);
    if (r->bytes_after > 0) /* bytes_after is 0 if the removal failed: the size is unknown */
        out_printf(o, "; the vault %s %s", removed ? "has" : "would have",
                   units_format_bytes(r->bytes_after).s);
    if (!removed)
        out_printf(o, " of its %s", units_format_bytes(r->bytes_before).s);
    out_fill_line(o, from, 0);
}

/* Prints the result. If `removed` is true, r has the totals of what was removed; otherwise r has
 * the totals of the plan. */
static void print_result(const struct prune *p, struct out *o, bool removed,
                         const struct prune_report *r)
{
    if (prune_report_has_items(prune_get_plan_totals(p))) {
        print_report(o, removed, r);
        return;
    }
    out_add_raw(o, "nothing to remove");
    out_end_line(o);
}

/* ---- --json ---- */

/* Appends a line for each session of the plan, oldest first. */
static int append_json_sessions(struct query *q, const struct prune *p, bool removed, struct buf *b)
{
    const int64_t *ids;
    size_t n = prune_sessions(p, &ids);
    struct json_out j = json_out_to(b);
    int st = 0;
    for (size_t i = 0; i < n && st == 0; i++) {
        struct query_session s;
        st = query_session_by_id(q, ids[i], &s);
        if (st < 0)
            break;
        json_out_object(&j, NULL);
        json_out_str(&j, "type", "pruned");
        json_out_bool(&j, "removed", removed);
        json_out_int(&j, "id", s.id);
        json_out_text(&j, "uid", s.uid);
        json_out_text(&j, "name", s.name);
        json_out_int(&j, "started_at_us", s.started_at_us);
        if (s.ended_at_us != 0)
            json_out_int(&j, "ended_at_us", s.ended_at_us);
        else
            json_out_null(&j, "ended_at_us");
        json_out_end(&j);
        json_out_line(&j);
    }
    return st == 0 && b->failed ? MI_ENOMEM : st;
}

/* Appends the sums in `r` as JSON. If `removed` is true, they count what was removed; otherwise
 * what the plan would remove. */
static void append_json_sums(struct out *o, const struct prune_report *plan,
                             const struct prune_report *r, bool removed)
{
    struct json_out j = json_out_to(&o->b);
    json_out_object(&j, NULL);
    json_out_str(&j, "type", "sums");
    json_out_bool(&j, "removed", removed);
    json_out_int(&j, "sessions", r->sessions);
    json_out_int(&j, "messages", r->messages);
    json_out_int(&j, "bodies", r->bodies);
    json_out_int(&j, "logs", r->logs);
    json_out_int(&j, "escalations", r->escalations);
    json_out_int(&j, "file_bytes", r->file_bytes);
    json_out_int(&j, "free_bytes", r->free_bytes);
    json_out_int(&j, "bytes_before", plan->bytes_before);
    if (r->bytes_after > 0 || plan->bytes_before == 0)
        json_out_int(&j, "bytes_after", r->bytes_after);
    else /* the removal failed, so bytes_after is unknown */
        json_out_null(&j, "bytes_after");
    json_out_int(&j, "unsent", plan->unsent);
    json_out_end(&j);
    out_end_line(o);
}

/* ---- for people ---- */

/* Prints at most `max` sessions of the plan, then what else the plan would remove. */
static int print_plan(struct query *q, struct prune *p, struct out *o, size_t max,
                      struct buf *error)
{
    const int64_t *ids;
    size_t n = prune_sessions(p, &ids);
    int st = prune_fill_in_plan_totals(p, error);
    for (size_t i = 0; i < size_min(n, max) && st == 0 && !out_has_ended(o); i++) {
        struct query_session s;
        st = query_session_by_id(q, ids[i], &s);
        if (st < 0)
            break;
        out_printf(o, "session %lld  %s  ", (long long)ids[i],
                   clock_format_local_time(s.started_at_us).s);
        out_add_text(o, s.name);
        out_end_line(o);
    }
    if (n > max) {
        out_printf(o, "and %zu more sessions", n - max);
        out_end_line(o);
    }
    if (st == 0)
        print_result(p, o, false, prune_get_plan_totals(p));
    return st;
}

/* Removes the sessions and files of the plan. While proxies run, pauses between the steps, so that
 * the proxies can write to the vault. */
static int prune_remove_all(struct prune *p, const char *vault, struct buf *error)
{
    bool done = false, running = running_list_has_any_proxy(vault);
    int64_t locked_us = 0;
    while (!done) {
        int64_t start = clock_mono_us();
        int st = prune_run_step(p, &done, error);
        int64_t took = clock_mono_us() - start;
        locked_us = st == MI_EFULL ? locked_us + took : 0;
        if (locked_us > LOCKED_MAX_US)
            buf_printf(error, "another process has locked %s/interposer.db; try again later",
                       vault);
        if (locked_us > LOCKED_MAX_US || (st < 0 && st != MI_EFULL))
            return st;
        int64_t us = PAUSE_FACTOR * took;
        if (running)
            nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
    }
    return 0;
}

/* Removes the sessions and files of the plan, and prints a line for each session. If the removal
 * fails, only the sessions that were removed are printed: they are the first ones of the plan. */
static int prune_and_print_json(struct query *q, struct prune *p, struct out *o, struct buf *error)
{
    struct buf lines = {0};
    int st = append_json_sessions(q, p, true, &lines);
    if (st == 0)
        st = prune_remove_all(p, query_vault(q), error);
    const char *line = buf_str(&lines);
    for (int64_t i = 0; i < prune_get_report(p)->sessions && *line != '\0'; i++) {
        size_t n = strcspn(line, "\n");
        buf_add(&o->b, line, n);
        out_end_line(o);
        line += n + 1;
    }
    append_json_sums(o, prune_get_plan_totals(p), prune_get_report(p), true);
    buf_close(&lines);
    return st;
}

/* Handles --json with --dry-run or --yes. */
static int prune_print_json(struct query *q, struct prune *p, bool dry, struct out *o,
                            struct buf *error)
{
    if (!dry)
        return prune_and_print_json(q, p, o, error);
    int st = prune_fill_in_plan_totals(p, error);
    if (st == 0)
        st = append_json_sessions(q, p, false, &o->b);
    if (st == 0)
        append_json_sums(o, prune_get_plan_totals(p), prune_get_plan_totals(p), false);
    return st;
}

enum mode {
    REMOVE, /* --yes: removes without a question */
    ASK,    /* prints what would be removed, and asks whether to remove it */
    DRY,    /* --dry-run: prints what would be removed */
};

/* some: whether there is anything to remove. Sets *ret_kept to true if there was something to
 * remove, but it was not removed. */
static int prune_and_print_text(struct query *q, struct prune *p, enum mode mode, bool some,
                                struct out *o, bool *ret_kept, struct buf *error)
{
    int st = 0;
    bool kept = false;
    if (mode == DRY || (mode == ASK && some)) {
        st = print_plan(q, p, o, mode == DRY ? SIZE_MAX : ASKED_MAX, error);
        out_flush(o);
        kept = some && (mode == DRY || st < 0 || !ask_user_for_yes("Remove all this?"));
    }
    if (st == 0 && mode != DRY && !kept) {
        st = prune_remove_all(p, query_vault(q), error);
        print_result(p, o, true, prune_get_report(p));
        if (st == 0 && prune_get_report(p)->free_bytes > 0 && !prune_get_report(p)->shrunk) {
            out_printf(o, "%s of the database are free for new messages",
                       units_format_bytes(prune_get_report(p)->free_bytes).s);
            out_end_line(o);
        }
    } else if (st == 0 && mode == ASK) {
        out_add_raw(o, "nothing was removed");
        out_end_line(o);
    }
    *ret_kept = kept;
    return st;
}

static int prune_by_rules(struct query *q, const struct retention *rule, enum mode mode, bool json)
{
    struct prune *p = NULL;
    struct out o;
    struct buf error = {0};
    bool kept = false;
    out_open(&o);
    int st = prune_open(&p, query_vault(q), rule, clock_wall_us(), &error);
    bool some = st == 0 && prune_report_has_items(prune_get_plan_totals(p));
    if (st == 0 && json) {
        st = prune_print_json(q, p, mode == DRY, &o, &error);
        kept = some && mode == DRY;
    } else if (st == 0) {
        st = prune_and_print_text(q, p, mode, some, &o, &kept, &error);
    }
    if (st == 0 && prune_get_plan_totals(p)->unsent > 0)
        log_warn("%lld session%s kept, because `prune` removes only what was sent to %s at least "
                 "an hour ago; see `mcp-interposer ship status`; --unsent removes them, too",
                 (long long)prune_get_plan_totals(p)->unsent,
                 prune_get_plan_totals(p)->unsent == 1 ? "" : "s", rule->target);
    if (st == 0 && rule->max_bytes > 0) {
        /* The sessions and files that are never removed may together exceed --max-size. */
        const struct prune_report *plan = prune_get_plan_totals(p);
        if (plan->bytes_after > rule->max_bytes)
            log_warn(
                "%s remain, which is more than the limit: running sessions, the newest session%s "
                "and today's log file are never removed",
                units_format_bytes(plan->bytes_after).s, rule->keep_last > 1 ? "s" : "");
    }
    prune_close(p);
    int status = out_close(&o);
    if (st < 0) {
        log_error("%s", st == MI_ENOMEM ? "out of memory"
                        : error.n > 0   ? buf_str(&error)
                                        : query_error(q));
        status = EXIT_TROUBLE;
    }
    buf_close(&error);
    return status == EXIT_FINE && kept ? EXIT_FOUND : status;
}

/* Reports that the vault has no recordings. */
static int report_empty_vault(struct query *q, const struct settings *s)
{
    struct out o;
    if (!settings_is_on(s, "json")) {
        session_warn_empty_list(q, "no session");
        return EXIT_FINE;
    }
    out_open(&o);
    static const struct prune_report none;
    append_json_sums(&o, &none, &none, !settings_is_on(s, "dry-run"));
    return out_close(&o);
}

static bool retention_is_set(const struct retention *r)
{
    return r->older_us > 0 || r->keep_last > 0 || r->max_bytes > 0;
}

/* Reads the retention rules from the command line or, if it has none, from the configuration file.
 * A command line with a session must not have rules. */
static int choose_retention_rules(const struct settings *s, struct retention *rule)
{
    retain_read_options(s, rule);
    if (s->operands_n > 0 && retention_is_set(rule))
        return settings_fail_usage(s, "a session and a rule: give only one of them");
    if (s->operands_n == 0 && !retention_is_set(rule))
        retain_read_configured_rules(s, rule);
    if (settings_is_on(s, "unsent"))
        rule->target = NULL;
    if (s->operands_n == 0 && !retention_is_set(rule))
        return settings_fail_usage(
            s, "missing session or rule: use --older-than, --max-size or --keep-last, or the "
               "section [retention] of the configuration");
    return EXIT_FINE;
}

/* Sets rule->session to the session that `ref` names. Refuses a session that may be running. */
static int choose_session(struct query *q, const char *ref, struct retention *rule)
{
    struct query_session session;
    int st = query_session(q, ref, &session);
    if (st < 0)
        return session_report_query_error(q, st);
    enum session_state state = session_determine_state(q, &session);
    if (state == SESSION_LIVE || state == SESSION_ELSEWHERE) {
        log_error("session %lld %s; end it first", (long long)session.id,
                  state == SESSION_LIVE ? "is running"
                                        : "may be running on another machine or in a container");
        return EXIT_TROUBLE;
    }
    rule->session = session.id;
    return EXIT_FINE;
}

static int prune_run(const struct settings *s)
{
    struct retention rule;
    struct query *q;
    bool json = settings_is_on(s, "json");
    enum mode mode = settings_is_on(s, "dry-run") ? DRY : settings_is_on(s, "yes") ? REMOVE : ASK;
    int status = choose_retention_rules(s, &rule);
    if (status != EXIT_FINE)
        return status;
    if (mode == ASK && json)
        return settings_fail_usage(s, "--json does not ask: add --dry-run, or --yes to remove");
    if (mode == ASK && !ask_user_has_terminal())
        return settings_fail_usage(s, "cannot ask before removing, since stdin or stderr is not a "
                                      "terminal: add --dry-run, or --yes to remove");
    status = session_vault_open(s, &q);
    if (status != EXIT_FINE)
        return status;
    if (s->operands_n > 0)
        status = choose_session(q, s->operands[0], &rule);
    if (status == EXIT_FINE)
        status =
            query_is_stored(q) ? prune_by_rules(q, &rule, mode, json) : report_empty_vault(q, s);
    query_close(q);
    return status;
}

const struct command command_prune = {
    .name = "prune",
    .summary = "remove old sessions, logs and escalations, or one session",
    .usage = "[OPTIONS] [SESSION]",
    .about = about,
    .table = table_of_options,
    .operands_max = 1,
    .run = prune_run,
};
