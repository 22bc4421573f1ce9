#include "cli/doctor/libraries.h"

#include "base/os/confine.h"
#include "base/os/process.h"
#include "base/pattern.h"
#include "cli/wrap/mcpfile/servers.h"
#include "evidence/library.h"
#include "proxy/proxy_run.h"
#include "vault/upkeep/health.h"

#include <stdlib.h>

void libraries_append_versions(struct buf *b)
{
    bool new_enough, fts5;
    buf_printf(b, "SQLite %s, libev %d.%d, PCRE2 ", health_sqlite_version(&new_enough, &fts5),
               proxy_libev_version() / 100, proxy_libev_version() % 100);
    pattern_append_library_version(b);
    buf_printf(b, ", libyaml %s, ", mcpfile_libyaml_version());
    libseccomp_append_version(b);
    buf_adds(b, ", ");
    evidence_append_library_versions(b);
    if (process_libc_version()[0] != '\0')
        buf_printf(b, ", %s", process_libc_version());
}
