#include "base/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

size_t terminal_columns(int fd)
{
    struct winsize w;
    if (isatty(fd) != 1)
        return 0;
    if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col > 0)
        return w.ws_col;
    const char *v = getenv("COLUMNS");
    int n = v != NULL ? atoi(v) : 0;
    return n > 0 ? (size_t)n : 80;
}
