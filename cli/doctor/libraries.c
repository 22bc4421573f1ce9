#include "cli/doctor/libraries.h"

#include "base/os/confine.h"
#include "base/os/process.h"
#include "base/pattern.h"
#include "cli/wrap/mcpfile/servers.h"
#include "evidence/library.h"
#include "proxy/proxy_run.h"
#include "vault/upkeep/health.h"

#include <stdlib.h>

void libraries_list(struct buf *b)
{
    bool new_enough, fts5;
    buf_printf(b, "SQLite %s, libev %d.%d, PCRE2 ", health_sqlite(&new_enough, &fts5),
               proxy_libev_version() / 100, proxy_libev_version() % 100);
    pattern_library(b);
    buf_printf(b, ", libyaml %s, ", mcpfile_libyaml());
    confine_library(b);
    buf_adds(b, ", ");
    evidence_libraries(b);
    if (process_libc()[0] != '\0')
        buf_printf(b, ", %s", process_libc());
}
