#include "vault/upkeep/scrub/error.h"

#include "vault/store/dir.h"
#include "vault/store/failure.h"

#include <errno.h>

int scrub_fail_sql(struct scrub *s)
{
    buf_clear(&s->error);
    buf_printf(&s->error, "cannot change %s/" VAULT_DB ": %s", query_vault(s->q),
               failure_text(s->db));
    return MI_ESTORE;
}

int scrub_fail(struct scrub *s, const char *what, const char *name)
{
    buf_clear(&s->error);
    buf_printf(&s->error, "cannot %s %s/%s: %s", what, query_vault(s->q), name, strerror(errno));
    return MI_EIO;
}
