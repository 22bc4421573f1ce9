#include "cli/doctor/libraries.h"

#include "base/pattern.h"
#include "cli/wrap/mcpfile/servers.h"
#include "proxy/run.h"
#include "vault/upkeep/health.h"

#include <stdlib.h>
#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

void libraries_list(struct buf *b)
{
    bool new_enough, fts5;
    buf_printf(b, "SQLite %s, libev %d.%d, PCRE2 ", health_sqlite(&new_enough, &fts5),
               proxy_libev() / 100, proxy_libev() % 100);
    pattern_library(b);
    buf_printf(b, ", libyaml %s", mcpfile_libyaml());
#ifdef __GLIBC__
    buf_printf(b, ", glibc %s", gnu_get_libc_version());
#endif
}
