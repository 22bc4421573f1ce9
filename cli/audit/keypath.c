#include "cli/audit/keypath.h"

#include "base/log.h"
#include "cli/settings/paths.h"

#include <errno.h>

char *audit_key_path(const struct settings *s)
{
    char *path = path_of_audit_key(settings_get_text(s, "audit-key"));
    if (path == NULL)
        log_error("%s", errno == ENOENT ? "cannot locate the key: the home directory is unknown; "
                                          "use --audit-key FILE"
                                        : "out of memory");
    return path;
}
