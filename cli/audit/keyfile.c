#include "cli/audit/keyfile.h"

#include "base/make_path.h"
#include "base/os/file.h"
#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* maximum bytes of a key file; the text of a key needs at most 12 + KEY_NAME_MAX + 55 */
#define KEYFILE_MAX 512

/* ---- reading -------------------------------------------------------------------------------- */

static int keyfile_check_owner_and_mode(const char *path, const struct stat *st, struct buf *error)
{
    if (!S_ISREG(st->st_mode)) {
        buf_printf(error, "%s is not a regular file", path);
        return MI_EINVAL;
    }
    if (st->st_uid != geteuid() && st->st_uid != 0) {
        buf_printf(error, "the key file %s belongs to another user", path);
        return MI_EINVAL;
    }
    if ((st->st_mode & 077) != 0) {
        buf_printf(error,
                   "others can read the key file %s (mode %03o): run `chmod 600 %s`, and if others "
                   "may have read the key, `mcp-interposer audit key rotate`",
                   path, (unsigned)st->st_mode & 0777, path);
        return MI_EINVAL;
    }
    return 0;
}

static int keyfile_parse(const char *path, const char *text, size_t n, struct secret_key *ret,
                         struct buf *error)
{
    if (n > 0 && text[n - 1] == '\n')
        n--;
    int st = key_read_secret((struct slice){text, n}, ret);
    if (st == MI_EINVAL)
        buf_printf(error,
                   "%s does not contain a private key: expected one line, PRIVATE+KEY+NAME+…, as "
                   "`mcp-interposer audit key new` writes it",
                   path);
    else if (st < 0)
        buf_adds(error, "libsodium cannot be used");
    return st;
}

int keyfile_read(const char *path, struct secret_key *ret, struct buf *error)
{
    char text[KEYFILE_MAX];
    struct stat st;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0) {
        int missing = errno == ENOENT || errno == ENOTDIR;
        if (missing)
            buf_printf(error, "there is no key in %s: run `mcp-interposer audit key new`", path);
        else
            buf_printf(error, "cannot read the key file %s: %s", path, strerror(errno));
        return missing ? MI_ENOENT : MI_EIO;
    }
    ssize_t n = -1;
    int status = fstat(fd, &st) == 0 ? keyfile_check_owner_and_mode(path, &st, error) : MI_EIO;
    if (status == 0 && (n = read(fd, text, sizeof text)) < 0)
        status = MI_EIO;
    if (status == MI_EIO)
        buf_printf(error, "cannot read the key file %s: %s", path, strerror(errno));
    close(fd);
    if (status == 0)
        status = keyfile_parse(path, text, (size_t)n, ret, error);
    key_erase_memory(text, sizeof text);
    return status;
}

/* ---- writing -------------------------------------------------------------------------------- */

struct folder {
    int fd;
    const char *file; /* file name in the directory */
};

/* Opens the directory of a file, and creates the directory if it is missing. */
static int open_or_create_folder(const char *path, struct folder *ret, struct buf *error)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash == NULL ? 0 : slash == path ? 1 : (size_t)(slash - path);
    char *dir = n > 0 ? strndup(path, n) : strdup(".");
    struct stat st;
    int status = MI_EIO;
    *ret = (struct folder){.fd = -1, .file = slash != NULL ? slash + 1 : path};
    if (dir == NULL)
        return MI_ENOMEM;
    if (make_path(dir) == 0)
        ret->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (ret->fd < 0 || fstat(ret->fd, &st) < 0) {
        buf_printf(error, "cannot open %s, the directory of the key: %s", dir, strerror(errno));
    } else if ((st.st_mode & 022) != 0 && (st.st_mode & S_ISVTX) == 0) {
        buf_printf(
            error,
            "others can write to %s (mode %03o), and could exchange the key: run `chmod go-w "
            "%s`",
            dir, (unsigned)st.st_mode & 0777, dir);
        status = MI_EINVAL;
    } else {
        status = 0;
    }
    free(dir);
    if (status < 0 && ret->fd >= 0)
        close(ret->fd);
    return status;
}

/* Renames a file. If `to` exists, `replace` decides: `to` is replaced, or EEXIST is returned.
 * Returns 0 or an errno. */
