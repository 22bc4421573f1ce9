/* forget.c - `ship forget`: removes a target, so that the vault is no longer sent to it. */
#include "ship/commands.h"

#include "base/log.h"
#include "cli/frame/ask.h"
#include "cli/frame/out.h"
#include "vault/unsent/cursors.h"

#include <stdlib.h>

/* ---- the targets of the vault ---- */

struct search {
    struct slice url;
    struct buf others; /* owned */
    bool found;
};

static int compare_target_with_url(void *ctx, const struct target_state *t,
                                   const struct target_lag *lag)
{
    struct search *x = ctx;
    (void)lag;
    x->found |= slice_eq(t->url, x->url);
    buf_adds(&x->others, x->others.n > 0 ? ", " : "");
    buf_slice_add(&x->others, t->url);
    return 0;
}

/* Returns EXIT_FINE if the vault knows this target; otherwise logs the reason. */
static int find_target_to_forget(struct unsent *u, const char *url)
{
    struct search x = {.url = slice_of(url)};
    struct buf error = {0};
    int st = cursors_read(unsent_get_vault_path(u), compare_target_with_url, &x, &error);
    if (st < 0)
        (void)command_fail(st, &error);
    else if (!x.found && x.others.n == 0)
        log_error("%s has not been sent to any target yet", unsent_get_vault_path(u));
    else if (!x.found)
        log_error("this vault was not sent to %s; it was sent to: %s", url, buf_str(&x.others));
    buf_close(&x.others);
    buf_close(&error);
    return st == 0 && x.found ? EXIT_FINE : EXIT_TROUBLE;
}

/* ---- the command ---- */

static int forget_target_if_confirmed(const struct settings *s, struct unsent *u, struct out *o,
                                      const char *url)
{
    if (!settings_is_on(s, "yes") &&
        !ask_user_for_yes("Forget this target? It keeps the recordings that it has received.")) {
        out_add_raw(o, "nothing was forgotten");
        out_end_line(o);
        return EXIT_FOUND;
    }
    if (cursors_remove_target(u, slice_of(url)) < 0) {
        log_error("%s", unsent_error(u));
        return EXIT_TROUBLE;
    }
    out_add_raw(o, "forgotten: ");
    out_add_text(o, slice_of(url));
    out_end_line(o);
    if (s->ship_url != NULL && strcmp(s->ship_url, url) == 0)
        log_warn(
            "%s is still the url in [ship] of the configuration: `prune` removes nothing until "
            "the vault was sent there again",
            url);
    return EXIT_FINE;
}

static int forget_target_in_vault(const struct settings *s, const char *vault, const char *url)
{
    struct unsent *u = NULL;
    struct buf error = {0};
    int st = unsent_open(&u, vault, &error), status = EXIT_TROUBLE;
    if (st < 0) {
        status = command_fail(st, &error);
    } else if (find_target_to_forget(u, url) == EXIT_FINE) {
        if (unsent_lock_target(u, url) < 0) { /* no shipper can begin until unsent_close() */
            log_error("%s", unsent_error(u));
        } else {
            struct out o;
            out_open(&o);
            status = forget_target_if_confirmed(s, u, &o, url);
            int printed = out_close(&o);
            status = printed != EXIT_FINE ? printed : status;
        }
    }
    unsent_close(u);
    buf_close(&error);
    return status;
}

int run_forget(const struct settings *s)
{
    if (s->operands_n == 0)
        return settings_fail_usage(s, "missing the URL to forget, as `ship status` prints it");
    if (!settings_is_on(s, "yes") && !ask_user_has_terminal())
        return settings_fail_usage(s,
                                   "cannot ask before forgetting, since stdin or stderr is not a "
                                   "terminal: add --yes");
    char *vault = settings_get_vault_path(s);
    int status = vault != NULL ? forget_target_in_vault(s, vault, s->operands[0]) : EXIT_TROUBLE;
    free(vault);
    return status;
}
