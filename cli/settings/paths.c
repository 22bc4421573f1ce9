#include "cli/settings/paths.h"

#include "base/os/process.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *find_home_directory(void)
{
    const char *dir = getenv("HOME");
    if (dir == NULL || dir[0] != '/')
        dir = process_find_home_directory();
    if (dir != NULL && dir[0] == '/')
        return dir;
    errno = ENOENT;
    return NULL;
}

static char *join_paths(const char *dir, const char *below)
{
    if (dir == NULL)
        return NULL;
    size_t n = strlen(dir);
    while (n > 1 && dir[n - 1] == '/')
        n--;
    char *path;
    return asprintf(&path, "%.*s/%s", (int)n, dir, below) < 0 ? NULL : path;
}

char *path_expand_home(const char *given)
{
    return given[0] == '~' && given[1] == '/' ? join_paths(find_home_directory(), given + 2)
                                              : strdup(given);
}

/* Returns `given` if it is not NULL. Otherwise, returns `below` in the directory named by the
 * environment variable or, if the variable has no absolute path, in the directory `in_home` of the
 * home directory. */
static char *resolve_path(const char *given, const char *variable, const char *in_home,
                          const char *below)
{
    if (given != NULL)
        return path_expand_home(given);
    const char *dir = getenv(variable);
    if (dir != NULL && dir[0] == '/')
        return join_paths(dir, below);
    char *base = join_paths(find_home_directory(), in_home);
    char *path = join_paths(base, below);
    free(base);
    return path;
}

char *path_of_vault(const char *given)
{
    return resolve_path(given, "XDG_STATE_HOME", ".local/state", "mcp-interposer");
}

char *path_of_backup_directory(void)
{
    return resolve_path(NULL, "XDG_STATE_HOME", ".local/state", "mcp-interposer-backups");
}

char *path_of_audit_directory(void)
{
    return resolve_path(NULL, "XDG_STATE_HOME", ".local/state", "mcp-interposer-audit");
}

char *path_of_config_file(const char *given)
{
    return resolve_path(given, "XDG_CONFIG_HOME", ".config", "mcp-interposer/config.ini");
}

char *path_of_audit_key(const char *given)
{
    return resolve_path(given, "XDG_CONFIG_HOME", ".config", "mcp-interposer/audit.key");
}

char *path_in_home(const char *below)
{
    return join_paths(find_home_directory(), below);
}

char *path_in_user_config(const char *below)
{
    return resolve_path(NULL, "XDG_CONFIG_HOME", ".config", below);
}

bool path_is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

char *path_find_directory_of_program(const char *list, const char *program, const char **rest)
{
    for (const char *p = list; p != NULL && *p != '\0';) {
        size_t n = strcspn(p, ":");
        char *path;
        if (n > 0 && p[0] == '/' && asprintf(&path, "%.*s/%s", (int)n, p, program) >= 0) {
            bool found = path_is_program(path);
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

bool path_has_program(const char *program)
{
    const char *rest;
    char *dir = path_find_directory_of_program(getenv("PATH"), program, &rest);
    bool found = dir != NULL;
    free(dir);
    return found;
}

char *path_find_document(const char *name)
{
    static const char *const folders[] = {"share/doc/mcp-interposer", "docs"};
    char *program = process_program_path(), *found = NULL;
    for (int up = 0; up < 2 && program != NULL; up++) {
        char *slash = strrchr(program, '/');
        if (slash != NULL)
            *slash = '\0';
    }
    for (size_t i = 0; i < MI_COUNT(folders) && program != NULL && found == NULL; i++) {
        char *path;
        if (asprintf(&path, "%s/%s/%s", program, folders[i], name) < 0)
            break;
        if (access(path, R_OK) == 0)
            found = path;
        else
            free(path);
    }
    free(program);
    return found != NULL ? found : join_paths("docs", name);
}
