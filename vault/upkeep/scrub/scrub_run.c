#include "vault/upkeep/scrub/scrub_run.h"

#include "vault/store/rebuild.h"
#include "vault/upkeep/scrub/database.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

int scrub_open(struct scrub **ret, struct query *q, bool apply, scrub_fn fn, void *ctx,
               struct buf *error)
{
    struct scrub *s = calloc(1, sizeof *s);
    if (s == NULL)
        return MI_ENOMEM;
    *s = (struct scrub){
        .q = q, .fn = fn, .ctx = ctx, .bodies_fd = -1, .rules = redact_get_current_sanitizer()};
    s->dir.fd = -1;
    int st = s->rules == NULL ? MI_ENOMEM : vault_dir_open(&s->dir, query_vault(q), false, error);
    if (st == 0 && apply) {
        st = scrub_connect(s);
        if (st < 0)
            buf_adds(error, st == MI_ENOMEM ? "out of memory" : buf_str(&s->error));
    }
    if (st < 0) {
        scrub_close(s);
        return st;
    }
    *ret = s;
    return 0;
}

void scrub_close(struct scrub *s)
{
    if (s == NULL)
        return;
    scrub_disconnect(s);
    if (s->bodies_fd >= 0)
        close(s->bodies_fd);
    vault_dir_close(&s->dir);
    buf_close(&s->clean);
    buf_close(&s->second);
    buf_close(&s->body);
    buf_close(&s->names);
    buf_close(&s->error);
    free(s->ranges);
    free(s);
}

const char *scrub_get_error_text(struct scrub *s)
{
    return s->error.n > 0 ? buf_str(&s->error) : "out of memory";
}

int scrub_finish(struct scrub *s, bool rebuild)
{
    if (s->d.db == NULL)
        return 0;
    /* VACUUM copies the database to a temporary file, because the copy may not fit into memory */
    if (rebuild) {
        int st = db_exec(&s->d, "PRAGMA temp_store = FILE");
        if (st == 0 && rebuild_database(s->d.db) < 0)
            st = db_fail(&s->d);
        if (st < 0)
            return st;
    }
    return scrub_truncate_log(s);
}
