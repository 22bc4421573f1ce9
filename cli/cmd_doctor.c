/* cmd_doctor.c - `mcp-interposer doctor`: is the vault sound, and what has to be done. */
#include "base/pattern.h"
#include "base/units.h"
#include "cli/doctor.h"
#include "proxy/proxy.h"
#include "vault/health.h"
#include "vault/running.h"

#include <stdlib.h>

/* Four times of what proxies checkpoint at in the middle of traffic. */
#define WAL_MOST ((int64_t)256 << 20)
#define GROUP_MAX 256

static const struct opt table_of_options[] = {
    COMMAND_OPT_VAULT,
    {'q', "quick", NULL, NULL, "do not read all of the database to see whether it is sound"},
    {0, "json", NULL, NULL, "a JSON object on a line for each check"},
    COMMAND_OPTS,
};

static const char about[] =
    "Looks at the vault, its database, the disk, what killed proxies have left, the escalations "
    "of\n"
    "the last day, the configuration files of MCP clients that have been wrapped, and the\n"
    "libraries. Changes nothing.\n"
    "Exit status: 0 all is well; 1 there is something to do, and how stands below it.\n";

/* ---- the database ---- */

static void check_schema(struct doctor *d, const struct health *h)
{
    if (h->version > health_schema())
        doctor_found(d, "schema", "use the newer mcp-interposer",
                     "version %lld is newer than %lld, which this program knows",
                     (long long)h->version, (long long)health_schema());
    else if (h->version < health_schema())
        doctor_found(d, "schema", "start a proxy once, which brings it up to date",
                     "version %lld is older than %lld", (long long)h->version,
                     (long long)health_schema());
    else
        doctor_fine(d, "schema", "version %lld", (long long)h->version);
    if (!h->journal_is_wal)
        doctor_found(d, "schema", "start a proxy once, which sets it",
                     "the database is not in WAL mode: readers and writers wait for each other");
}

static void check_size(struct doctor *d, const struct health *h)
{
    struct buf db = {0}, unused = {0}, wal = {0};
    units_show_size(&db, h->db_bytes);
    units_show_size(&unused, h->free_bytes);
    units_show_size(&wal, h->wal_bytes);
    if (h->wal_bytes > WAL_MOST)
        doctor_found(
            d, "wal",
            "end whoever reads the database for so long; the next proxy that is idle then moves it",
            "the write-ahead log has %s: a long reading keeps it from starting anew",
            buf_str(&wal));
    else
        doctor_fine(d, "wal", "the write-ahead log has %s", buf_str(&wal));
    doctor_fine(d, "database", "%s for %lld session%s, %s of it free", buf_str(&db),
                (long long)h->sessions, h->sessions == 1 ? "" : "s", buf_str(&unused));
    buf_close(&db);
    buf_close(&unused);
    buf_close(&wal);
}

static void check_integrity(struct doctor *d)
{
    struct buf error = {0};
    if (health_check(d->vault, &error) == 0)
        doctor_fine(d, "integrity", "every page of the database is sound");
    else
        doctor_found(d, "integrity",
                     "copy the vault, then: sqlite3 interposer.db '.recover' | sqlite3 new.db",
                     "the database is damaged: %s", buf_str(&error));
    buf_close(&error);
}

static void check_database(struct doctor *d, bool quick)
{
    struct health h;
    struct buf error = {0};
    int st = health_look(d->vault, &h, &error);
    if (st == MI_ENOENT) {
        doctor_fine(d, "database", "there is none yet: nothing has been recorded");
    } else if (st < 0) {
        doctor_found(d, "database",
                     "copy the vault, then: sqlite3 interposer.db '.recover' | sqlite3 new.db",
                     "%s/interposer.db cannot be read: %s", d->vault,
                     st == MI_ENOMEM ? "no memory" : buf_str(&error));
    } else {
        check_schema(d, &h);
        check_size(d, &h);
        if (h.gaps > 0)
            doctor_fine(d, "record", "%lld gap%s: something was not recorded, see the events `gap`",
                        (long long)h.gaps, h.gaps == 1 ? "" : "s");
        if (!quick)
            check_integrity(d);
    }
    buf_close(&error);
}

/* ---- proxies ---- */

static void check_proxies(struct doctor *d)
{
    struct running_list l;
    struct buf error = {0};
    int64_t live = 0, dead = 0, left = 0;
    if (running_open(&l, d->vault, &error) < 0) { /* the database has been told of */
        buf_close(&error);
        return;
    }
    for (size_t i = 0; i < l.n; i++) {
        struct process group[GROUP_MAX];
        enum running_state state = running_look(&l.row[i]);
        live += state == RUNNING_LIVE;
        dead += state == RUNNING_GONE;
        left += state == RUNNING_GONE ? (int64_t)running_group(&l.row[i].r, group, GROUP_MAX) : 0;
    }
    if (dead > 0)
        doctor_found(d, "proxies", "mcp-interposer reap",
                     "%lld killed prox%s left %lld process%s and no end in the record",
                     (long long)dead, dead == 1 ? "y has" : "ies have", (long long)left,
                     left == 1 ? "" : "es");
    else
        doctor_fine(d, "proxies", "%lld run%s", (long long)live, live == 1 ? "s" : "");
    running_close(&l);
    buf_close(&error);
}

static void check_libraries(struct doctor *d)
{
    bool new_enough, fts5;
    struct buf pcre2 = {0};
    const char *sqlite = health_sqlite(&new_enough, &fts5);
    pattern_library(&pcre2);
    doctor_fine(d, "libraries", "mcp-interposer %s, SQLite %s, PCRE2 %s, libev %d.%d", MI_VERSION,
                sqlite, buf_str(&pcre2), proxy_libev() / 100, proxy_libev() % 100);
    if (!new_enough)
        doctor_found(d, "libraries", "install SQLite 3.37 or later",
                     "SQLite %s does not know STRICT tables", sqlite);
    if (!fts5)
        doctor_found(d, "libraries", "install a SQLite with FTS5",
                     "SQLite %s has no FTS5: search does not work", sqlite);
    buf_close(&pcre2);
}

/* ---- the command ---- */

static int run(int argc, char **argv)
{
    struct settings s;
    if (!settings_read(&s, &command_doctor, argc, argv))
        return s.exit_status;
    struct doctor d = {.json = settings_on(&s, "json")};
    char *named = settings_vault(&s);
    char *real = named != NULL ? realpath(named, NULL) : NULL;
    int status = EXIT_TROUBLE;
    if (named != NULL) {
        out_open(&d.out);
        d.vault = real != NULL ? real : named;
        if (real != NULL) {
            doctor_files(&d);
            check_database(&d, settings_on(&s, "quick"));
            check_proxies(&d);
            doctor_escalations(&d);
        } else {
            doctor_fine(&d, "vault", "%s is not there: nothing has been recorded", named);
        }
        doctor_wrapped(&d);
        check_libraries(&d);
        status = out_close(&d.out);
        if (status == EXIT_FINE && d.found > 0)
            status = EXIT_FOUND;
    }
    free(named);
    free(real);
    settings_close(&s);
    return status;
}

const struct command command_doctor = {
    .name = "doctor",
    .summary = "check the vault, the machine and the wrapped clients",
    .usage = "[OPTIONS]",
    .about = about,
    .table = table_of_options,
    .run = run,
};
