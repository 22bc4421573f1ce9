/* command.c - `mcp-interposer doctor`: checks the vault, the machine and the wrapped clients. */
#include "cli/doctor/commands.h"

#include "base/clock.h"
#include "base/units.h"
#include "cli/doctor/checks.h"
#include "cli/doctor/deadline_rules.h"
#include "cli/doctor/libraries.h"
#include "cli/settings/paths.h"
#include "vault/store/running.h"
#include "vault/unsent/cursors.h"
#include "vault/upkeep/health.h"

#include <stdlib.h>
#include <unistd.h>

/* Size of the write-ahead log, in bytes, above which the log is reported: eight times the size at
 * which a recorder checkpoints the log during a burst of messages (UPKEEP_PAGES_MAX). */
#define WAL_MAX ((int64_t)256 << 20)
#define GROUP_MAX 256 /* maximum number of processes that are counted for a killed proxy */
/* Unsent sessions are reported after three days, because a laptop may be offline over a weekend. */
#define SHIPPING_LATE_US (INT64_C(3) * 86400 * 1000000)

static const struct opt table_of_options[] = {
    {'q', "quick", NULL, NULL,
     "do not read the messages; skip the checks of integrity, of servers and of durations"},
    {0, "repair", NULL, NULL, "first recover sessions from damaged databases that were put aside"},
    {'v', "verbose", NULL, NULL, "list the checks that found nothing, too"},
    {0, "json", NULL, NULL, "print one JSON object per line for each check"},
    REPORTING_OPTS,
    COMMAND_OPT_VAULT,
    COMMAND_OPTS,
};

/* clang-format off */
static const char about[] =
    "Checks the configuration, the vault, whether it can be written, its database,\n"
    "databases that were damaged and put aside, the disk, processes left by killed\n"
    "proxies, the journals and recorders of running sessions, escalations of the\n"
    "last day, sessions that are not sealed, the key that signs checkpoints, whether\n"
    "ended sessions are signed and anchored, wrapped configuration files of MCP\n"
    "clients, and the libraries.\n"
    "Lists the servers that failed in their newest session of the last week, with\n"
    "their last error, and the tools whose calls came close to their deadline. Prints\n"
    "the problems, and the number of checks that found none. Changes nothing, except\n"
    "with --repair.\n"
    "Exit status: 0 no problem; 1 problems, each followed by its remedy.\n";
/* clang-format on */

/* ---- the database ---- */

static void check_schema(struct doctor *d, const struct health *h)
{
    if (h->version > health_get_schema_version())
        doctor_report_fault(d, "schema", "use the newer mcp-interposer",
                            "version %lld is newer than %lld, the latest known to this program",
                            (long long)h->version, (long long)health_get_schema_version());
    else if (h->version < health_get_schema_version())
        doctor_report_fault(d, "schema", "start a proxy once: it upgrades the schema",
                            "version %lld is older than %lld, which this program needs",
                            (long long)h->version, (long long)health_get_schema_version());
    else
        doctor_report_passed(d, "schema", "version %lld", (long long)h->version);
    if (!h->journal_is_wal)
        doctor_report_fault(
            d, "schema", "start a proxy once: it sets WAL mode",
            "the database is not in WAL mode: readers and writers wait for each other");
}

static void check_wal_size(struct doctor *d, const struct health *h)
{
    struct units_text wal = units_format_bytes(h->wal_bytes);
    if (h->wal_bytes > WAL_MAX)
        doctor_report_fault(
            d, "wal",
            "stop the program that keeps the database open; the next idle proxy then shrinks the "
            "write-ahead log",
            "the write-ahead log has a size of %s: a long-running reader prevents a checkpoint",
            wal.s);
    else
        doctor_report_passed(d, "wal", "the write-ahead log has a size of %s", wal.s);
    doctor_report_passed(d, "database", "%lld session%s in a file of %s, of which %s are free",
                         (long long)h->sessions, h->sessions == 1 ? "" : "s",
                         units_format_bytes(h->db_bytes).s, units_format_bytes(h->free_bytes).s);
}

#define UNLOCK                                                                                     \
    "run doctor again; if the problem remains, end the program that keeps the database locked"

static void check_integrity(struct doctor *d)
{
    struct buf error = {0};
    int st = health_check_vault(d->vault, &error);
    if (st == 0)
        doctor_report_passed(d, "integrity", "the database is intact");
    else if (st == MI_EBUSY)
        doctor_report_fault(d, "integrity", UNLOCK, "the database was not checked: %s",
                            buf_str(&error));
    else
        doctor_report_fault(d, "integrity",
                            "see mcp-interposer audit verify; if the database is damaged, copy the "
                            "vault, then: sqlite3 interposer.db '.recover' | sqlite3 new.db",
                            "the database is damaged, or was changed by another program: %s",
                            buf_str(&error));
    buf_close(&error);
}

