/* to.c - `ship to`: sends new rows, and follows the vault. */
#include "ship/commands.h"

#include "base/clock.h"
#include "base/log.h"
#include "cli/look/follow/watch.h"
#include "record/process/orphans.h"
#include "ship/otlp/target.h"
#include "ship/outbox/backoff.h"
#include "ship/postgres/target.h"
#include "vault/unsent/cursors.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* time to wait after a round, so that rows which follow soon are sent together */
#define LINGER_MS 1000
#define ERROR_MAX 2048
#define ORPHANS_US INT64_C(60000000)
/* At this interval, the shipper checks whether the store has lost rows, and saves its state in the
 * vault even if there was nothing to send. The interval is long, because each write to the vault
 * wakes the shippers to other targets. */
#define STATE_US INT64_C(600000000)
/* time between two attempts to save the state while the vault cannot be written */
#define UNSAVED_US INT64_C(60000000)

static const struct target_kind *const kinds[] = {&postgres_target, &otlp_target};

struct shipper {
    const struct target_kind *kind;
    void *sender; /* owned; the target, opened by kind->open() */
    struct unsent *from;
    struct watch watch;
    const char *url;
    bool once, minimal, content, notifications;
    int64_t until_us; /* time at which sending must end; 0: there is no deadline */
    int failures;     /* number of rounds in a row that have failed */
    bool warned;      /* true: the failure was logged */
    int64_t sent_at_us, orphans_us;
    int64_t state_us; /* time at which the state must be saved again, even if nothing was sent */
    uint32_t random;
};

/* Stores messages of killed sessions that are still in journals. */
static void store_orphaned_messages(struct shipper *x)
{
    if (clock_mono_us() < x->orphans_us)
        return;
    x->orphans_us = clock_mono_us() + ORPHANS_US;
    orphans_store_all(unsent_get_vault_path(x->from), NULL, NULL);
}

/* Saves the state for `ship status` and `prune`. */
static void shipper_save_state(struct shipper *x, const char *error)
{
    struct target_state t = {
        .url = slice_of(x->url), .tried_at_us = clock_wall_us(), .sent_at_us = x->sent_at_us};
    if (x->kind->leaves != NULL)
        t.leaves = x->kind->leaves(x->sender);
    if (error != NULL)
        t.error = slice_of(error);
    bool saved = cursors_save_target(x->from, &t) == 0;
    x->state_us = clock_mono_us() + (saved ? STATE_US : UNSAVED_US);
}

/* Waits. Returns false if the program must end. */
static bool shipper_sleep_ms(struct shipper *x, int64_t ms)
{
    int64_t until = clock_mono_us() + ms * 1000;
    for (int64_t left = ms; left > 0; left = (until - clock_mono_us()) / 1000) {
        if (watch_is_stopped() || (x->until_us != 0 && clock_mono_us() >= x->until_us))
            return false;
        /* A signal ends nanosleep(), but not if the signal arrives just before the call. So sleep a
         * second at most. */
        int64_t part = left < 1000 ? left : 1000;
        nanosleep(&(struct timespec){part / 1000, part % 1000 * 1000000}, NULL);
    }
    return !watch_is_stopped();
}

/* Whether it is time to check that the store still has all rows, because a failover may have lost
 * some. */
static bool shipper_must_check_store(struct shipper *x)
{
    return clock_mono_us() >= x->state_us ||
           (x->kind->is_cut != NULL && x->kind->is_cut(x->sender));
}

/* Waits until the vault has changed, or the store must be checked. */
static bool shipper_wait_for_rows(struct shipper *x, int64_t version)
{
    int64_t now = version;
    while (now == version) {
        if (watch_wait_for_change(&x->watch, WATCH_IDLE_MS) == WATCH_END)
            return false;
        store_orphaned_messages(x);
        if (shipper_must_check_store(x))
            return true;
        if (unsent_read_data_version(x->from, &now) < 0)
            return true; /* the error occurs again in the next round, which reports it */
    }
    return true;
}

