/* cmd_prune.c - `mcp-interposer prune`: remove old sessions, logs and escalations. */
#include "base/clock.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/out.h"
#include "cli/retain.h"
#include "cli/session.h"
#include "vault/running.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PAUSE_FACTOR 3         /* while proxies run: so much longer than a step took */
#define LOCKED_MAX_US 10000000 /* the database is locked by somebody for so long */

static const struct opt table_of_options[] = {
    COMMAND_OPT_VAULT,
    {0, "older-than", "DURATION", NULL, "remove sessions that ended longer ago: 30d"},
    {0, "max-size", "SIZE", NULL, "remove the oldest sessions until the vault is not larger"},
    {0, "keep-last", "N", NULL,
     "keep this many of the newest in any case; alone: remove the others"},
    {0, "dry-run", NULL, NULL, "say what would be removed, and remove nothing"},
    COMMAND_OPTS,
};

static const char about[] =
    "Removes sessions with their messages, events and large bodies, and log files and escalations\n"
    "that are older than all that stays. Sessions that run, and the newest one, always stay.\n"
    "Without a rule those of the configuration count; a proxy applies them by itself, too, while\n"
    "nothing is written to the vault:\n"
    "\n"
    "  [retention]\n"
    "  older-than = 30d\n"
    "  keep-last = 100\n"
    "\n"
    "The database file is made smaller when no proxy runs; otherwise its free space is used for\n"
    "new messages. Exit status: 0; 1 with --dry-run: there is something to remove.\n";

static void say_size(struct out *o, int64_t bytes)
{
    struct buf b = {0};
    units_show_size(&b, bytes);
    out_text(o, buf_slice(&b));
    buf_close(&b);
}

static void say_count(struct out *o, int64_t n, const char *what)
{
    out_printf(o, ", %lld %s%s", (long long)n, what, n == 1 ? "" : "s");
}

static void say_report(struct out *o, const char *verb, const struct prune_report *r)
{
    out_printf(o, "%s %lld session%s", verb, (long long)r->sessions, r->sessions == 1 ? "" : "s");
    say_count(o, r->messages, "message");
    say_count(o, r->bodies, "file");
    out_raw(o, " of large bodies");
    say_count(o, r->logs, "log file");
    say_count(o, r->escalations, "escalation");
    out_raw(o, "; ");
    say_size(o, r->file_bytes);
    out_raw(o, " in files");
    out_end_line(o);
}

static int say_sessions(struct query *q, const struct prune *p, struct out *o)
{
    const int64_t *ids;
    size_t n = prune_sessions(p, &ids);
    int st = 0;
    for (size_t i = 0; i < n && st == 0 && !out_ended(o); i++) {
        char ref[24], started[CLOCK_TEXT_MAX];
        struct query_session s;
        snprintf(ref, sizeof ref, "%lld", (long long)ids[i]);
        st = query_session(q, ref, &s);
        if (st < 0)
            break;
        clock_local_text(s.started_at_us, started);
        out_printf(o, "session %s  %s  ", ref, started);
        out_text(o, s.name);
        out_end_line(o);
    }
    return st;
}

static bool is_live(const char *vault)
{
    struct running_list l;
    struct buf error = {0};
    bool live = running_open(&l, vault, &error) < 0 || l.n > 0;
    running_close(&l);
    buf_close(&error);
    return live;
}

static void rest_us(int64_t us)
{
    nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL);
}

/* With proxies about we leave them most of the time. */
static int remove_all(struct prune *p, const char *vault, struct buf *error)
{
    bool done = false, live = is_live(vault);
    int64_t locked_us = 0;
    while (!done) {
        int64_t start = clock_mono_us();
        int st = prune_step(p, &done, error);
        int64_t took = clock_mono_us() - start;
        locked_us = st == MI_EFULL ? locked_us + took : 0;
        if (locked_us > LOCKED_MAX_US)
            buf_printf(error, "somebody holds %s/interposer.db locked; try again later", vault);
        if (locked_us > LOCKED_MAX_US || (st < 0 && st != MI_EFULL))
            return st;
        if (live)
            rest_us(PAUSE_FACTOR * took);
    }
    return 0;
}

static int prune(struct query *q, const struct retention *rule, bool dry)
{
    struct prune *p = NULL;
    struct out o;
    struct buf error = {0};
    out_open(&o);
    (void)running_bury(query_vault(q)); /* what killed proxies have left open counts as ended */
    int st = prune_open(&p, query_vault(q), rule, clock_wall_us(), &error);
    bool some = st == 0 && (prune_plan(p)->sessions > 0 || prune_plan(p)->file_bytes > 0);
    if (st == 0 && dry) {
        st = say_sessions(q, p, &o);
        say_report(&o, "would remove", prune_plan(p));
    } else if (st == 0) {
        st = remove_all(p, query_vault(q), &error);
        say_report(&o, "removed", prune_done(p));
        if (st == 0 && prune_done(p)->free_bytes > 0 && !prune_done(p)->shrunk) {
            say_size(&o, prune_done(p)->free_bytes);
            out_raw(&o, " of the database are free for new messages");
            out_end_line(&o);
        }
    }
    prune_close(p);
    int status = out_close(&o);
    if (st < 0) {
        log_error("%s", st == MI_ENOMEM ? "no memory"
                        : error.n > 0   ? buf_str(&error)
                                        : query_error(q));
        status = EXIT_TROUBLE;
    }
    buf_close(&error);
    return status == EXIT_FINE && dry && some ? EXIT_FOUND : status;
}

static int run(int argc, char **argv)
{
    struct settings s;
    if (!settings_read(&s, &command_prune, argc, argv))
        return s.exit_status;
    struct retention rule;
    struct query *q;
    int status = EXIT_FINE;
    retain_options(&s, &rule);
    if (rule.older_us == 0 && rule.keep_last == 0 && rule.max_bytes == 0)
        retain_configured(&s, &rule);
    if (rule.older_us == 0 && rule.keep_last == 0 && rule.max_bytes == 0)
        status = settings_usage(&command_prune,
                                "no rule says what to remove; give --older-than, --max-size or "
                                "--keep-last, or write [retention] in the configuration");
    if (status == EXIT_FINE)
        status = session_vault_open(&s, &q);
    if (status == EXIT_FINE) {
        status = prune(q, &rule, settings_on(&s, "dry-run"));
        query_close(q);
    }
    settings_close(&s);
    return status;
}

const struct command command_prune = {
    .name = "prune",
    .summary = "remove old sessions, logs and escalations",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
