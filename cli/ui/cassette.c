/* cassette.c - a recording in a file, as a vault. */
#include "cli/ui/ui.h"

#include "vault/cassette/file.h"
#include "vault/cassette/import.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct copying {
    struct import *import;
    int status;
};

static bool on_session(void *ctx, const struct query_session *s)
{
    struct copying *c = ctx;
    c->status = import_session(c->import, s, NULL);
    return c->status == 0;
}

static bool on_message(void *ctx, const struct query_message *m)
{
    struct copying *c = ctx;
    c->status = import_message(c->import, m);
    return c->status == 0;
}

static int copy(const char *file, const char *dir, struct buf *error)
{
    struct copying c = {0};
    int st = import_open(&c.import, dir, error);
    if (st == 0)
        st = cassette_read(file, on_session, on_message, &c, error);
    if (st == 0 && c.status == 0)
        c.status = import_commit(c.import);
    if (st == 0 && c.status < 0) {
        buf_clear(error);
        buf_adds(error, import_error(c.import));
        st = c.status;
    }
    import_close(c.import);
    return st;
}

int cassette_vault(const char *file, char **ret_dir, struct buf *error)
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
    int st = copy(file, dir, error);
    if (st == 0) {
        *ret_dir = dir;
        return 0;
    }
    cassette_vault_remove(dir);
    free(dir);
    return st;
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    (void)remove(path);
    return 0;
}

void cassette_vault_remove(const char *dir)
{
    (void)nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
