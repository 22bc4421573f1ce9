/* from.c - `--from URL`: reading commands on a central store. */
#include "ship/commands.h"

#include "base/log.h"
#include "cli/frame/session.h"
#include "ship/postgres/address.h"
#include "ship/postgres/reader.h"

static int open_store(const struct settings *s, const char *url, struct query **ret)
{
    struct reader *r;
    struct session_wait wait = session_get_store_wait_hooks();
    int st = reader_open(&r, url, settings_get_text(s, "host"), settings_get_text(s, "user"),
                         wait.before, wait.during);
    if (st == 0) {
        struct remote_store store = reader_make_remote_store(r);
        st = query_open_store(ret, &store, url);
        r = NULL;
    }
    if (st < 0)
        log_error("%s", st == MI_ENOMEM ? "out of memory" : reader_get_error_text(r));
    reader_close(r);
    return st < 0 ? EXIT_TROUBLE : EXIT_FINE;
}

int open_remote_store_query(const struct settings *s, struct query **ret)
{
    const char *url = settings_get_text(s, "from");
    struct buf error = {0};
    int status = EXIT_FINE;
    if (address_check_url(url, &error) < 0)
        status = settings_fail_usage(s, "--from: %s", buf_str(&error));
    else if (opt_get_source(&s->set, "vault") == OPT_FLAG)
        status = settings_fail_usage(s, "--from and --vault: give one of them");
    buf_close(&error);
    return status == EXIT_FINE ? open_store(s, url, ret) : status;
}