/* Handles a failure of a round. Returns EXIT_FINE if the round must be tried again. */
static int shipper_handle_failure(struct shipper *x, int st, const char *sentence)
{
    char error[ERROR_MAX]; /* copy the sentence, because shipper_save_state() may change it */
    snprintf(error, sizeof error, "%s", sentence);
    bool refused = st == TARGET_REFUSED, final = refused || st == TARGET_STOPPED || st == MI_ENOMEM;
    /* After these errors, try again even with --once: after the first failure at once, after later
     * failures with a pause. The target limits their number (ship/postgres/sender.c). */
    bool again = st == TARGET_AGAIN || st == TARGET_DIFFERS;
    shipper_save_state(x, error);
    if (st == TARGET_STOPPED && !x->once)
        return EXIT_FINE;
    if (final || (x->once && x->until_us == 0 && !again)) {
        log_error("%s", error);
        return refused ? EXIT_FOUND : EXIT_TROUBLE;
    }
    x->failures++;
    x->random = x->random * 1664525u + 1013904223u;
    bool at_once = again && x->failures == 1;
    int64_t ms = at_once ? 0 : backoff_wait_ms(x->failures, x->random >> 8);
    int64_t wanted = x->kind->wait_ms != NULL ? x->kind->wait_ms(x->sender) : 0;
    ms = wanted > ms ? wanted : ms;
    if (!at_once && (x->failures <= 2 || ms >= BACKOFF_MAX_MS / 2)) {
        log_warn("%s; trying again", error);
        x->warned = true;
    }
    if (!shipper_sleep_ms(x, ms) && x->once) {
        log_error("%s", error);
        return EXIT_TROUBLE;
    }
    return EXIT_FINE;
}

/* Returns text about data that this target has permanently refused; NULL: none. */
static const char *get_target_refusal_text(const struct shipper *x)
{
    return x->kind->refused != NULL ? x->kind->refused(x->sender) : NULL;
}

static int shipper_run_until_stopped(struct shipper *x)
{
    int status = EXIT_FINE;
    while (status == EXIT_FINE && !watch_is_stopped()) {
        int64_t sent = 0, version = 0;
        bool asked = x->failures > 0 || shipper_must_check_store(x);
        store_orphaned_messages(x);
        if (unsent_read_data_version(x->from, &version) < 0) {
            status = shipper_handle_failure(x, MI_ESTORE, unsent_error(x->from));
            continue;
        }
        int st = x->kind->check != NULL && asked ? x->kind->check(x->sender) : 0;
        if (st == 0)
            st = x->kind->round(x->sender, &sent);
        if (st < 0) {
            status = shipper_handle_failure(x, st, x->kind->error(x->sender, st));
            continue;
        }
        if (x->warned)
            log_note("sending again");
        x->warned = false;
        /* save the state only if this round has shown that the store has all rows */
        if (sent > 0 || asked) {
            x->sent_at_us = clock_wall_us();
            shipper_save_state(x, get_target_refusal_text(x));
        }
        x->failures = 0;
        if (x->once)
            return get_target_refusal_text(x) != NULL ? EXIT_FOUND : EXIT_FINE;
        bool soon = sent > 0 || (x->kind->is_unsaved != NULL && x->kind->is_unsaved(x->sender));
        if (!(soon ? shipper_sleep_ms(x, LINGER_MS) : shipper_wait_for_rows(x, version)))
            break;
    }
    /* With --once, the program was stopped before everything was sent. */
    return status == EXIT_FINE && x->once ? EXIT_TROUBLE : status;
}

/* ---- the beginning ---- */

/* Watches the vault, but not stdout: nothing is written there, and it may be a pipe that nobody
 * reads any more. */
static void open_vault_watch(struct shipper *x, const char *vault)
{
    watch_open(&x->watch, vault);
    x->watch.output = -1;
}

