/* doctor_files.c - who may read the vault, and is there room for more. */
#include "cli/doctor.h"

#include "base/units.h"
#include "vault/dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define DEPTH_MAX 4
#define NAMED_MAX 8 /* files that are told of one by one */
#define ROOM_LEAST ((int64_t)512 << 20)
#define ROOM_SHARE 20 /* and a 20th of the disk */

struct walk {
    struct doctor *d;
    int64_t bad;
};

static void look_at(struct walk *w, const char *path, const struct stat *st)
{
    char remedy[4300];
    bool folder = S_ISDIR(st->st_mode);
    const char *why = NULL;
    if (S_ISLNK(st->st_mode)) {
        why = "is a symbolic link, and is not followed";
        snprintf(remedy, sizeof remedy, "remove it, or put what it leads to in its place");
    } else if (st->st_uid != geteuid()) {
        why = "belongs to another user";
        snprintf(remedy, sizeof remedy, "chown %u '%s'", (unsigned)geteuid(), path);
    } else if ((st->st_mode & 077) != 0) {
        why = "is open to others";
        snprintf(remedy, sizeof remedy, "chmod %s '%s'", folder ? "700" : "600", path);
    }
    if (why != NULL && ++w->bad <= NAMED_MAX)
        doctor_found(w->d, "permissions", remedy, "%s %s", path, why);
}

static void walk(struct walk *w, const char *path, int depth)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return;
    look_at(w, path, &st);
    DIR *d = S_ISDIR(st.st_mode) && depth < DEPTH_MAX ? opendir(path) : NULL;
    for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
        char below[4200];
        int n = snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && n > 0 &&
            (size_t)n < sizeof below)
            walk(w, below, depth + 1);
    }
    if (d != NULL)
        closedir(d);
}

static void check_room(struct doctor *d)
{
    struct statvfs v;
    struct buf b = {0};
    if (statvfs(d->vault, &v) != 0)
        return;
    int64_t left = (int64_t)v.f_bavail * (int64_t)v.f_frsize;
    int64_t all = (int64_t)v.f_blocks * (int64_t)v.f_frsize;
    units_show_size(&b, left);
    if (left < ROOM_LEAST && left < all / ROOM_SHARE)
        doctor_found(d, "disk", "make room, or: mcp-interposer prune --older-than 30d",
                     "only %s are left on the disk of %s", buf_str(&b), d->vault);
    else
        doctor_fine(d, "disk", "%s are left", buf_str(&b));
    buf_close(&b);
}

void doctor_files(struct doctor *d)
{
    struct walk w = {.d = d};
    walk(&w, d->vault, 0);
    if (w.bad > NAMED_MAX)
        doctor_found(d, "permissions", "chmod -R go= on the vault",
                     "%lld more files are open to others, or not yours",
                     (long long)(w.bad - NAMED_MAX));
    if (w.bad == 0)
        doctor_fine(d, "permissions", "%s is yours alone", d->vault);
    check_room(d);
}
