#include "vault/escalation.h"

#include "base/clock.h"
#include "vault/dir.h"
#include "vault/escalation_text.h"
#include "vault/uid.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define FILE_MAX ((size_t)1 << 20) /* a larger one was not made by us, and its count stands still */
#define NAME_MAX_LEN 128           /* with the NUL: as in struct escalation_memory */
#define SERVER_MAX 64              /* bytes of a server's name in a file's */
#define TAIL_MAX (SERVER_MAX + 32)
#define STAMP_LEN 20 /* 20261121T101540.043Z */
#define WIP ".new-"  /* what a file is called until it is whole */

static void copy_text(char *to, size_t max, const char *text)
{
    size_t n = size_min(strlen(text), max - 1);
    memcpy(to, text, n);
    to[n] = '\0';
}

/* ---- names ---------------------------------------------------------------------------------- */

static void stamp_of(int64_t wall_us, char ret[STAMP_LEN + 1])
{
    struct tm tm;
    time_t s = (time_t)(wall_us / 1000000);
    char text[64] = "";
    if (gmtime_r(&s, &tm) != NULL) {
        size_t n = strftime(text, sizeof text, "%Y%m%dT%H%M%S", &tm);
        snprintf(text + n, sizeof text - n, ".%03dZ", (int)(wall_us / 1000 % 1000));
    }
    copy_text(ret, STAMP_LEN + 1, text);
}

/* The time in a name; 0: it has none. */
static int64_t stamp_time(const char *name)
{
    struct tm tm = {0};
    const char *end = strptime(name, "%Y%m%dT%H%M%S", &tm);
    if (end != name + 15 || *end != '.')
        return 0;
    return (int64_t)timegm(&tm) * 1000000 + strtol(end + 1, NULL, 10) * 1000;
}

/* "-hang-files.md": what follows the time. Letters, digits and a few marks stay, the rest is a `_`. */
static void tail_of(const struct escalation *e, char ret[TAIL_MAX])
{
    char server[SERVER_MAX + 1];
    size_t n = 0;
    for (const char *s = e->server != NULL ? e->server : ""; *s != '\0' && n < SERVER_MAX; s++) {
        bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                     (*s >= '0' && *s <= '9') || *s == '.' || *s == '_' || *s == '-';
        server[n++] = plain ? *s : '_';
    }
    server[n] = '\0';
    snprintf(ret, TAIL_MAX, "-%s-%s.md", escalation_cause_name(e->cause),
             n > 0 ? server : "server");
}

static uint64_t key_of(const struct buf *identity)
{
    uint64_t h = 14695981039346656037u; /* FNV-1a */
    for (size_t i = 0; i < identity->n; i++)
        h = (h ^ (unsigned char)identity->p[i]) * 1099511628211u;
    return h != 0 ? h : 1;
}

/* ---- reading and writing in the directory --------------------------------------------------- */