static void check_database(struct doctor *d, bool quick)
{
    struct health h;
    struct buf error = {0};
    int st = health_read_database_facts(d->vault, &h, &error);
    if (st == MI_ENOENT) {
        doctor_report_passed(d, "database", "none yet: nothing has been recorded");
    } else if (st == MI_EBUSY) {
        doctor_report_fault(d, "database", UNLOCK, "%s", buf_str(&error));
    } else if (st < 0) {
        doctor_report_fault(
            d, "database",
            "copy the vault, then: sqlite3 interposer.db '.recover' | sqlite3 new.db", "%s",
            st == MI_ENOMEM ? "out of memory" : buf_str(&error));
    } else {
        check_schema(d, &h);
        check_wal_size(d, &h);
        if (h.gaps > 0)
            doctor_report_note(d, "record",
                               "%lld gap%s: some messages were not recorded, see the events `gap`",
                               (long long)h.gaps, h.gaps == 1 ? "" : "s");
        int64_t n = health_count_sessions_without_calls(d->vault);
        /* the recorder of a running proxy adds the missing rows of `calls` */
        if (n > 0 && !running_list_has_any_proxy(d->vault))
            doctor_report_note(
                d, "calls",
                "%lld session%s not in the table `calls` yet: commands take longer to read %s, "
                "until the next proxy adds %s to the table",
                (long long)n, n == 1 ? " is" : "s are", n == 1 ? "it" : "them",
                n == 1 ? "it" : "them");
        if (!quick)
            check_integrity(d);
    }
    buf_close(&error);
}

/* ---- central stores ---- */

struct shipping_check {
    struct doctor *d;
    const char *url; /* the target in the configuration; NULL: none */
    bool seen;       /* the vault has been sent to `url` */
};

static int doctor_on_ship_target(void *ctx, const struct target_state *t,
                                 const struct target_lag *lag)
{
    struct shipping_check *c = ctx;
    c->seen |= c->url != NULL && slice_is(t->url, c->url);
    bool late = lag->sessions > 0 && t->sent_at_us < clock_wall_us() - SHIPPING_LATE_US;
    struct slice error = t->error.p != NULL ? t->error : slice_of("no error");
    if (late)
        doctor_report_fault(
            c->d, "shipping",
            "run: mcp-interposer ship to URL, or if the target is no longer used: mcp-interposer "
            "ship forget URL; `mcp-interposer ship status` says more",
            "%lld message%s of %lld session%s not sent to %.*s; the last attempt: %.*s",
            (long long)lag->messages, lag->messages == 1 ? "" : "s", (long long)lag->sessions,
            lag->sessions == 1 ? "" : "s", (int)t->url.n, t->url.p, (int)error.n, error.p);
    else
        doctor_report_passed(c->d, "shipping", "%lld message%s to be sent to %.*s",
                             (long long)lag->messages, lag->messages == 1 ? "" : "s", (int)t->url.n,
                             t->url.p);
    return 0;
}

/* Checks whether the vault was sent to its central stores. Checks nothing if the configuration has
 * no target (url is NULL) and the vault was never sent. */
static void check_shipping(struct doctor *d, const char *url)
{
    struct shipping_check c = {d, url, false};
    struct buf error = {0};
    int st = cursors_read(d->vault, doctor_on_ship_target, &c, &error);
    buf_close(&error); /* check_database() has reported the error */
    if (st == 0 && url != NULL && !c.seen)
        doctor_report_fault(
            d, "shipping", "run: mcp-interposer ship to URL, or enable its systemd unit",
            "the configuration names a central store, and this vault was never sent there");
}

/* ---- proxies ---- */

static void check_proxies(struct doctor *d)
{
    struct running_list l;
    struct buf error = {0};
    int64_t live = 0, dead = 0, left = 0;
    if (running_list_open(&l, d->vault, &error) < 0) { /* check_database() has reported the error */
        buf_close(&error);
        return;
    }
    for (size_t i = 0; i < l.n; i++) {
        struct process group[GROUP_MAX];
        enum session_state state = running_row_get_state(&l, &l.row[i]);
        live += state == SESSION_LIVE;
        dead += state == SESSION_DIED;
        left += state == SESSION_DIED
                    ? (int64_t)read_running_process_group(&l.row[i].r, group, GROUP_MAX)
                    : 0;
    }
    if (dead > 0)
        doctor_report_fault(
            d, "proxies", "mcp-interposer reap",
            "%lld killed prox%s left %lld process%s; %s no recorded end and no seal",
            (long long)dead, dead == 1 ? "y has" : "ies have", (long long)left,
            left == 1 ? "" : "es", dead == 1 ? "its session has" : "their sessions have");
    else
        doctor_report_passed(d, "proxies", "%lld running", (long long)live);
    running_list_close(&l);
    buf_close(&error);
}

