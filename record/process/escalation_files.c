#include "record/process/escalation_files.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/write_all.h"
#include "journal/uid.h"
#include "model/escalation_head.h"
#include "record/process/escalation_text.h"
#include "vault/store/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* maximum bytes of a file; a larger file was not made by this program */
#define FILE_MAX ((size_t)1 << 20)
#define SERVER_MAX 64 /* maximum bytes of the server's name in the name of a file */
#define STAMP_LEN 20  /* 20261121T101540.043Z */
#define WIP ".new-"   /* prefix of the name of an incomplete file */

/* ---- names ---------------------------------------------------------------------------------- */

static void write_time_stamp(int64_t wall_us, char ret[STAMP_LEN + 1])
{
    struct tm tm;
    time_t s = (time_t)(wall_us / 1000000);
    char text[64] = {0};
    if (gmtime_r(&s, &tm) != NULL) {
        size_t n = strftime(text, sizeof text, "%Y%m%dT%H%M%S", &tm);
        snprintf(text + n, sizeof text - n, ".%03dZ", (int)(wall_us / 1000 % 1000));
    }
    memcpy(ret, text, STAMP_LEN);
    ret[STAMP_LEN] = '\0';
}

/* In the server's name, characters other than letters, digits, `.`, `_` and `-` become `_`. */
void escalation_make_file_suffix(const struct escalation *e, char ret[ESCALATION_SUFFIX_MAX])
{
    char server[SERVER_MAX + 1];
    size_t n = 0;
    for (const char *s = e->server != NULL ? e->server : ""; *s != '\0' && n < SERVER_MAX; s++) {
        bool plain = (*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
                     (*s >= '0' && *s <= '9') || *s == '.' || *s == '_' || *s == '-';
        server[n++] = plain ? *s : '_';
    }
    server[n] = '\0';
    snprintf(ret, ESCALATION_SUFFIX_MAX, "-%s-%s.md", escalation_cause_name(e->cause),
             n > 0 ? server : "server");
}

/* ---- reading and writing in the directory --------------------------------------------------- */

static int read_escalation_file(int dir, const char *name, struct buf *b)
{
    struct stat st;
    int fd = vault_dir_open_file(dir, name, O_RDONLY);
    if (fd < 0)
        return MI_EIO;
    b->max = FILE_MAX;
    ssize_t n = -1;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (size_t)st.st_size <= FILE_MAX && buf_reserve(b, (size_t)st.st_size)) {
        n = pread(fd, b->p, (size_t)st.st_size, 0);
        b->n = n > 0 ? (size_t)n : 0;
    }
    close(fd);
    return n > 0 ? 0 : MI_EIO;
}

/* Writes a complete file under a temporary name. ret_name has ESCALATION_FILE_MAX bytes. */
static int write_temporary_file(int dir, const struct buf *b, bool sync, char *ret_name)
{
    char unique[UID_LEN + 1];
    if (uid_make(clock_wall_us(), unique) < 0)
        return MI_EIO;
    snprintf(ret_name, ESCALATION_FILE_MAX, WIP "%s", unique);
    int fd = vault_dir_open_file(dir, ret_name, O_WRONLY | O_CREAT | O_EXCL);
    if (fd < 0)
        return MI_EIO;
    int st = write_and_close(fd, buf_slice(b), sync);
    int e = errno;
    if (st < 0)
        unlinkat(dir, ret_name, 0);
    errno = e;
    return st;
}

/* Renames a file if no file has the new name; otherwise returns MI_EIO with EEXIST. */
static int rename_to_unused_name(int dir, const char *temporary, const char *name)
{
    if (file_rename_no_replace(dir, temporary, name) == 0)
        return 0;
    if (errno != ENOTSUP)
        return MI_EIO;
    /* Checking first is not atomic, but the lock on the directory excludes other processes. */
    if (file_exists(dir, name)) {
        errno = EEXIST;
        return MI_EIO;
    }
    return renameat(dir, temporary, dir, name) == 0 ? 0 : MI_EIO;
}