static int ship_rows_until_done(struct shipper *x)
{
    struct target t = {x->url,           x->from,          x->minimal, x->content,
                       x->notifications, watch_is_stopped, x->until_us};
    struct buf error = {0};
    int st = x->kind->open(&x->sender, &t, &error), status = EXIT_TROUBLE;
    if (st < 0) {
        status = command_fail(st, &error);
    } else {
        open_vault_watch(x, unsent_get_vault_path(x->from));
        status = shipper_run_until_stopped(x);
        watch_close(&x->watch);
        x->kind->close(x->sender);
    }
    buf_close(&error);
    return status;
}

/* Opens the vault. Waits for the first recording, unless --once is given. MI_ENOENT: there is no
 * recording. */
static int shipper_open_vault(struct shipper *x, const char *vault, struct buf *error)
{
    int st = unsent_open(&x->from, vault, error);
    if (st != MI_ENOENT)
        return st;
    if (x->once) {
        log_warn("nothing is recorded in %s yet", vault);
        return st;
    }
    open_vault_watch(x, vault); /* wait only for signals, because the folder may not exist yet */
    log_note("nothing is recorded in %s yet: waiting for the first recording", vault);
    while (st == MI_ENOENT && shipper_sleep_ms(x, WATCH_IDLE_MS))
        st = unsent_open(&x->from, vault, error);
    watch_close(&x->watch);
    return st;
}

static int ship_vault_to_target(struct shipper *x, const char *vault)
{
    struct buf error = {0};
    int st = shipper_open_vault(x, vault, &error), status = EXIT_TROUBLE;
    if (st == MI_ENOENT) {
        status = EXIT_FINE;
    } else if (st < 0) {
        status = command_fail(st, &error);
    } else {
        if (unsent_lock_target(x->from, x->url) < 0)
            log_error("%s", unsent_error(x->from));
        else
            status = ship_rows_until_done(x);
        unsent_close(x->from);
    }
    buf_close(&error);
    return status;
}

static int choose_target_kind(struct shipper *x, struct buf *error)
{
    for (size_t i = 0; i < MI_COUNT(kinds); i++)
        if (kinds[i]->is_url(x->url)) {
            x->kind = kinds[i];
            return x->kind->check_url(x->url, error);
        }
    buf_adds(error, "not a URL to send to: use ");
    for (size_t i = 0; i < MI_COUNT(kinds); i++)
        buf_printf(error, "%s%s", i > 0 ? " or " : "", kinds[i]->form);
    return MI_EINVAL;
}

int run_ship_to_command(const struct settings *s)
{
    struct buf error = {0};
    struct shipper x = {.url = s->operands_n > 0 ? s->operands[0] : settings_get_text(s, "url"),
                        .once = settings_is_on(s, "once"),
                        .random = (uint32_t)clock_mono_us() ^ (uint32_t)clock_wall_us()};
    if (x.url == NULL)
        return settings_fail_usage(
            s,
            "missing the URL to send to, as an argument or as url in [ship] of the configuration");
    if (choose_target_kind(&x, &error) < 0) {
        int status = settings_fail_usage(s, "%s", buf_str(&error));
        buf_close(&error);
        return status;
    }
    x.minimal = settings_value_equals(s, "level", "minimal");
    x.content = settings_is_on(s, "content") && !x.minimal;
    x.notifications = settings_is_on(s, "notifications");
    if (s->ship_minimal && !x.minimal)
        return settings_fail_usage(
            s, "--level: the configuration has level = minimal, which an option cannot override");
    if (settings_get_text(s, "deadline") != NULL) {
        if (!x.once)
            return settings_fail_usage(s, "--deadline needs --once");
        x.until_us = clock_mono_us() + settings_duration_us(s, "deadline");
    }
    char *vault = settings_get_vault_path(s);
    int status = vault != NULL ? ship_vault_to_target(&x, vault) : EXIT_TROUBLE;
    free(vault);
    return status;
}
