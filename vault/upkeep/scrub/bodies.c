#include "vault/upkeep/scrub/bodies.h"

#include "base/grow.h"
#include "base/os/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static int scrub_bodies_fail(struct scrub *s, const char *what)
{
    return scrub_fail(s, what, VAULT_BODIES);
}

/* Opens the session's file of large bodies. 0, MI_ENOENT (there is no such file) or MI_EIO. */
static int scrub_open_bodies(struct scrub *s)
{
    if (s->bodies_fd >= 0)
        return 0;
    int dir = vault_dir_open_sub(s->dir.fd, VAULT_BODIES, false);
    if (dir >= 0)
        s->bodies_fd = vault_dir_open_file(dir, s->uid, O_RDWR);
    int e = errno;
    if (dir >= 0)
        close(dir);
    errno = e;
    if (s->bodies_fd >= 0)
        return 0;
    return e == ENOENT ? MI_ENOENT : scrub_bodies_fail(s, "open a file in");
}

int scrub_keep_range(struct scrub *s, int64_t offset, int64_t length)
{
    if (s->d.db == NULL)
        return 0;
    if (!GROW(s->ranges, s->ranges_n, s->ranges_cap))
        return MI_ENOMEM;
    s->ranges[s->ranges_n++] = (struct scrub_range){offset, offset + length + 1};
    return 0;
}

static int scrub_write_at(struct scrub *s, const char *p, size_t n, int64_t at)
{
    while (n > 0) {
        ssize_t done = pwrite(s->bodies_fd, p, n, at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0)
            return scrub_bodies_fail(s, "write to a file in");
        p += done;
        n -= (size_t)done;
        at += done;
    }
    return 0;
}

int scrub_append_body(struct scrub *s, struct slice body, int64_t *ret_offset)
{
    int st = scrub_open_bodies(s);
    if (st < 0)
        return st == MI_ENOENT ? scrub_bodies_fail(s, "open a file in") : st;
    off_t end = lseek(s->bodies_fd, 0, SEEK_END);
    if (end < 0)
        return scrub_bodies_fail(s, "read a file in");
    st = scrub_write_at(s, body.p, body.n, end);
    if (st == 0)
        st = scrub_write_at(s, "\n", 1, end + (int64_t)body.n);
    if (st == 0 && file_sync_data(s->bodies_fd) < 0)
        st = scrub_bodies_fail(s, "write to a file in");
    if (st == 0)
        st = scrub_keep_range(s, end, (int64_t)body.n);
    *ret_offset = end;
    return st;
}

static int compare_range_offsets(const void *a, const void *b)
{
    const struct scrub_range *x = a, *y = b;
    return x->from < y->from ? -1 : x->from > y->from;
}

static int scrub_blank_range(struct scrub *s, int64_t from, int64_t to)
{
    static const char zeros[64 << 10];
    int st = 0;
    while (st == 0 && (from = file_next_data(s->bodies_fd, from)) < to) {
        size_t n = size_min(sizeof zeros, (size_t)(to - from));
        st = scrub_write_at(s, zeros, n, from);
        from += (int64_t)n;
    }
    return st;
}

int scrub_blank_bodies(struct scrub *s)
{
    struct stat file;
    int64_t at = 0;
    int st = scrub_open_bodies(s);
    if (st < 0)
        return st == MI_ENOENT ? 0 : st;
    if (fstat(s->bodies_fd, &file) != 0)
        return scrub_bodies_fail(s, "read a file in");
    if (s->ranges_n > 0)
        qsort(s->ranges, s->ranges_n, sizeof *s->ranges, compare_range_offsets);
    for (size_t i = 0; st == 0 && i < s->ranges_n; i++) {
        if (s->ranges[i].from > at)
            st = scrub_blank_range(s, at, s->ranges[i].from);
        if (s->ranges[i].to > at)
            at = s->ranges[i].to;
    }
    if (st == 0 && file.st_size > at)
        st = scrub_blank_range(s, at, file.st_size);
    if (st == 0 && file_sync_data(s->bodies_fd) < 0)
        st = scrub_bodies_fail(s, "write to a file in");
    return st;
}
