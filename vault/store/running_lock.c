#include "vault/store/running_lock.h"

#include "vault/store/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static const char mark = 'L';

static bool set_lock_on_bytes(int fd, short type, int64_t from, int64_t n)
{
    struct flock l = {.l_type = type, .l_whence = SEEK_SET, .l_start = from, .l_len = n};
    return fcntl(fd, F_OFD_SETLK, &l) == 0;
}

static bool byte_is_locked(int fd, int64_t at)
{
    struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

int running_lock_open(int vault)
{
    return vault_dir_open_file(vault, RUNNING_LOCK, O_RDWR | O_CREAT);
}

bool running_lock_is_file_of_vault(int fd, int vault)
{
    struct stat own, named;
    return fstat(fd, &own) == 0 && fstatat(vault, RUNNING_LOCK, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           own.st_dev == named.st_dev && own.st_ino == named.st_ino;
}

int running_lock_take(int fd, int vault, int64_t session_id)
{
    if (session_id <= 0)
        return MI_EIO;
    if (!set_lock_on_bytes(fd, F_WRLCK, session_id, 1))
        return errno == EAGAIN || errno == EACCES ? MI_EFULL : MI_EIO;
    int other = running_lock_open_existing(vault);
    bool seen = other >= 0 && byte_is_locked(other, session_id);
    if (other >= 0)
        close(other);
    if (!seen || pwrite(fd, &mark, 1, session_id) != 1)
        return MI_EIO;
    /* release the locks of all other bytes; the lock of the session is kept */
    (void)set_lock_on_bytes(fd, F_UNLCK, 0, session_id);
    (void)set_lock_on_bytes(fd, F_UNLCK, session_id + 1, 0);
    return 0;
}

void running_lock_remove(int vault)
{
    (void)unlinkat(vault, RUNNING_LOCK, 0);
}

int running_lock_open_existing(int vault)
{
    int fd = vault >= 0 ? vault_dir_open_file(vault, RUNNING_LOCK, O_RDONLY) : -1;
    return fd >= 0 ? fd : -1;
}

enum liveness_lock running_lock_get_state(int fd, int64_t session_id)
{
    char byte = 0;
    if (fd < 0 || session_id <= 0 || pread(fd, &byte, 1, session_id) != 1 || byte != mark)
        return LIVENESS_NO_LOCK;
    return byte_is_locked(fd, session_id) ? LIVENESS_LOCKED : LIVENESS_UNLOCKED;
}
