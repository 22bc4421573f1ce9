#include "cli/version.h"

#include "base/os/process.h"
#include "cli/doctor/libraries.h"

void version_append_text(struct buf *b)
{
    buf_printf(b, "mcp-interposer " MI_VERSION "\ncommit     %s\ntarget     %s%s\nlibraries  ",
               version_commit, process_get_platform_name(),
               process_is_statically_linked() ? ", static" : "");
    libraries_append_versions(b);
    buf_addc(b, '\n');
}
