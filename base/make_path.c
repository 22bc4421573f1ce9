#include "base/make_path.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

int make_path(const char *path)
{
    if (path[0] == '\0') {
        errno = ENOENT;
        return MI_EIO;
    }
    char *p = strdup(path);
    if (p == NULL)
        return MI_ENOMEM;
    int st = 0;
    for (char *s = p + 1; st == 0; s++) {
        if (*s != '/' && *s != '\0')
            continue;
        char c = *s;
        *s = '\0';
        if (mkdir(p, 0700) != 0 && errno != EEXIST)
            st = MI_EIO;
        *s = c;
        if (c == '\0')
            break;
    }
    int e = errno;
    free(p);
    errno = e;
    return st;
}
