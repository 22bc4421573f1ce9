/* files.c - checks of `doctor`: the permissions of the vault, whether it can be written, the space
 * on the disk, databases that were put aside, and recent escalations.
 *
 * Blocks    on the disk. */
#include "cli/doctor/checks.h"

#include "base/clock.h"
#include "base/os/file.h"
#include "base/units.h"
#include "vault/store/damaged_db.h"
#include "vault/upkeep/writable.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DEPTH_MAX 4
#define NAMED_MAX 8 /* maximum number of files reported by name */
/* the disk is reported if less than SPACE_MIN bytes and less than 1/SPACE_SHARE of the disk are
 * free */
#define SPACE_MIN ((int64_t)512 << 20)
#define SPACE_SHARE 20
/* maximum age of an escalation that is reported as a problem */
#define FRESH_US (INT64_C(86400) * 1000000)

struct walk {
    struct doctor *d;
    int64_t bad; /* number of files with a problem */
};

static void doctor_files_check_file(struct walk *w, const char *path, const struct stat *st)
{
    char remedy[4300];
    bool folder = S_ISDIR(st->st_mode);
    const char *why = NULL;
    if (S_ISLNK(st->st_mode)) {
        why = "is a symbolic link, which is not followed";
        snprintf(remedy, sizeof remedy, "replace the link with its target");
    } else if (st->st_uid != geteuid()) {
        why = "belongs to another user";
        snprintf(remedy, sizeof remedy, "chown %u '%s'", (unsigned)geteuid(), path);
    } else if ((st->st_mode & 077) != 0) {
        why = "is accessible to other users";
        snprintf(remedy, sizeof remedy, "chmod %s '%s'", folder ? "700" : "600", path);
    }
    if (why != NULL && ++w->bad <= NAMED_MAX)
        doctor_report_fault(w->d, "permissions", remedy, "%s %s", path, why);
}

static void doctor_files_check_tree(struct walk *w, const char *path, int depth)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    doctor_files_check_file(w, path, &st);
    DIR *d = S_ISDIR(st.st_mode) && depth < DEPTH_MAX ? opendir(path) : NULL;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char below[4200];
        int n = snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && n > 0 &&
            (size_t)n < sizeof below)
            doctor_files_check_tree(w, below, depth + 1);
    }
    if (d != NULL)
        closedir(d);
}

static void check_disk_space(struct doctor *d)
{
    struct statvfs v;
    if (statvfs(d->vault, &v) != 0)
        return;
    int64_t left = (int64_t)v.f_bavail * (int64_t)v.f_frsize;
    int64_t all = (int64_t)v.f_blocks * (int64_t)v.f_frsize;
    if (left < SPACE_MIN && left < all / SPACE_SHARE)
        doctor_report_fault(d, "disk", "free some space, or: mcp-interposer prune --older-than 30d",
                            "only %s free on the disk of %s", units_format_bytes(left).s, d->vault);
    else
        doctor_report_passed(d, "disk", "%s free", units_format_bytes(left).s);
}

static void check_vault_is_writable(struct doctor *d)
{
    struct buf where = {0}, remedy = {0};
    int e = 0;
    if (writability_check_vault(d->vault, &where, &e) == 0) {
        doctor_report_passed(d, "writing", "%s can be written", d->vault);
    } else {
        if (e == EROFS)
            buf_adds(&remedy, "mount the disk writable, or choose another vault with --vault");
        else if (e == ENOSPC || e == EDQUOT)
            buf_adds(&remedy, "free some space, or: mcp-interposer prune --older-than 30d");
        else
            buf_printf(
                &remedy,
                "chown -R %u '%s'; if that does not help, see the attributes of the files: lsattr",
                (unsigned)geteuid(), buf_str(&where));
        doctor_report_fault(d, "writing", buf_str(&remedy),
                            "%s cannot be written, so nothing is recorded: %s", buf_str(&where),
                            strerror(e));
    }
    buf_close(&where);
    buf_close(&remedy);
}

static void check_damaged_databases(struct doctor *d)
{
    char newest[DAMAGED_NAME_MAX], remedy[4400];
    int fd = open(d->vault, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    size_t n = fd >= 0 ? damaged_db_count(fd, newest) : 0;
    if (fd >= 0)
        close(fd);
    if (n == 0)
        return;
    snprintf(remedy, sizeof remedy,
             "mcp-interposer doctor --repair brings what can be read into the vault; then remove "
             "the damaged database: rm '%s/%s'*",
             d->vault, newest);
    doctor_report_fault(d, "damaged", remedy, "%zu damaged database%s put aside, the newest as %s",
                        n, n == 1 ? " was" : "s were", newest);
}

/* The number of files in Escalations/, and the newest file. */
struct escalations {
    int64_t n, newest_us;
    char newest[256];
};

static void count_escalations(struct escalations *m, DIR *d)
{
    struct stat st;
    for (struct dirent *e; (e = readdir(d)) != NULL;) {
        size_t n = strlen(e->d_name);
        if (n < 4 || n >= sizeof m->newest || strcmp(e->d_name + n - 3, ".md") != 0 ||
            e->d_name[0] == '.' || fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        struct timespec at = file_get_change_time(&st);
        int64_t at_us = (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
        if (m->n++ == 0 || at_us > m->newest_us) {
            m->newest_us = at_us;
            memcpy(m->newest, e->d_name, n + 1);
        }
    }
}

void doctor_check_escalations(struct doctor *d)
{
    char path[4200], remedy[256];
    struct escalations m = {0};
    int n = snprintf(path, sizeof path, "%s/" VAULT_ESCALATIONS, d->vault);
    DIR *folder = n > 0 && (size_t)n < sizeof path ? opendir(path) : NULL;
    if (folder != NULL) {
        count_escalations(&m, folder);
        closedir(folder);
    }
    int64_t age_us = clock_wall_us() - m.newest_us;
    struct buf ago = {0};
    units_show_duration(&ago, age_us > 0 ? age_us : 0);
    snprintf(remedy, sizeof remedy,
             "mcp-interposer escalations show %.20s; when the problem is solved: mcp-interposer "
             "escalations "
             "done %.20s",
             m.newest, m.newest);
    if (m.n > 0 && age_us < FRESH_US)
        doctor_report_fault(d, "escalations", remedy, "%lld escalation%s, the newest %s ago",
                            (long long)m.n, m.n == 1 ? "" : "s", buf_str(&ago));
    else if (m.n > 0)
        doctor_report_passed(d, "escalations",
                             "%lld escalation%s; the newest is more than a day old", (long long)m.n,
                             m.n == 1 ? "" : "s");
    else
        doctor_report_passed(d, "escalations", "none");
    buf_close(&ago);
}

void doctor_check_files(struct doctor *d)
{
    struct walk w = {.d = d};
    doctor_files_check_tree(&w, d->vault, 0);
    if (w.bad > NAMED_MAX)
        doctor_report_fault(
            d, "permissions", "run chmod -R go= on the directory of the vault",
            "%lld more files are accessible to other users or belong to another user",
            (long long)(w.bad - NAMED_MAX));
    if (w.bad == 0)
        doctor_report_passed(d, "permissions", "%s is accessible only to you", d->vault);
    check_vault_is_writable(d);
    check_disk_space(d);
    check_damaged_databases(d);
}
