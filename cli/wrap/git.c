#include "cli/wrap/git.h"

#include "base/buf.h"

#include <sys/stat.h>

bool git_repository_contains(const char *path)
{
    struct buf b = {0};
    struct stat st;
    bool found = false;
    for (size_t n = strlen(path); n-- > 0 && !found;) {
        if (path[n] != '/')
            continue;
        buf_clear(&b);
        buf_add(&b, path, n);
        buf_adds(&b, "/.git");
        found = !b.failed && lstat(buf_str(&b), &st) == 0 &&
                (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode));
    }
    buf_close(&b);
    return found;
}