static int keyfile_move(int dir, const char *from, const char *to, bool replace)
{
    struct stat st;
    if (!replace && file_rename_no_replace(dir, from, to) == 0)
        return 0;
    if (!replace && errno != ENOTSUP)
        return errno;
    if (!replace && fstatat(dir, to, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return EEXIST;
    return renameat(dir, from, dir, to) == 0 ? 0 : errno;
}

/* Writes the key into a file of the folder. Returns 0 or an errno. */
static int keyfile_write_in_folder(const struct folder *f, const char *name,
                                   const struct secret_key *k, bool replace)
{
    struct buf text = {0}, temporary = {0};
    int e = ENOMEM;
    buf_printf(&temporary, ".%s.%ld", f->file, (long)getpid());
    /* reserves memory, because a growing buffer would leave copies of the key behind */
    if (buf_reserve(&text, KEYFILE_MAX)) {
        key_write_secret(&text, k);
        buf_addc(&text, '\n');
    }
    if (!text.failed && !temporary.failed) {
        const char *new = buf_str(&temporary);
        (void)unlinkat(f->fd, new, 0); /* a killed process with this pid may have left a file */
        int fd = openat(f->fd, new, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        e = fd < 0 || write_and_close(fd, buf_slice(&text), true) < 0 ? errno : 0;
        e = e == 0 ? keyfile_move(f->fd, new, name, replace) : e;
        if (e != 0 && fd >= 0)
            (void)unlinkat(f->fd, new, 0);
        /* some file systems cannot sync directories */
        if (e == 0 && fsync(f->fd) < 0 && errno != EINVAL)
            e = errno;
    }
    if (text.p != NULL)
        key_erase_memory(text.p, text.cap);
    buf_close(&text);
    buf_close(&temporary);
    return e;
}

static int keyfile_fail_write(const char *path, int e, struct buf *error)
{
    if (e == ENOMEM)
        return MI_ENOMEM;
    buf_printf(error, "cannot write the key file %s: %s", path, strerror(e));
    return MI_EIO;
}

int keyfile_create(const char *path, const struct secret_key *k, struct buf *error)
{
    struct folder f;
    int st = open_or_create_folder(path, &f, error);
    if (st < 0)
        return st;
    int e = keyfile_write_in_folder(&f, f.file, k, false);
    close(f.fd);
    if (e == EEXIST) {
        buf_printf(error,
                   "there is a key in %s already: `mcp-interposer audit key show` prints it, "
                   "`audit key rotate` replaces it, and --audit-key names another file",
                   path);
        return MI_EBUSY;
    }
    return e == 0 ? 0 : keyfile_fail_write(path, e, error);
}

void keyfile_append_path_of_old_key(struct buf *b, const char *path, const struct public_key *old)
{
    buf_printf(b, "%s.", path);
    for (size_t i = 0; i < KEY_HASH_N; i++)
        buf_printf(b, "%02x", old->hash[i]);
}

int keyfile_replace(const char *path, const struct secret_key *old, const struct secret_key *k,
                    struct buf *error)
{
    struct folder f;
    struct buf name = {0};
    int st = open_or_create_folder(path, &f, error);
    if (st < 0)
        return st;
    keyfile_append_path_of_old_key(&name, f.file, &old->public);
    int e = name.failed ? ENOMEM : keyfile_write_in_folder(&f, buf_str(&name), old, true);
    e = e == 0 ? keyfile_write_in_folder(&f, f.file, k, true) : e;
    close(f.fd);
    buf_close(&name);
    return e == 0 ? 0 : keyfile_fail_write(path, e, error);
}

int keyfile_read_previous_key(void *ctx, const struct public_key *k, struct secret_key *ret,
                              struct buf *error)
{
    struct buf path = {0}, why = {0}, name = {0};
    keyfile_append_path_of_old_key(&path, ctx, k);
    key_write_public(&name, k);
    int st = path.failed || name.failed ? MI_ENOMEM : keyfile_read(buf_str(&path), ret, &why);
    if (st == 0 && !key_eq(&ret->public, k)) {
        key_erase(ret);
        st = MI_ENOENT;
    }
    if (st == MI_ENOENT) {
        buf_printf(error,
                   "this vault is signed with another key, %s, which must sign the change to a new "
                   "key: put its key file into %s, or name that file with --audit-key",
                   buf_str(&name), buf_str(&path));
        st = MI_EINVAL;
    } else if (st < 0) {
        buf_slice_add(error, buf_slice(&why));
    }
    buf_close(&path);
    buf_close(&why);
    buf_close(&name);
    return st;
}
