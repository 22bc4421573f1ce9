#include "cli/wrap/clients.h"

#include "cli/settings/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMES "claude-code, claude-desktop, cursor, vscode, windsurf, gemini, codex"

enum base {
    HOME,
    CONFIG,    /* $XDG_CONFIG_HOME, else ~/.config */
    DIRECTORY, /* the value of the environment variable `variable` */
    HERE,      /* the working directory */
};

static const struct place {
    const char *client;
    enum base base;
    const char *below, *variable;
} places[] = {
    {"claude-code", HOME, ".claude.json", NULL},
    {"claude-code", DIRECTORY, ".claude.json", "CLAUDE_CONFIG_DIR"},
    {"claude-code", CONFIG, "claude-code/mcp.json", NULL},
    {"claude-code", HERE, ".mcp.json", NULL},
    {"claude-desktop", CONFIG, "Claude/claude_desktop_config.json", NULL},
    {"claude-desktop", HOME, "Library/Application Support/Claude/claude_desktop_config.json", NULL},
    {"cursor", HOME, ".cursor/mcp.json", NULL},
    {"cursor", HERE, ".cursor/mcp.json", NULL},
    {"vscode", CONFIG, "Code/User/mcp.json", NULL},
    {"vscode", CONFIG, "Code - Insiders/User/mcp.json", NULL},
    {"vscode", HOME, "Library/Application Support/Code/User/mcp.json", NULL},
    {"vscode", HOME, "Library/Application Support/Code - Insiders/User/mcp.json", NULL},
    {"vscode", HERE, ".vscode/mcp.json", NULL},
    {"windsurf", HOME, ".codeium/windsurf/mcp_config.json", NULL},
    {"gemini", HOME, ".gemini/settings.json", NULL},
    {"gemini", HERE, ".gemini/settings.json", NULL},
    {"codex", HOME, ".codex/config.toml", NULL},
    {"codex", DIRECTORY, "config.toml", "CODEX_HOME"},
    {"codex", HERE, ".codex/config.toml", NULL},
};

static bool is_desktop(const char *client)
{
    static const char *const names[] = {"claude-desktop", "cursor", "vscode", "windsurf"};
    for (size_t i = 0; i < MI_COUNT(names); i++)
        if (strcmp(client, names[i]) == 0)
            return true;
    return false;
}

bool client_is_known(const char *client)
{
    for (size_t i = 0; i < MI_COUNT(places); i++)
        if (strcmp(client, places[i].client) == 0)
            return true;
    return false;
}

const char *client_names(void)
{
    return NAMES;
}

/* NULL: there is no such directory, or no memory (*failed). */
static char *path_of(const struct place *p, bool *failed)
{
    char *dir = NULL;
    char *path;
    if (p->base == HOME || p->base == CONFIG)
        return p->base == HOME ? path_home(p->below) : path_user_config(p->below);
    const char *named = p->base == DIRECTORY ? getenv(p->variable) : NULL;
    if (p->base == HERE)
        dir = getcwd(NULL, 0);
    else if (named != NULL && named[0] == '/')
        dir = strdup(named);
    if (dir == NULL)
        return NULL;
    if (asprintf(&path, "%s/%s", dir, p->below) < 0) {
        *failed = true;
        path = NULL;
    }
    free(dir);
    return path;
}

static bool is_listed(const struct client_files *l, const struct stat *st)
{
    struct stat other;
    for (size_t i = 0; i < l->n; i++)
        if (stat(l->file[i].path, &other) == 0 && other.st_dev == st->st_dev &&
            other.st_ino == st->st_ino)
            return true;
    return false;
}

int client_files_find(struct client_files *l)
{
    bool failed = false;
    for (size_t i = 0; i < MI_COUNT(places) && l->n < CLIENT_FILES_MAX; i++) {
        struct stat st;
        char *path = path_of(&places[i], &failed);
        if (path == NULL || stat(path, &st) != 0 || !S_ISREG(st.st_mode) || is_listed(l, &st)) {
            free(path);
            continue;
        }
        const char *client = places[i].client;
        l->file[l->n++] = (struct client_file){client, is_desktop(client), path};
    }
    return failed ? MI_ENOMEM : 0;
}

static bool ends_with(const char *path, const char *end)
{
    size_t n = strlen(path);
    size_t m = strlen(end);
    return n >= m && strcmp(path + n - m, end) == 0 && (n == m || path[n - m - 1] == '/');
}

int client_files_add(struct client_files *l, const char *path)
{
    if (l->n == CLIENT_FILES_MAX)
        return MI_EFULL;
    char *copy = strdup(path);
    if (copy == NULL)
        return MI_ENOMEM;
    const char *client = "-";
    for (size_t i = 0; i < MI_COUNT(places) && client[0] == '-'; i++)
        if (ends_with(path, places[i].below) && strcmp(places[i].below, "config.toml") != 0)
            client = places[i].client;
    l->file[l->n++] = (struct client_file){client, is_desktop(client), copy};
    return 0;
}

void client_files_close(struct client_files *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->file[i].path);
    l->n = 0;
}
