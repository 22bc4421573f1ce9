#include "cli/proxy/server_path.h"

#include <stdlib.h>

int server_path_extend(const struct opt_set *s, struct buf *error)
{
    struct buf b = {0};
    const char *path = getenv("PATH");
    size_t at = 0;
    int st = 0;
    if (opt_get(s, "path") == NULL)
        return 0;
    buf_adds(&b, path != NULL && path[0] != '\0' ? path : "/usr/local/bin:/usr/bin:/bin");
    for (const char *dir; st == 0 && (dir = opt_next_value(s, "path", &at)) != NULL;) {
        buf_addc(&b, ':');
        buf_adds(&b, dir);
        if (dir[0] != '/') {
            buf_printf(error, "--path: '%s' is not an absolute path", dir);
            st = MI_EINVAL;
        }
    }
    if (st == 0 && (b.failed || setenv("PATH", buf_str(&b), 1) != 0))
        st = MI_ENOMEM;
    buf_close(&b);
    return st;
}
