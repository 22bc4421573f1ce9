#include "cli/wrap/which.h"

#include "base/os/process.h"
#include "cli/settings/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The PATH of programs that a desktop or a service manager starts. */
static const char usual[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static const char name[] = "mcp-interposer";

/* Returns the path DIR/mcp-interposer if this file is the running program `own`; otherwise NULL. */
static char *find_own_program_in_dir(const char *dir, const struct stat *own)
{
    struct stat other;
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return NULL;
    if (stat(path, &other) == 0 && other.st_dev == own->st_dev && other.st_ino == own->st_ino)
        return path;
    free(path);
    return NULL;
}

char *which_get_own_path(void)
{
    struct stat own;
    char *exe = process_program_path();
    if (exe == NULL || stat(exe, &own) != 0) {
        free(exe);
        return NULL;
    }
    const char *rest = getenv("PATH");
    for (char *dir; (dir = path_find_directory_of_program(rest, name, &rest)) != NULL;) {
        char *path = find_own_program_in_dir(dir, &own);
        free(dir);
        if (path != NULL) {
            free(exe);
            return path;
        }
    }
    return exe;
}

bool which_program_is_in_path(void)
{
    struct stat own;
    const char *rest;
    char *exe = process_program_path(), *path = NULL;
    char *dir = exe != NULL && stat(exe, &own) == 0
                    ? path_find_directory_of_program(getenv("PATH"), name, &rest)
                    : NULL;
    if (dir != NULL)
        path = find_own_program_in_dir(dir, &own);
    bool found = path != NULL;
    free(path);
    free(dir);
    free(exe);
    return found;
}

char *which_find_nonstandard_dir(const char *command)
{
    const char *rest;
    char *dir = path_find_directory_of_program(usual, command, &rest);
    if (dir != NULL) {
        free(dir);
        return NULL;
    }
    return path_find_directory_of_program(getenv("PATH"), command, &rest);
}

char *which_make_path_absolute(const char *path)
{
    if (path[0] == '/')
        return strdup(path);
    char *here = getcwd(NULL, 0);
    char *absolute;
    if (here == NULL || asprintf(&absolute, "%s/%s", here, path) < 0)
        absolute = NULL;
    free(here);
    return absolute;
}
