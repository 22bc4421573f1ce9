#include "cli/frame/problem_files.h"

#include "base/grow.h"
#include "base/read_all.h"
#include "vault/store/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SUFFIX ".md"

static int compare_names(const void *a, const void *b)
{
    return strcmp(a, b);
}

static bool is_problem_file_name(const char *name)
{
    size_t n = strlen(name), suffix = strlen(SUFFIX);
    return n > suffix && n < PROBLEM_FILE_NAME && name[0] != '.' &&
           strcmp(name + n - suffix, SUFFIX) == 0;
}

static int read_problem_file_names(struct problem_files *e)
{
    int again = openat(e->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *d = again >= 0 ? fdopendir(again) : NULL;
    if (d == NULL) {
        if (again >= 0)
            close(again);
        return MI_EIO;
    }
    int st = 0;
    for (struct dirent *x; st == 0 && (x = readdir(d)) != NULL;) {
        if (!is_problem_file_name(x->d_name))
            continue;
        st = GROW(e->name, e->n, e->cap) ? 0 : MI_ENOMEM;
        if (st == 0)
            strcpy(e->name[e->n++].text, x->d_name);
    }
    closedir(d);
    if (e->n > 0)
        qsort(e->name, e->n, sizeof *e->name, compare_names);
    return st;
}

int problem_files_open(struct problem_files *e, const char *vault)
{
    struct buf path = {0};
    *e = (struct problem_files){.fd = -1};
    buf_printf(&path, "%s/" VAULT_ESCALATIONS, vault);
    int st = path.failed ? MI_ENOMEM : 0;
    if (st == 0)
        e->fd = open(path.p, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int reason = errno;
    buf_close(&path);
    errno = reason;
    if (st < 0 || e->fd < 0)
        return st < 0 ? st : reason == ENOENT ? 0 : MI_EIO;
    return read_problem_file_names(e);
}

void problem_files_close(struct problem_files *e)
{
    if (e->fd >= 0)
        close(e->fd);
    free(e->name);
    *e = (struct problem_files){.fd = -1};
}

struct slice problem_files_title(const struct problem_files *e, size_t i)
{
    const char *name = e->name[i].text;
    return (struct slice){name, strlen(name) - strlen(SUFFIX)};
}

int problem_files_read(const struct problem_files *e, const char *name, struct buf *text)
{
    int fd = openat(e->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    int error = fd >= 0 ? read_all(fd, PROBLEM_FILE_MAX, text) : errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return error == 0 ? 0 : error == ENOMEM ? MI_ENOMEM : MI_EIO;
}

int problem_files_remove(const struct problem_files *e, const char *name)
{
    return unlinkat(e->fd, name, 0) == 0 ? 0 : MI_EIO;
}
