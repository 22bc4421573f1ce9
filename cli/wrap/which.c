#include "cli/wrap/which.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The PATH of programs that a desktop or a service manager starts. */
static const char usual[] = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* The first directory of the list that contains the command. *rest: the list after it. */
static char *find(const char *list, const char *command, const char **rest)
{
    for (const char *p = list; p != NULL && *p != '\0';) {
        size_t n = strcspn(p, ":");
        char *path;
        if (n > 0 && p[0] == '/' && asprintf(&path, "%.*s/%s", (int)n, p, command) >= 0) {
            bool found = is_program(path);
            free(path);
            if (found) {
                *rest = p + n + (p[n] == ':');
                return strndup(p, n);
            }
        }
        p += n + (p[n] == ':');
    }
    return NULL;
}

char *which_this_program(void)
{
    static const char name[] = "mcp-interposer";
    struct stat own, other;
    char *exe = realpath("/proc/self/exe", NULL);
    if (exe == NULL || stat(exe, &own) != 0) {
        free(exe);
        return NULL;
    }
    const char *rest = getenv("PATH");
    for (char *dir; (dir = find(rest, name, &rest)) != NULL;) {
        char *path;
        bool made = asprintf(&path, "%s/%s", dir, name) >= 0;
        free(dir);
        if (!made)
            break;
        if (stat(path, &other) == 0 && other.st_dev == own.st_dev && other.st_ino == own.st_ino) {
            free(exe);
            return path;
        }
        free(path);
    }
    return exe;
}

char *which_far_directory(const char *command)
{
    const char *rest;
    char *dir = find(usual, command, &rest);
    if (dir != NULL) {
        free(dir);
        return NULL;
    }
    return find(getenv("PATH"), command, &rest);
}

char *which_absolute(const char *path)
{
    if (path[0] == '/')
        return strdup(path);
    char *here = getcwd(NULL, 0);
    char *whole;
    if (here == NULL || asprintf(&whole, "%s/%s", here, path) < 0)
        whole = NULL;
    free(here);
    return whole;
}