bool escalation_lock(int dir)
{
    for (int64_t until = clock_mono_us() + ESCALATION_WAIT_US;;) {
        if (flock(dir, LOCK_EX | LOCK_NB) == 0)
            return true;
        if ((errno != EWOULDBLOCK && errno != EINTR) || clock_mono_us() >= until)
            return false;
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
}

/* ---- the count in a file -------------------------------------------------------------------- */

int escalation_update_file(int dir, const char *name, const struct escalation_row *row)
{
    struct buf file = {0};
    char temporary[ESCALATION_FILE_MAX], utc[CLOCK_TEXT_MAX];
    clock_utc_text(row->last_at_us, utc);
    struct escalation_head h = {.count = row->count, .last_at = slice_of(utc)};
    bool known = read_escalation_file(dir, name, &file) == 0 &&
                 escalation_head_set_field(&file, ESCALATION_HEAD_AT_count, &h) &&
                 escalation_head_set_field(&file, ESCALATION_HEAD_AT_last_at, &h);
    int st = known ? 0 : MI_ENOENT;
    if (file.failed)
        st = MI_ENOMEM;
    if (st == 0)
        st = write_temporary_file(dir, &file, false, temporary);
    if (st == 0 && renameat(dir, temporary, dir, name) != 0) {
        int e = errno;
        unlinkat(dir, temporary, 0);
        errno = e;
        st = MI_EIO;
    }
    buf_close(&file);
    return st;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* Removes a temporary file left by a killed process. */
static void remove_old_temporary_file(int dir, const char *name)
{
    struct stat st;
    if (strncmp(name, WIP, strlen(WIP)) == 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISREG(st.st_mode) &&
        clock_wall_us() / 1000000 - (int64_t)st.st_mtime > ESCALATION_AGAIN_US / 1000000)
        unlinkat(dir, name, 0);
}

void escalation_find_recent_file(int dir, const char *suffix, int64_t at_us,
                                 char ret_recent[ESCALATION_FILE_MAX])
{
    char from[STAMP_LEN + 1], to[STAMP_LEN + 1];
    write_time_stamp(at_us - ESCALATION_AGAIN_US, from);
    /* If the clock was set back, a recent file may have a later time. */
    write_time_stamp(at_us + ESCALATION_AGAIN_US, to);
    ret_recent[0] = '\0';
    int again = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (d == NULL && again >= 0)
        close(again);
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        const char *name = e->d_name;
        size_t n = strlen(name);
        remove_old_temporary_file(dir, name);
        if (n > STAMP_LEN && n < ESCALATION_FILE_MAX && strcmp(name + STAMP_LEN, suffix) == 0 &&
            strncmp(name, from, STAMP_LEN) >= 0 && strncmp(name, to, STAMP_LEN) <= 0 &&
            strcmp(name, ret_recent) > 0)
            memcpy(ret_recent, name, n + 1);
    }
    if (d != NULL)
        closedir(d);
}

/* Whether the file of this name describes this very occurrence: it equals `text` up to the line
 * `last_at`. */
static bool file_describes_same_occurrence(int dir, const char *name, const struct buf *text)
{
    static const char end[] = "\nlast_at: ";
    struct buf file = {0};
    const char *at = memmem(text->p, text->n, end, sizeof end - 1);
    size_t n = at != NULL ? (size_t)(at - text->p) : text->n;
    bool same = read_escalation_file(dir, name, &file) == 0 && file.n >= n &&
                memcmp(file.p, text->p, n) == 0;
    buf_close(&file);
    return same;
}

bool escalation_file_has_occurrence(int dir, const char *name, const struct escalation *e)
{
    struct buf text = {0};
    escalation_append_file_text(&text, e);
    bool same = !text.failed && file_describes_same_occurrence(dir, name, &text);
    buf_close(&text);
    return same;
}

int escalation_make_file(int dir, const struct escalation *e, const char *suffix,
                         char ret_name[ESCALATION_FILE_MAX])
{
    struct buf b = {0};
    char temporary[ESCALATION_FILE_MAX], stamp[STAMP_LEN + 1];
    escalation_append_file_text(&b, e);
    int st = b.failed ? MI_ENOMEM : write_temporary_file(dir, &b, true, temporary);
    if (st < 0) {
        buf_close(&b);
        return st;
    }
    /* if another file has the same name, use the next free millisecond */
    bool made = false;
    for (int i = 0; i < 1000; i++) {
        write_time_stamp(e->at_us + i * 1000, stamp);
        snprintf(ret_name, ESCALATION_FILE_MAX, "%s%s", stamp, suffix);
        st = rename_to_unused_name(dir, temporary, ret_name);
        made = st == 0;
        if (made || errno != EEXIST)
            break;
        if (file_describes_same_occurrence(dir, ret_name, &b)) {
            st = 0;
            break;
        }
        errno = EEXIST;
    }
    int error = errno;
    buf_close(&b);
    if (!made)
        unlinkat(dir, temporary, 0);
    else if (fsync(dir) != 0)
        error = errno; /* not a failure: the file exists, but a power cut may lose it */
    errno = error;
    return st;
}