static int write_all(int fd, const struct buf *b)
{
    for (size_t done = 0; done < b->n;) {
        ssize_t n = write(fd, b->p + done, b->n - done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return MI_EIO;
        done += (size_t)n;
    }
    return 0;
}

static int read_all(int dir, const char *name, struct buf *b)
{
    struct stat st;
    int fd = vault_dir_file(dir, name, O_RDONLY);
    if (fd < 0)
        return MI_EIO;
    b->max = FILE_MAX;
    ssize_t n = -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (size_t)st.st_size <= FILE_MAX && buf_room(b, (size_t)st.st_size)) {
        n = pread(fd, b->p, (size_t)st.st_size, 0);
        b->n = n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return n > 0 ? 0 : MI_EIO;
}

/* A file under another name, whole and, if asked, on the disk. ret_name has NAME_MAX_LEN bytes. */
static int write_aside(int dir, const struct buf *b, bool sync, char *ret_name)
{
    char unique[UID_LEN + 1];
    if (uid_make(clock_wall_us(), unique) < 0)
        return MI_EIO;
    snprintf(ret_name, NAME_MAX_LEN, WIP "%s", unique);
    int fd = vault_dir_file(dir, ret_name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return MI_EIO;
    int st = write_all(fd, b);
    if (st == 0 && sync && fsync(fd) != 0)
        st = MI_EIO;
    int e = errno;
    if (close(fd) != 0 && st == 0) {
        st = MI_EIO;
        e = errno;
    }
    if (st < 0)
        unlinkat(dir, ret_name, 0);
    errno = e;
    return st;
}

/* To a name that nobody has. MI_EIO with EEXIST: somebody has it. */
static int put_in_place(int dir, const char *aside, const char *name)
{
    if (renameat2(dir, aside, dir, name, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return MI_EIO;
    /* a file system that cannot: the lock on the directory keeps others of us away */
    if (faccessat(dir, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return MI_EIO;
    }
    return renameat(dir, aside, dir, name) == 0 ? 0 : MI_EIO;
}

/* The lock goes with the descriptor. */
static bool lock(int dir)
{
    for (int64_t until = clock_mono_us() + ESCALATION_WAIT_US;;) {
        if (flock(dir, LOCK_EX | LOCK_NB) == 0)
            return true;
        if ((errno != EWOULDBLOCK && errno != EINTR) || clock_mono_us() >= until)
            return false;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* ---- counting ------------------------------------------------------------------------------- */

/* The front matter of a file of ours, from its first line to the last before the second `---`. */
static struct slice front_matter(const struct buf *file)
{
    struct slice s = {file->p, file->n};
    if (!slice_begins(s, "---\n"))
        return (struct slice){0};
    const char *end = memmem(s.p + 3, s.n - 3, "\n---\n", 5);
    return end != NULL ? (struct slice){s.p + 4, (size_t)(end + 1 - s.p - 4)} : (struct slice){0};
}

/* The value on the line of this key, without the newline; {NULL, 0}: there is no such line. */
static struct slice value_of(struct slice front, const char *key)
{
    size_t n = strlen(key);
    if (front.p == NULL)
        return (struct slice){0};
    for (const char *p = front.p, *end = p + front.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        if ((size_t)(eol - p) >= n + 2 && memcmp(p, key, n) == 0 && memcmp(p + n, ": ", 2) == 0)
            return (struct slice){p + n + 2, (size_t)(eol - p) - n - 2};
        p = eol + 1;
    }
    return (struct slice){0};
}

/* Every line of identity is a line of the file, which is about no tool if identity is not. */
static bool is_about(const struct buf *file, struct slice identity)
{
    struct slice front = front_matter(file);
    if (front.p == NULL)
        return false;
    struct slice mine = value_of(identity, "tool"), its = value_of(front, "tool");
    if ((mine.p == NULL) != (its.p == NULL))
        return false;
    for (const char *p = identity.p, *end = p + identity.n; p < end;) {
        const char *eol = memchr(p, '\n', (size_t)(end - p));
        size_t n = (size_t)(eol + 1 - p);
        const char *found = memmem(front.p, front.n, p, n);
        if (found == NULL || (found > front.p && found[-1] != '\n'))
            return false;
        p = eol + 1;
    }
    return true;
}

/* The file anew, with these two values changed. */
static void count_up(struct buf *b, const struct buf *file, struct slice count, struct slice last,
                     uint64_t more, int64_t last_us)
{
    char text[CLOCK_TEXT_MAX];
    bool count_first = count.p < last.p;
    struct slice a = count_first ? count : last, z = count_first ? last : count;
    clock_utc_text(last_us, text);
    buf_add(b, file->p, (size_t)(a.p - file->p));
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == count_first)
            buf_printf(b, "%llu", strtoull(count.p, NULL, 10) + (unsigned long long)more);
        else
            buf_printf(b, "\"%s\"", text);
        const char *from = i == 0 ? a.p + a.n : z.p + z.n;
        const char *to = i == 0 ? z.p : file->p + file->n;
        buf_add(b, from, (size_t)(to - from));
    }
}

/* The directory is locked. MI_ENOENT: the file is gone, or no longer one of ours. */
static int bump(int dir, struct escalation_memory *s)
{
    struct buf file = {0}, anew = {0};
    char aside[NAME_MAX_LEN];
    int st = read_all(dir, s->name, &file) < 0 ? MI_ENOENT : 0;
    struct slice front = st == 0 ? front_matter(&file) : (struct slice){0};
    struct slice count = value_of(front, "count"), last = value_of(front, "last_at");
    if (count.p == NULL || last.p == NULL)
        st = MI_ENOENT;
    if (st == 0) {
        count_up(&anew, &file, count, last, s->waiting, s->last_us);
        st = anew.failed ? MI_ENOMEM : write_aside(dir, &anew, false, aside);
    }
    if (st == 0 && renameat(dir, aside, dir, s->name) != 0) {
        int e = errno;
        unlinkat(dir, aside, 0);
        errno = e;
        st = MI_EIO;
    }
    if (st == 0)
        s->waiting = 0;
    buf_close(&file);
    buf_close(&anew);
    return st;
}

static int write_count(struct escalation_memory *s, int vault_fd)
{
    int dir = vault_dir_sub(vault_fd, VAULT_ESCALATIONS, false);
    if (dir < 0)
        return MI_ENOENT;
    int st = lock(dir) ? bump(dir, s) : 0; /* else the next time, or at the end */
    close(dir);
    return st;
}

/* ---- looking for a file --------------------------------------------------------------------- */

struct search {
    int dir;
    struct slice identity;
    const char *tail;
    char from[STAMP_LEN + 1], to[STAMP_LEN + 1]; /* of files that are recent */
    size_t looked_n;
    char found[NAME_MAX_LEN], newest[NAME_MAX_LEN]; /* "": none */
};

/* Something that a kill in the middle of a write has left. */
static void clean_up(int dir, const char *name)
{
    struct stat st;
    if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
        clock_wall_us() / 1000000 - (int64_t)st.st_mtime > ESCALATION_AGAIN_US / 1000000)
        unlinkat(dir, name, 0);
}

static void look_at(struct search *s, const char *name)
{
    size_t n = strlen(name);
    if (strncmp(name, WIP, strlen(WIP)) == 0) {
        clean_up(s->dir, name);
        return;
    }
    if (n >= NAME_MAX_LEN || n <= STAMP_LEN || strcmp(name + STAMP_LEN, s->tail) != 0 ||
        strncmp(name, s->from, STAMP_LEN) < 0 || strncmp(name, s->to, STAMP_LEN) > 0)
        return;
    s->looked_n++;
    if (strcmp(name, s->newest) > 0)
        copy_text(s->newest, sizeof s->newest, name);
    struct buf file = {0};
    if (strcmp(name, s->found) > 0 && s->looked_n <= (size_t)2 * ESCALATION_FILES_MAX &&
        read_all(s->dir, name, &file) == 0 && is_about(&file, s->identity))
        copy_text(s->found, sizeof s->found, name);
    buf_close(&file);
}

/* The recent file about the same, or the newest one when there are too many. false: make one. */
static bool search(int dir, const struct escalation *e, const char *tail, struct slice identity,
                   char *ret_name)
{
    struct search s = {.dir = dir, .identity = identity, .tail = tail};
    stamp_of(e->at_us - ESCALATION_AGAIN_US, s.from);
    stamp_of(e->at_us + ESCALATION_AGAIN_US, s.to); /* the clock may have been set back */
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (d == NULL) {
        if (again >= 0)
            close(again);
        return false;
    }
    for (struct dirent *entry; (entry = readdir(d)) != NULL;)
        look_at(&s, entry->d_name);
    closedir(d);
    const char *name = s.found;
    if (name[0] == '\0' && s.looked_n >= ESCALATION_FILES_MAX)
        name = s.newest;
    copy_text(ret_name, NAME_MAX_LEN, name);
    return name[0] != '\0';
}

/* ---- the calls ------------------------------------------------------------------------------ */

static int make_file(int dir, const struct escalation *e, const char *tail, char *ret_name)
{
    struct buf b = {0};
    char aside[NAME_MAX_LEN], stamp[STAMP_LEN + 1];
    escalation_text(&b, e);
    int st = b.failed ? MI_ENOMEM : write_aside(dir, &b, true, aside);
    buf_close(&b);
    if (st < 0)
        return st;
    /* two of the same millisecond, about two tools, are told apart by another one */
    for (int i = 0; i < 1000; i++) {
        stamp_of(e->at_us + i * 1000, stamp);
        snprintf(ret_name, NAME_MAX_LEN, "%s%s", stamp, tail);
        st = put_in_place(dir, aside, ret_name);
        if (st == 0 || errno != EEXIST)
            break;
    }
    int error = errno;
    if (st < 0)
        unlinkat(dir, aside, 0);
    else if (fsync(dir) != 0)
        error = errno; /* it is there; whether a power cut would spare it is not known */
    errno = error;
    return st;
}

static struct escalation_memory *find(struct escalations *m, uint64_t key)
{
    for (size_t i = 0; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].key == key)
            return &m->slot[i];
    return NULL;
}

/* A place for a new one: that of the one which has been silent for longest. */
static struct escalation_memory *take_slot(struct escalations *m, int vault_fd)
{
    struct escalation_memory *old = &m->slot[0];
    for (size_t i = 1; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].last_us < old->last_us)
            old = &m->slot[i];
    if (old->key != 0 && old->waiting > 0)
        (void)write_count(old, vault_fd); /* or its count stays behind by so many */
    return old;
}

/* Another one of a known matter. MI_ENOENT: the file is not there any more. */
static int again(struct escalation_memory *s, int vault_fd, int64_t at_us)
{
    s->waiting++;
    s->last_us = at_us;
    if (at_us >= s->written_us && at_us - s->written_us < ESCALATION_QUIET_US)
        return 0;
    s->written_us = at_us;
    return write_count(s, vault_fd);
}

static int begin(struct escalation_memory *s, int vault_fd, const struct escalation *e,
                 const struct buf *identity, bool *ret_new)
{
    char tail[TAIL_MAX];
    int dir = vault_dir_sub(vault_fd, VAULT_ESCALATIONS, true);
    if (dir < 0)
        return MI_EIO;
    tail_of(e, tail);
    *s = (struct escalation_memory){.written_us = e->at_us, .last_us = e->at_us, .waiting = 1};
    bool locked = lock(dir);
    int st = MI_ENOENT;
    *ret_new = false;
    if (locked && search(dir, e, tail, buf_slice(identity), s->name))
        st = bump(dir, s);
    if (st == MI_ENOENT) {
        st = make_file(dir, e, tail, s->name);
        s->waiting = 0;
        *ret_new = true;
    }
    if (st == 0) {
        s->key = key_of(identity);
        s->made_us = stamp_time(s->name);
    }
    int error = errno;
    close(dir);
    errno = error;
    return st;
}

int escalation_write(struct escalations *m, int vault_fd, const struct escalation *e,
                     struct buf *ret_path, bool *ret_new)
{
    struct buf identity = {0};
    bool is_new = false;
    escalation_identity(&identity, e);
    if (identity.failed) {
        buf_close(&identity);
        return MI_ENOMEM;
    }
    struct escalation_memory *s = find(m, key_of(&identity));
    int st = MI_ENOENT;
    if (s != NULL && e->at_us - s->made_us < ESCALATION_AGAIN_US)
        st = again(s, vault_fd, e->at_us);
    if (st == MI_ENOENT) {
        if (s == NULL)
            s = take_slot(m, vault_fd);
        st = begin(s, vault_fd, e, &identity, &is_new);
    }
    buf_close(&identity);
    if (st < 0)
        return st;
    buf_printf(ret_path, VAULT_ESCALATIONS "/%s", s->name);
    *ret_new = is_new;
    return ret_path->failed ? MI_ENOMEM : 0;
}

void escalations_close(struct escalations *m, int vault_fd)
{
    for (size_t i = 0; i < MI_COUNT(m->slot); i++)
        if (m->slot[i].key != 0 && m->slot[i].waiting > 0)
            (void)write_count(&m->slot[i], vault_fd);
    *m = (struct escalations){0};
}
