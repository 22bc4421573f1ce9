#include "vault/upkeep/prune/files.h"

#include "base/grow.h"
#include "base/os/file.h"
#include "vault/store/damaged_db.h"
#include "vault/upkeep/prune/database.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DAY_US ((int64_t)86400 * 1000000)

static int prune_files_add(struct prune_files *f, const char *name, int64_t until_us, int64_t bytes)
{
    char *copy = strdup(name);
    if (copy == NULL || !GROW(f->file, f->n, f->cap)) {
        free(copy);
        return MI_ENOMEM;
    }
    f->file[f->n++] = (struct prune_file){copy, until_us, bytes};
    return 0;
}

static int64_t file_get_change_time_us(const struct stat *st)
{
    struct timespec at = file_get_change_time(st);
    return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

/* ---- which files ---- */

/* Returns 1 if a prune run may remove the file, 0 if not, MI_ENOMEM or MI_ESTORE. *ret_until: of a
 * log file or an escalation, the time before which all of its data were written. */
typedef int (*file_fn)(struct prune *p, const char *name, const struct stat *st,
                       int64_t *ret_until);

/* Whether the file is a log file. A log file may get more lines until its day ends. */
static int file_is_log(struct prune *p, const char *name, const struct stat *st, int64_t *ret_until)
{
    struct tm day = {0};
    (void)p, (void)st;
    const char *end = strptime(name, "%Y-%m-%d", &day);
    if (strlen(name) != 16 || end != name + 10 || strcmp(end, ".jsonl") != 0)
        return 0;
    *ret_until = (int64_t)timegm(&day) * 1000000 + DAY_US;
    return 1;
}

static int file_is_escalation(struct prune *p, const char *name, const struct stat *st,
                              int64_t *ret_until)
{
    size_t n = strlen(name);
    (void)p;
    *ret_until = file_get_change_time_us(st) + 1;
    return name[0] >= '0' && name[0] <= '9' && n > 3 && strcmp(name + n - 3, ".md") == 0;
}

/* Whether the file has bodies of a session that no longer exists. If a damaged database was
 * renamed, no such file is removed, because that database may have the session. */
static int file_is_orphaned_body(struct prune *p, const char *name, const struct stat *st,
                                 int64_t *ret_until)
{
    int64_t has;
    *ret_until = 0;
    if (strlen(name) != UID_LEN || file_get_change_time_us(st) >= p->now_us - DAY_US ||
        damaged_db_count(p->dir.fd, NULL) > 0)
        return 0;
    int found = db_read_number(&p->d, P_HAS_UID, &has, DB_WITH(db_text(slice_of(name))));
    return found == MI_ENOENT ? 1 : found;
}

static int compare_prune_files(const void *a, const void *b)
{
    const struct prune_file *x = a, *y = b;
    return (x->until_us > y->until_us) - (x->until_us < y->until_us);
}

/* Finds the matching files of a folder. fd: descriptor of the folder, which *f owns from now on. */
static int prune_files_find_in_folder(struct prune *p, struct prune_files *f, int fd,
                                      file_fn matches)
{
    struct stat st;
    f->fd = fd;
    int again = fd >= 0 ? openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (d == NULL) {
        if (again >= 0)
            close(again);
        return 0; /* the folder is missing or unreadable, so there is nothing to remove */
    }
    int found = 0;
    for (struct dirent *e; found >= 0 && (e = readdir(d)) != NULL;) {
        int64_t until_us = 0;
        if (fstatat(fd, e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode))
            continue;
        found = matches(p, e->d_name, &st, &until_us);
        if (found > 0)
            found = prune_files_add(f, e->d_name, until_us, st.st_size);
    }
    closedir(d);
    if (f->n > 1)
        qsort(f->file, f->n, sizeof *f->file, compare_prune_files);
    return found < 0 ? found : 0;
}

int prune_files_find(struct prune *p, int64_t *bytes)
{
    int fd = vault_dir_open_sub(p->dir.fd, VAULT_BODIES, false);
    int st = prune_files_find_in_folder(p, &p->bodies, fd, file_is_orphaned_body);
    if (st == 0) {
        int logs = vault_dir_open_sub(p->dir.fd, VAULT_LOGS, false);
        fd = logs >= 0 ? vault_dir_open_sub(logs, VAULT_ACTIONS, false) : -1;
        if (logs >= 0)
            close(logs);
        st = prune_files_find_in_folder(p, &p->logs, fd, file_is_log);
    }
    if (st == 0) {
        fd = vault_dir_open_sub(p->dir.fd, VAULT_ESCALATIONS, false);
        st = prune_files_find_in_folder(p, &p->escalations, fd, file_is_escalation);
    }
    *bytes += prune_files_plan_until_time(&p->bodies, 0);
    return st;
}

/* ---- the plan ---- */

int prune_files_plan_bodies(struct prune *p, int64_t id, int64_t *bytes)
{
    struct stat file;
    char uid[UID_LEN + 1];
    int st = prune_read_session_uid(p, id, uid);
    if (st < 0 || strlen(uid) != UID_LEN || strchr(uid, '/') != NULL || p->bodies.fd < 0 ||
        fstatat(p->bodies.fd, uid, &file, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(file.st_mode))
        return st;
    st = prune_files_add(&p->bodies, uid, 0, file.st_size);
    *bytes += prune_files_plan_until_time(&p->bodies, 0);
    return st;
}

int64_t prune_files_plan_next_file(struct prune_files *f)
{
    return f->file[f->planned++].bytes;
}

int64_t prune_files_plan_until_time(struct prune_files *f, int64_t until_us)
{
    int64_t sum = 0;
    while (f->planned < f->n && f->file[f->planned].until_us <= until_us)
        sum += prune_files_plan_next_file(f);
    return sum;
}

void prune_files_close(struct prune_files *f)
{
    if (f->fd >= 0)
        close(f->fd);
    for (size_t i = 0; i < f->n; i++)
        free(f->file[i].name);
    free(f->file);
}
