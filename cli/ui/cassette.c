/* cassette.c - imports a recording file into a temporary vault. */
#include "cli/ui/ui.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int cassette_vault_create(const char *file, char **ret_dir, struct buf *error)
{
    const char *parent = getenv("TMPDIR");
    struct buf path = {0};
    buf_adds(&path, parent != NULL && parent[0] == '/' ? parent : "/tmp");
    buf_adds(&path, "/mcp-interposer-ui-XXXXXX");
    char *dir = strdup(buf_str(&path));
    buf_close(&path);
    if (dir == NULL)
        return MI_ENOMEM;
    if (mkdtemp(dir) == NULL) {
        buf_printf(error, "cannot create %s: %s; set TMPDIR to another directory", dir,
                   strerror(errno));
        free(dir);
        return MI_EIO;
    }
    if (outside_run_this_program((const char *const[]){"import", "--vault", dir, "--", file, NULL},
                                 error) == 0) {
        *ret_dir = dir;
        return 0;
    }
    cassette_vault_remove(dir);
    free(dir);
    return MI_EIO;
}

static int remove_vault_file(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    (void)remove(path);
    return 0;
}

void cassette_vault_remove(const char *dir)
{
    (void)nftw(dir, remove_vault_file, 8, FTW_DEPTH | FTW_PHYS);
}
