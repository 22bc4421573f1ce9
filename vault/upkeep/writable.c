#include "vault/upkeep/writable.h"

#include "base/os/file.h"
#include "vault/store/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static const char *const folders[] = {".", VAULT_BODIES, VAULT_LOGS "/" VAULT_ACTIONS,
                                      VAULT_ESCALATIONS, VAULT_SEARCH};
static const char *const files[] = {VAULT_DB, VAULT_DB "-wal", VAULT_DB "-shm"};

int writability_check_vault(const char *vault, struct buf *where, int *ret_errno)
{
    const char *name = NULL;
    int dir = file_open_dir(vault, 0);
    int e = dir < 0 ? errno : 0;
    for (size_t i = 0; e == 0 && i < MI_COUNT(folders); i++)
        e = file_test_free_space(dir, name = folders[i], WRITABLE_BYTES);
    for (size_t i = 0; e == 0 && i < MI_COUNT(files); i++) {
        name = files[i];
        int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd >= 0)
            close(fd);
        else if (errno != ENOENT)
            e = errno;
    }
    if (dir >= 0)
        close(dir);
    if (e == 0)
        return 0;
    buf_adds(where, vault);
    if (name != NULL && name != folders[0])
        buf_printf(where, "/%s", name);
    *ret_errno = e;
    return MI_EIO;
}
