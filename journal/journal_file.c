#include "journal/journal_file.h"

#include "base/os/file.h"
#include "base/os/memory.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

/* ---- the directory ---- */

/* absolute path without a slash at its end; "": the default directory */
static char dir_path[PATH_MAX];
static bool dir_too_long; /* the path given to journal_file_set_dir() was too long */

void journal_file_set_dir(const char *path)
{
    dir_path[0] = '\0';
    dir_too_long = false;
    if (path == NULL)
        return;
    char here[PATH_MAX] = "";
    if (path[0] != '/' && getcwd(here, sizeof here) == NULL)
        here[0] = '\0';
    size_t n = strlen(path);
    /* O_NOFOLLOW would follow the symbolic link in `link/`, so the slash is removed */
    while (n > 1 && path[n - 1] == '/')
        n--;
    int len = snprintf(dir_path, sizeof dir_path, "%s%s%.*s", here, path[0] != '/' ? "/" : "",
                       (int)size_min(n, PATH_MAX), path);
    dir_too_long = len < 0 || (size_t)len >= sizeof dir_path;
}

static const char *journal_get_directory(void)
{
    static char path[64];
    if (dir_path[0] != '\0')
        return dir_path;
    int n = snprintf(path, sizeof path, "%s/mcp-interposer-%u", memory_get_directory(),
                     (unsigned)geteuid());
    assert(n > 0 && (size_t)n < sizeof path);
    return path;
}

void journal_file_append_dir(struct buf *b)
{
    buf_adds(b, journal_get_directory());
}

/* Returns whether a directory may contain journals. If not, appends the reason to `why`. */
static bool dir_is_safe(int fd, const char *path, struct buf *why)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        buf_printf(why, "cannot examine %s: %s", path, strerror(errno));
    else if (!memory_contains_file(fd))
        buf_printf(why, "%s is not on tmpfs", path);
    else if (st.st_uid != geteuid())
        buf_printf(why, "%s belongs to another user", path);
    else if ((st.st_mode & 0777) != 0700)
        buf_printf(why, "%s has mode 0%o instead of 0700", path, (unsigned)st.st_mode & 0777);
    else
        return true;
    return false;
}

/* Returns the descriptor of the directory, or -1 with the reason appended to `why`. */
static int journal_dir_open(bool make, struct buf *why)
{
    const char *path = journal_get_directory();
    if (dir_too_long) {
        buf_adds(why, "the path of the journals' directory is too long");
        errno = ENAMETOOLONG;
        return -1;
    }
    if (make) {
        mode_t old = umask(0);
        int st = mkdir(path, 0700);
        int e = errno;
        umask(old);
        if (st != 0 && e != EEXIST) {
            buf_printf(why, "cannot make %s: %s", path, strerror(e));
            return -1;
        }
    }
    int fd = file_open_dir(path, O_NOFOLLOW);
    if (fd < 0) {
        struct stat st;
        int e = errno;
        if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode))
            buf_printf(why, "%s is a symbolic link", path);
        else
            buf_printf(why, "cannot open %s: %s", path, strerror(e));
        errno = e;
        return -1;
    }
    if (dir_is_safe(fd, path, why))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

int journal_file_open_dir(void)
{
    struct buf why = {0};
    int fd = journal_dir_open(false, &why);
    buf_close(&why);
    return fd;
}

static bool dir_has_free_space(int fd, struct buf *why)
{
    struct statvfs fs; /* a tmpfs without a size limit has f_blocks 0 */
    if (fstatvfs(fd, &fs) != 0 || fs.f_blocks == 0 ||
        fs.f_bavail >= JOURNAL_FILE_ROOM / fs.f_frsize)
        return true;
    buf_printf(why, "%s is full", journal_get_directory());
    return false;
}

/* ---- locks ---- */

static struct flock make_lock_for_writer_or_reader(enum journal_side side)
{
    return (struct flock){
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)side, .l_len = 1};
}

static int journal_file_lock(int fd, enum journal_side side)
{
    struct flock l = make_lock_for_writer_or_reader(side);
    if (fcntl(fd, F_OFD_SETLK, &l) == 0)
        return 0;
    return errno == EAGAIN || errno == EACCES ? MI_EFULL : MI_EIO;
}

bool journal_file_is_locked(const struct journal_file *f, enum journal_side side)
{
    struct flock l = make_lock_for_writer_or_reader(side);
    return fcntl(f->fd, F_OFD_GETLK, &l) == 0 && l.l_type != F_UNLCK;
}

