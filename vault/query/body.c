/* body.c - reads large bodies, which are stored in one file per session. */
#include "vault/query/connection.h"

#include "journal/uid.h"
#include "vault/query/store.h"
#include "vault/store/bodies.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_valid_session_uid(struct slice uid)
{
    if (uid.n != UID_LEN)
        return false;
    for (size_t i = 0; i < uid.n; i++)
        if (!isalnum((unsigned char)uid.p[i]))
            return false;
    return true;
}

static int set_body_error(struct query *q, struct slice uid, const char *why)
{
    int e = errno;
    buf_clear(&q->error);
    buf_printf(&q->error, "%s/" VAULT_BODIES "/%.*s: %s", q->path, (int)size_min(uid.n, UID_LEN),
               uid.p, why);
    errno = e;
    return MI_EIO;
}

static int read_body_bytes(int fd, int64_t offset, size_t n, struct buf *b)
{
    if (!buf_reserve(b, n))
        return MI_ENOMEM;
    while (n > 0) {
        ssize_t got = pread(fd, b->p + b->n, n, offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got == 0 ? ENODATA : errno;
            return MI_EIO;
        }
        b->n += (size_t)got;
        offset += got;
        n -= (size_t)got;
    }
    return 0;
}

int query_body(struct query *q, struct slice uid, const struct query_message *m, size_t max,
               struct buf *b)
{
    if (q->remote != NULL)
        return query_read_body_from_store(q, uid, m->seq, max, b);
    if (!is_valid_session_uid(uid)) /* check the uid, because it is used as a file name */
        return set_body_error(q, uid, "not a session UID");
    char name[UID_LEN + 1] = {0};
    memcpy(name, uid.p, UID_LEN);
    int dir = vault_dir_open_sub(q->dir_fd, VAULT_BODIES, false);
    int fd = dir >= 0 ? vault_dir_open_file(dir, name, O_RDONLY | O_NONBLOCK) : -1;
    int st = fd < 0 ? set_body_error(q, uid, strerror(errno)) : 0;
    struct stat s;
    if (st == 0 && (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)))
        st = set_body_error(q, uid, "not a regular file");
    else if (st == 0 && (m->body_offset < 0 || m->body_length < 0 || m->body_offset > s.st_size ||
                         m->body_length > s.st_size - m->body_offset))
        st = set_body_error(q, uid, "the file is too short");
    else if (st == 0 && !bodies_range_is_written(fd, m->body_offset, m->body_length))
        st = set_body_error(q, uid, "there is a hole in the file");
    if (st == 0)
        st = read_body_bytes(fd, m->body_offset, size_min(max, (size_t)m->body_length), b);
    if (st == MI_EIO && b->failed)
        st = MI_ENOMEM;
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    return st;
}
