#include "cli/ship/commands.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/os/process.h"
#include "cli/settings/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns the path of mcp-interposer-ship in the directory of this program, allocated. Returns NULL
 * if this directory does not contain mcp-interposer-ship. */
static char *find_ship_program_in_own_dir(void)
{
    char *self = process_program_path();
    char *slash = self != NULL ? strrchr(self, '/') : NULL;
    struct buf b = {0};
    if (slash != NULL) {
        buf_add(&b, self, (size_t)(slash - self));
        buf_adds(&b, "/" SHIP_PROGRAM);
    }
    char *path = b.n > 0 && access(buf_str(&b), X_OK) == 0 ? strdup(buf_str(&b)) : NULL;
    buf_close(&b);
    free(self);
    return path;
}

int run_ship_command(char **argv)
{
    const char *rest = getenv("PATH");
    char *path = find_ship_program_in_own_dir(), *name = argv[-1];
    if (path == NULL && rest != NULL)
        path = path_find_directory_of_program(rest, SHIP_PROGRAM, &rest);
    if (path == NULL) {
        log_error("%s is not installed: install the package %s, or build it with: make ship",
                  SHIP_PROGRAM, SHIP_PROGRAM);
        return EXIT_TROUBLE;
    }
    argv[-1] = path;
    execv(path, argv - 1);
    log_error("cannot run %s: %s", path, strerror(errno));
    argv[-1] = name;
    free(path);
    return EXIT_TROUBLE;
}