/* ---- files ---- */

static struct journal_file make_closed_journal_file(const char *uid)
{
    struct journal_file f = {.fd = -1};
    assert(uid_is_valid(slice_of(uid)));
    memcpy(f.uid, uid, sizeof f.uid);
    return f;
}

void journal_file_close(struct journal_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* Closes the file after an error, keeps errno, and returns st. */
static int journal_file_close_on_error(struct journal_file *f, int st)
{
    int e = errno;
    journal_file_close(f);
    errno = e;
    return st;
}

/* Makes a file with a name and locks it for the writer. Other processes that see the file between
 * openat() and journal_file_lock() find it empty and ignore it (visit_journal_file()). */
static int create_named_journal(struct journal_file *f, struct buf *why)
{
    int dir = journal_dir_open(true, why);
    if (dir < 0)
        return MI_EIO;
    if (!dir_has_free_space(dir, why)) {
        close(dir);
        return MI_EIO;
    }
    f->fd = openat(dir, f->uid, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    int st = f->fd >= 0 ? 0 : MI_EIO;
    f->has_name = st == 0;
    if (st == 0 && (fchmod(f->fd, 0600) != 0 || journal_file_lock(f->fd, JOURNAL_WRITER) < 0))
        st = MI_EIO;
    if (st < 0) {
        buf_printf(why, "cannot make a file in %s: %s", journal_get_directory(), strerror(errno));
        if (f->has_name)
            (void)unlinkat(dir, f->uid, 0);
        journal_file_close(f);
    }
    close(dir);
    return st;
}

int journal_file_create_unnamed(struct journal_file *f, const char *uid)
{
    *f = make_closed_journal_file(uid);
    f->fd = memory_file("mcp-interposer");
    if (f->fd < 0)
        return MI_EIO;
    return journal_file_lock(f->fd, JOURNAL_WRITER) == 0 ? 0
                                                         : journal_file_close_on_error(f, MI_EIO);
}

int journal_file_create(struct journal_file *f, const char *uid, struct buf *why)
{
    struct buf unused = {0};
    *f = make_closed_journal_file(uid);
    int st = create_named_journal(f, why != NULL ? why : &unused);
    buf_close(&unused);
    return st == 0 ? 0 : journal_file_create_unnamed(f, uid);
}

void journal_file_find_problem(struct buf *b)
{
    struct timespec now;
    char uid[UID_LEN + 1];
    struct journal_file f;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0 || uid_make(now.tv_sec * 1000000, uid) < 0)
        return;
    f = make_closed_journal_file(uid);
    if (create_named_journal(&f, b) < 0)
        return;
    journal_file_remove(&f);
    journal_file_close(&f);
}

/* Opens a regular file that belongs to the user. O_NONBLOCK: opening a fifo would block. */
static int open_user_file(int dir, const char *name, struct stat *ret)
{
    int fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return -1;
    if (fstat(fd, ret) == 0 && S_ISREG(ret->st_mode) && ret->st_uid == geteuid())
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

int journal_file_open(struct journal_file *f, const char *uid)
{
    struct stat st;
    *f = make_closed_journal_file(uid);
    int dir = journal_file_open_dir();
    if (dir < 0)
        return errno == ENOENT ? MI_ENOENT : MI_EIO;
    f->fd = open_user_file(dir, uid, &st);
    int e = errno;
    close(dir);
    errno = e;
    if (f->fd < 0)
        return errno == ENOENT ? MI_ENOENT : MI_EIO;
    f->has_name = true;
    int rc = journal_file_lock(f->fd, JOURNAL_READER);
    if (rc < 0)
        return journal_file_close_on_error(f, rc);
    /* The last reader may have removed the file before it released the lock. */
    if (fstat(f->fd, &st) != 0)
        return journal_file_close_on_error(f, MI_EIO);
    return st.st_nlink > 0 ? 0 : journal_file_close_on_error(f, MI_ENOENT);
}

int journal_file_reopen(struct journal_file *f, const struct journal_file *of)
{
    if (of->fd < 0)
        return journal_file_open(f, of->uid);
    struct journal_file own = make_closed_journal_file(of->uid);
    own.has_name = of->has_name;
    own.fd = file_reopen(of->fd, O_RDWR | O_CLOEXEC);
    if (own.fd < 0 && of->has_name)
        return journal_file_open(f, of->uid);
    if (own.fd < 0)
        own.fd = fcntl(of->fd, F_DUPFD_CLOEXEC, 0);
    *f = own;
    if (own.fd < 0)
        return MI_EIO;
    int st = journal_file_lock(own.fd, JOURNAL_READER);
    return st == 0 ? 0 : journal_file_close_on_error(f, st);
}

void journal_file_remove(const struct journal_file *f)
{
    int dir = f->has_name ? journal_file_open_dir() : -1;
    if (dir < 0)
        return;
    struct stat named, own;
    if (fstatat(dir, f->uid, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
        (f->fd < 0 ||
         (fstat(f->fd, &own) == 0 && own.st_dev == named.st_dev && own.st_ino == named.st_ino)))
        (void)unlinkat(dir, f->uid, 0);
    close(dir);
}

/* ---- all files ---- */

/* age in seconds above which an empty file is removed: no process is creating it any more */
#define EMPTY_S 60
#define BATCH 64 /* maximum number of names that are sorted at a time */

struct names {
    char name[BATCH][UID_LEN + 1]; /* sorted */
    size_t n;
};

/* Inserts a name in sorted order. If there are more than BATCH names, drops the last one. */
static void names_insert_sorted(struct names *x, const char *name)
{
    size_t at = x->n;
    while (at > 0 && strcmp(x->name[at - 1], name) > 0)
        at--;
    if (at == BATCH)
        return;
    if (x->n < BATCH)
        x->n++;
    memmove(x->name[at + 1], x->name[at], (x->n - at - 1) * sizeof x->name[0]);
    memcpy(x->name[at], name, sizeof x->name[0]);
}

/* Reads the first BATCH file names that are greater than `after`. A name begins with the time, so
 * the oldest journals come first. */
static int names_read_from_directory(struct names *x, int dir, const char *after)
{
    x->n = 0;
    int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL) {
        int e = errno;
        if (fd >= 0)
            close(fd);
        errno = e;
        return MI_EIO;
    }
    struct dirent *e;
    while (errno = 0, (e = readdir(d)) != NULL)
        if (uid_is_valid(slice_of(e->d_name)) && strcmp(e->d_name, after) > 0)
            names_insert_sorted(x, e->d_name);
    int failed = errno;
    closedir(d);
    errno = failed;
    return failed == 0 ? 0 : MI_EIO;
}

/* Passes a journal to `call`. If the file is empty and its process has died, removes the file
 * instead. Returns false if no more journals must be visited. */
static bool visit_journal_file(int dir, const char *name,
                               bool (*call)(void *ctx, const struct journal_file *f), void *ctx)
{
    struct stat st;
    struct journal_file f = make_closed_journal_file(name);
    f.fd = open_user_file(dir, name, &st);
    if (f.fd < 0)
        return true;
    f.has_name = true;
    bool more = true;
    if (st.st_size > 0)
        more = call(ctx, &f);
    else if (time(NULL) - st.st_mtime > EMPTY_S && !journal_file_is_locked(&f, JOURNAL_WRITER) &&
             !journal_file_is_locked(&f, JOURNAL_READER))
        (void)unlinkat(dir, name, 0);
    journal_file_close(&f);
    return more;
}

int journal_file_visit_all(bool (*call)(void *ctx, const struct journal_file *f), void *ctx)
{
    char after[UID_LEN + 1] = "";
    struct names names = {.n = BATCH};
    int dir = journal_file_open_dir(), st = 0;
    if (dir < 0)
        return 0;
    while (st == 0 && names.n == BATCH) {
        st = names_read_from_directory(&names, dir, after);
        for (size_t i = 0; st == 0 && i < names.n; i++)
            if (!visit_journal_file(dir, names.name[i], call, ctx)) {
                close(dir);
                return 0;
            }
        if (names.n > 0)
            memcpy(after, names.name[names.n - 1], sizeof after);
    }
    close(dir);
    return st;
}

uint64_t journal_file_sum_sizes(const char *except_uid)
{
    uint64_t sum = 0;
    int dir = journal_file_open_dir();
    int fd = dir >= 0 ? openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (d == NULL && fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        struct stat st;
        if (uid_is_valid(slice_of(e->d_name)) && strcmp(e->d_name, except_uid) != 0 &&
            fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            sum += (uint64_t)st.st_blocks * 512;
    }
    if (d != NULL)
        closedir(d);
    return sum;
}