static void check_libraries(struct doctor *d)
{
    bool new_enough, fts5;
    struct buf list = {0};
    const char *sqlite = health_sqlite_version(&new_enough, &fts5);
    libraries_append_versions(&list);
    doctor_report_passed(d, "libraries", "mcp-interposer " MI_VERSION ", %s", buf_str(&list));
    if (!new_enough)
        doctor_report_fault(d, "libraries", "install SQLite 3.37 or later",
                            "SQLite %s does not support STRICT tables", sqlite);
    if (!fts5)
        doctor_report_fault(d, "libraries", "install a SQLite with FTS5",
                            "SQLite %s has no FTS5: search does not work", sqlite);
    buf_close(&list);
}

/* ---- the command ---- */

static void check_configuration(struct doctor *d, const struct settings *s, const char *fault)
{
    char *path = path_of_config_file(settings_get_text(s, "config"));
    if (fault != NULL)
        doctor_report_fault(
            d, "configuration",
            "correct the file: until then most commands fail, and clients get an error "
            "instead of their server; the checks below ignore the rest of the file",
            "%s", fault);
    else if (path != NULL && access(path, F_OK) == 0)
        doctor_report_passed(d, "configuration", "%s is valid", path);
    else
        doctor_report_passed(d, "configuration",
                             "no configuration file: all options have their "
                             "defaults");
    free(path);
}

/* Without a retention rule, recordings are never removed, and the disk may become full. The user
 * should know that in advance. */
static void check_retention(struct doctor *d, const struct settings *s)
{
    static const char *const names[RETAIN_RULES] = {
        [RETAIN_OLDER] = "older-than", [RETAIN_LAST] = "keep-last", [RETAIN_SIZE] = "max-size"};
    struct buf rules = {0};
    for (int i = 0; i < RETAIN_RULES; i++)
        if (s->retention[i] != NULL)
            buf_printf(&rules, "%s%s = %s", rules.n > 0 ? ", " : "", names[i], s->retention[i]);
    if (rules.n > 0)
        doctor_report_passed(d, "retention", "proxies remove old sessions: %s", buf_str(&rules));
    else
        doctor_report_note(
            d, "retention",
            "recordings are kept until you remove them: run mcp-interposer prune, or set "
            "[retention] in the configuration");
    buf_close(&rules);
}

static void check_vault(struct doctor *d, const struct settings *s)
{
    doctor_check_files(d);
    check_retention(d, s);
    check_database(d, settings_is_on(s, "quick"));
    check_proxies(d);
    doctor_check_seals(d);
    doctor_check_recorders(d);
    doctor_check_escalations(d);
}

static void check_servers(struct doctor *d, const struct settings *s, bool calls)
{
    struct rules rules;
    if (rules_open(&rules, s) == 0) {
        doctor_check_wrapped_servers(d, &rules);
        if (calls) {
            doctor_check_failing_servers(d);
            doctor_check_slow_tools(d, &rules);
            doctor_check_hidden_tools(d);
        }
    }
    rules_close(&rules);
}

/* fault: what is wrong with the configuration file; NULL if it is valid. */
static int doctor_check_all(const struct settings *s, const char *fault)
{
    struct doctor d = {.verbose = settings_is_on(s, "verbose")};
    int status = reporting_open(&d.reporting, s, settings_is_on(s, "json"));
    char *named = status == EXIT_FINE ? settings_get_vault_path(s) : NULL;
    char *real = named != NULL ? realpath(named, NULL) : NULL;
    if (named != NULL) {
        report_begin_suite(&d.reporting.report, slice_of("mcp-interposer doctor"),
                           slice_of("mcp-interposer.doctor"), clock_mono_us());
        d.vault = real != NULL ? real : named;
        check_configuration(&d, s, fault);
        if (real != NULL && settings_is_on(s, "repair"))
            doctor_repair(&d);
        if (real != NULL)
            check_vault(&d, s);
        else
            doctor_report_passed(&d, "vault", "%s does not exist: nothing has been recorded",
                                 named);
        if (real == NULL)
            doctor_check_journals(&d);
        doctor_check_signing(&d, s, real != NULL);
        if (real != NULL)
            check_shipping(&d, s->ship_url);
        check_servers(&d, s, real != NULL && !settings_is_on(s, "quick"));
        check_libraries(&d);
        doctor_print_passed_checks(&d);
    } else if (status == EXIT_FINE) {
        status = EXIT_TROUBLE;
    }
    if (named != NULL)
        status = reporting_close(&d.reporting);
    reporting_close_without_files(&d.reporting);
    free(named);
    free(real);
    return status == EXIT_FINE && d.found > 0 ? EXIT_FOUND : status;
}

static int doctor_run(const struct settings *s)
{
    return doctor_check_all(s, NULL);
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "check the vault, the machine and wrapped clients",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = doctor_run,
    .run_misconfigured = doctor_check_all,
};
