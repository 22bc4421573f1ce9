#include "cli/audit/local_note.h"

#include "base/clock.h"
#include "base/make_path.h"
#include "base/read_all.h"
#include "base/write_all.h"
#include "cli/settings/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDER "signed"
#define NAME_N (32 + sizeof ".note")

static void local_note_file_name(const char *vault, char ret[NAME_N])
{
    char hex[DIGEST_HEX + 1];
    struct digest d = digest_of_text(slice_of(vault));
    digest_hex(&d, hex);
    snprintf(ret, NAME_N, "%.32s.note", hex);
}

/* Returns the path of folder `i`: 0 is the folder in the directory of the key, 1 is in the state
 * directory. Returns NULL with ENOENT if the state directory is unknown, or NULL if memory runs
 * out. */
static char *local_note_get_folder_path(const char *key_path, size_t i)
{
    const char *slash = strrchr(key_path, '/');
    struct buf b = {0};
    if (i > 0)
        return path_of_audit_directory();
    buf_slice_add(&b, (struct slice){key_path, slash != NULL ? (size_t)(slash - key_path) + 1 : 0});
    buf_adds(&b, FOLDER);
    char *path = b.failed ? NULL : strdup(buf_str(&b));
    buf_close(&b);
    return path;
}

static int report_failed_note_write(const char *what, const char *path, struct buf *error)
{
    buf_printf(error, "cannot %s %s: %s", what, path, strerror(errno));
    return MI_EIO;
}

/* ---- reading -------------------------------------------------------------------------------- */

static int local_note_parse(struct slice text, struct signing_kept *ret)
{
    struct note n;
    struct checkpoint c;
    if (note_read(text, &n) < 0 || checkpoint_read(n.text, &c) < 0 ||
        c.origin.n >= sizeof ret->origin)
        return MI_EINVAL;
    snprintf(ret->origin, sizeof ret->origin, "%.*s", (int)c.origin.n, c.origin.p);
    ret->size = c.size;
    ret->root = c.root;
    return 0;
}

static int read_local_note_file(struct local_notes *k, const char *folder, const char *vault,
                                struct buf *error)
{
    char name[NAME_N];
    struct buf path = {0}, *text = &k->note[k->n];
    local_note_file_name(vault, name);
    buf_printf(&path, "%s/%s", folder, name);
    int st = 0, e = path.failed ? ENOMEM : read_all_of_file(buf_str(&path), NOTE_MAX, text);
    errno = e;
    if (e != 0 && e != ENOENT && e != ENOTDIR)
        st = e == ENOMEM ? MI_ENOMEM : report_failed_note_write("read", buf_str(&path), error);
    if (e == 0 && local_note_parse(buf_slice(text), &k->at[k->n]) < 0) {
        buf_printf(error,
                   "%s is not a signed checkpoint: put a copy of it back, or, if the vault %s is "
                   "known to be the right one, run `mcp-interposer audit checkpoint --new-vault`",
                   buf_str(&path), vault);
        st = MI_EINVAL;
    }
    k->n += st == 0 && e == 0;
    buf_close(&path);
    return st;
}

int local_notes_read(struct local_notes *k, const char *key_path, const char *vault,
                     struct buf *error)
{
    int st = 0;
    *k = (struct local_notes){0};
    for (size_t i = 0; st == 0 && i < SIGNING_KEPT_MAX; i++) {
        char *folder = local_note_get_folder_path(key_path, i);
        st = folder != NULL             ? read_local_note_file(k, folder, vault, error)
             : errno == ENOENT && i > 0 ? 0
                                        : MI_ENOMEM;
        free(folder);
    }
    return st;
}

void local_notes_close(struct local_notes *k)
{
    for (size_t i = 0; i < SIGNING_KEPT_MAX; i++)
        buf_close(&k->note[i]);
    *k = (struct local_notes){0};
}

/* ---- writing -------------------------------------------------------------------------------- */

/* Replaces the file of a note atomically. Returns 0, or -1 with errno. */
static int local_note_replace_file(int dir, const char *name, struct slice note)
{
    char wip[NAME_N + 32];
    snprintf(wip, sizeof wip, ".%s.%ld", name, (long)getpid());
    int fd = openat(dir, wip, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    bool written = write_all(fd, note) == 0 && fsync(fd) == 0;
    int e = errno;
    close(fd);
    if (written && renameat(dir, wip, dir, name) == 0)
        return fsync(dir);
    e = written ? errno : e;
    (void)unlinkat(dir, wip, 0);
    errno = e;
    return -1;
}

/* Whether the file has a checkpoint of this log with at least the size in the note. Another process
 * may have written the checkpoint of a longer log. */
static bool local_note_belongs_to_log(int dir, const char *name, struct slice note)
{
    struct buf text = {0};
    struct signing_kept old, new;
    int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    bool kept = read_all(fd, NOTE_MAX, &text) == 0 &&
                local_note_parse(buf_slice(&text), &old) == 0 &&
                local_note_parse(note, &new) == 0 && strcmp(old.origin, new.origin) == 0 &&
                old.size >= new.size;
    close(fd);
    buf_close(&text);
    return kept;
}

/* Writes the note into a file of the folder. Returns 0, or -1 with errno. */
static int write_note_into_folder(const char *folder, const char *vault, struct slice note,
                                  bool anew)
{
    char name[NAME_N];
    local_note_file_name(vault, name);
    if (make_path(folder) < 0)
        return -1;
    int dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0)
        return -1;
    int st = flock(dir, LOCK_EX);
    if (st == 0 && anew) {
        char old[NAME_N + 64], utc[CLOCK_TEXT_MAX];
        clock_utc_text(clock_wall_us(), utc);
        snprintf(old, sizeof old, "%s.until-%s", name, utc);
        st = renameat(dir, name, dir, old) == 0 || errno == ENOENT ? 0 : -1;
    }
    if (st == 0 && !local_note_belongs_to_log(dir, name, note))
        st = local_note_replace_file(dir, name, note);
    int e = errno;
    close(dir);
    errno = e;
    return st;
}

int local_note_write(const char *key_path, const char *vault, struct slice note, bool anew,
                     struct buf *error)
{
    int written = -1, tried = -1;
    for (size_t i = 0; i < SIGNING_KEPT_MAX && (written < 0 || anew); i++) {
        char *folder = local_note_get_folder_path(key_path, i);
        if (folder == NULL && i == 0)
            return MI_ENOMEM;
        struct stat s;
        /* with `anew`, also writes to the second folder, if that folder exists */
        if (folder != NULL && (written < 0 || stat(folder, &s) == 0)) {
            tried = write_note_into_folder(folder, vault, note, anew);
            if (tried < 0 && written < 0)
                (void)(i == 0 ? 0
                              : report_failed_note_write("keep the checkpoint in", folder, error));
            written = tried == 0 ? 0 : written;
        }
        free(folder);
    }
    return written < 0 ? MI_EIO : 0;
}
