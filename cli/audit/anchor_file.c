/* anchor_file.c - locks a file of notes, compares it with the vault's log, and appends a note. */
#include "cli/audit/anchor.h"

#include "base/clock.h"
#include "base/read_all.h"
#include "base/write_all.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static int anchor_file_append_error(const struct anchoring *a, const char *path)
{
    buf_printf(a->error, "cannot write the anchor %s: %s", path, strerror(errno));
    return MI_EIO;
}

static int anchor_file_lock(int fd)
{
    int64_t until = clock_mono_us() + ANCHOR_WAIT_US;
    const struct timespec pause = {0, 10000000};
    while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return -1;
        if (clock_mono_us() > until) {
            errno = EWOULDBLOCK;
            return -1;
        }
        nanosleep(&pause, NULL);
    }
    return 0;
}

/* Finds the last note of a vault in a file. Returns 0, MI_ENOENT (no note of the vault) or
 * MI_EINVAL (not a file of notes). */
static int find_last_note(struct slice origin, const char *path, struct slice text,
                          struct checkpoint *ret, struct buf *error)
{
    struct slice note;
    struct note n;
    struct checkpoint c;
    int st = MI_ENOENT, count = 0;
    while (note_read_next_note(&text, &note)) {
        count++;
        if (note_read(note, &n) < 0 || checkpoint_read(n.text, &c) < 0) {
            buf_printf(error, "%s is not a file of checkpoints: note %d is not valid", path, count);
            return MI_EINVAL;
        }
        if (slice_eq(c.origin, origin)) {
            *ret = c;
            st = 0;
        }
    }
    if (text.n > 0) {
        buf_printf(error,
                   "%s does not end with a complete note: choose another file, or remove "
                   "everything after note %d",
                   path, count);
        return MI_EINVAL;
    }
    return st;
}

/* Checks that the log continues the last checkpoint of this vault in the file. *ret_new: whether
 * the note must be appended. */
static int anchor_file_compare(const struct anchoring *a, const char *path, struct slice text,
                               bool *ret_new)
{
    struct checkpoint last;
    /* current head of the vault's log; if another process has signed meanwhile, the log has grown
     * since the note was written */
    struct log_head now;
    struct digest root;
    int st = find_last_note(a->c.origin, path, text, &last, a->error);
    *ret_new = true;
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    st = signing_read_log_head(a->log, &now);
    if (st == 0 && last.size > now.size) {
        buf_printf(a->error,
                   "the log has only %" PRIu64 " leaves, but %s has a checkpoint of %" PRIu64
                   " leaves: the vault was replaced by an older copy",
                   now.size, path, last.size);
        return MI_EINVAL;
    }
    if (st == 0)
        st = signing_compute_root(a->log, last.size, &root);
    if (st == 0 && !digest_eq(&root, &last.root)) {
        buf_printf(a->error,
                   "the log does not continue the checkpoint of %" PRIu64
                   " leaves in %s: the log was changed; `mcp-interposer audit verify --against %s` "
                   "says what does not agree",
                   last.size, path, path);
        st = MI_EINVAL;
    }
    *ret_new = last.size < a->c.size;
    return st;
}

static int anchor_file_append(const struct anchoring *a, const char *path, int fd, size_t before)
{
    struct buf b = {0};
    if (before > 0)
        buf_addc(&b, '\n');
    buf_slice_add(&b, a->note);
    int st = b.failed ? MI_ENOMEM : 0;
    if (st == 0 && (write_all(fd, buf_slice(&b)) < 0 || fsync(fd) < 0)) {
        st = anchor_file_append_error(a, path);
        /* an incomplete note would make the file invalid for later notes */
        if (ftruncate(fd, (off_t)before) != 0)
            buf_printf(a->error, "; the file may now end with an incomplete note");
    }
    buf_close(&b);
    return st;
}

int anchor_write_to_file(const struct anchoring *a, const char *path)
{
    struct buf text = {0};
    struct stat s;
    bool is_new = false;
    int fd = open(path, O_RDWR | O_APPEND | O_CREAT | O_NONBLOCK | O_NOCTTY | O_CLOEXEC, 0644);
    if (fd < 0)
        return anchor_file_append_error(a, path);
    int st = 0;
    if (fstat(fd, &s) == 0 && !S_ISREG(s.st_mode)) {
        buf_printf(a->error, "the anchor %s is not a regular file", path);
        st = MI_EINVAL;
    } else if (anchor_file_lock(fd) < 0 || (errno = read_all(fd, ANCHOR_FILE_MAX, &text)) != 0) {
        st = errno == ENOMEM ? MI_ENOMEM : anchor_file_append_error(a, path);
    }
    if (st == 0)
        st = anchor_file_compare(a, path, buf_slice(&text), &is_new);
    if (st == 0 && is_new)
        st = anchor_file_append(a, path, fd, text.n);
    buf_close(&text);
    close(fd); /* closing the file also releases the lock */
    return st;
}

int anchor_file_read(const char *path, struct buf *text, struct buf *error)
{
    struct stat s;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    int e = fd < 0 || fstat(fd, &s) < 0 ? errno : 0;
    bool regular = e == 0 && S_ISREG(s.st_mode);
    if (regular)
        e = read_all(fd, ANCHOR_FILE_MAX, text);
    if (fd >= 0)
        close(fd);
    if (e == ENOENT || e == ENOMEM)
        return e == ENOENT ? MI_ENOENT : MI_ENOMEM;
    if (e != 0)
        buf_printf(error, "cannot read the anchor %s: %s", path, strerror(e));
    else if (!regular)
        buf_printf(error,
                   "the anchor %s is not a regular file: `audit verify --against` reads others",
                   path);
    return e != 0 ? MI_EIO : regular ? 0 : MI_EINVAL;
}

int anchor_file_read_checkpoint_size(const char *path, struct slice origin, uint64_t *ret_size,
                                     struct buf *error)
{
    struct buf text = {0};
    struct checkpoint last;
    int st = anchor_file_read(path, &text, error);
    if (st == 0)
        st = find_last_note(origin, path, buf_slice(&text), &last, error);
    if (st == 0)
        *ret_size = last.size;
    buf_close(&text);
    return st;
}
