#include "vault/upkeep/scrub/error.h"

#include "vault/store/dir.h"

#include <errno.h>

int scrub_fail(struct scrub *s, const char *what, const char *name)
{
    buf_clear(&s->error);
    buf_printf(&s->error, "cannot %s %s/%s: %s", what, query_vault(s->q), name, strerror(errno));
    return MI_EIO;
}
