#include "cli/proxy/server_path.h"

#include "base/log.h"
#include "cli/proxy/commands.h"

#include <stdlib.h>

int server_path_extend(const struct opt_set *s)
{
    struct buf b = {0};
    const char *path = getenv("PATH");
    size_t at = 0;
    if (opt_get(s, "path") == NULL)
        return EXIT_FINE;
    buf_adds(&b, path != NULL && path[0] != '\0' ? path : "/usr/local/bin:/usr/bin:/bin");
    for (const char *dir; (dir = opt_each(s, "path", &at)) != NULL;) {
        if (dir[0] != '/') {
            buf_clear(&b);
            buf_printf(&b, "--path: '%s' is not an absolute path", dir);
            int status = command_usage(&command_proxy, buf_str(&b));
            buf_close(&b);
            return status;
        }
        buf_addc(&b, ':');
        buf_adds(&b, dir);
    }
    bool set = !b.failed && setenv("PATH", buf_str(&b), 1) == 0;
    buf_close(&b);
    if (!set)
        log_error("out of memory");
    return set ? EXIT_FINE : EXIT_TROUBLE;
}
