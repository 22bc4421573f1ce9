#include "cli/wrap/clients.h"

#include "base/grow.h"
#include "cli/settings/paths.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct client {
    const char *name;
    bool desktop; /* started from a desktop, with a short PATH */
} clients[] = {
    {"claude-code", false}, {"claude-desktop", true}, {"cursor", true},   {"vscode", true},
    {"windsurf", true},     {"gemini", false},        {"codex", false},   {"zed", true},
    {"opencode", false},    {"cline", true},          {"copilot", false}, {"goose", true},
    {"jetbrains", true},
};

enum base {
    HOME,
    CONFIG,      /* $XDG_CONFIG_HOME, else ~/.config */
    DIRECTORY,   /* the value of the environment variable `variable` */
    FILE_ITSELF, /* the same; it is the file, and `below` is NULL */
    HERE,        /* the working directory */
};

#define MAC "Library/Application Support/"
#define CLINE "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"

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
    {"claude-desktop", HOME, MAC "Claude/claude_desktop_config.json", NULL},
    {"cursor", HOME, ".cursor/mcp.json", NULL},
    {"cursor", HERE, ".cursor/mcp.json", NULL},
    {"vscode", CONFIG, "Code/User/mcp.json", NULL},
    {"vscode", CONFIG, "Code - Insiders/User/mcp.json", NULL},
    {"vscode", HOME, MAC "Code/User/mcp.json", NULL},
    {"vscode", HOME, MAC "Code - Insiders/User/mcp.json", NULL},
    {"vscode", HERE, ".vscode/mcp.json", NULL},
    {"windsurf", HOME, ".codeium/windsurf/mcp_config.json", NULL},
    {"gemini", HOME, ".gemini/settings.json", NULL},
    {"gemini", HERE, ".gemini/settings.json", NULL},
    {"codex", HOME, ".codex/config.toml", NULL},
    {"codex", DIRECTORY, "config.toml", "CODEX_HOME"},
    {"codex", HERE, ".codex/config.toml", NULL},
    {"zed", CONFIG, "zed/settings.json", NULL},
    {"zed", HERE, ".zed/settings.json", NULL},
    {"opencode", CONFIG, "opencode/opencode.json", NULL},
    {"opencode", CONFIG, "opencode/opencode.jsonc", NULL},
    {"opencode", FILE_ITSELF, NULL, "OPENCODE_CONFIG"},
    {"opencode", HERE, "opencode.json", NULL},
    {"opencode", HERE, "opencode.jsonc", NULL},
    {"opencode", HERE, ".opencode/opencode.json", NULL},
    {"opencode", HERE, ".opencode/opencode.jsonc", NULL},
    {"cline", CONFIG, "Code/" CLINE, NULL},
    {"cline", CONFIG, "Code - Insiders/" CLINE, NULL},
    {"cline", HOME, MAC "Code/" CLINE, NULL},
    {"cline", HOME, MAC "Code - Insiders/" CLINE, NULL},
    {"cline", HOME, ".cline/data/settings/cline_mcp_settings.json", NULL},
    {"cline", FILE_ITSELF, NULL, "CLINE_MCP_SETTINGS_PATH"},
    {"copilot", HOME, ".copilot/mcp-config.json", NULL},
    {"copilot", DIRECTORY, "mcp-config.json", "COPILOT_HOME"},
    {"copilot", HERE, ".github/mcp.json", NULL},
    {"goose", CONFIG, "goose/config.yaml", NULL},
    {"jetbrains", HOME, ".junie/mcp/mcp.json", NULL},
    {"jetbrains", HERE, ".junie/mcp/mcp.json", NULL},
    {"jetbrains", HERE, ".air/mcp.json", NULL},
};

const char *client_name(size_t i)
{
    return i < MI_COUNT(clients) ? clients[i].name : NULL;
}

static bool is_desktop(const char *client)
{
    for (size_t i = 0; i < MI_COUNT(clients); i++)
        if (strcmp(client, clients[i].name) == 0)
            return clients[i].desktop;
    return false;
}

/* NULL: there is no such directory, or no memory (*failed). */
static char *path_of(const struct place *p, bool *failed)
{
    char *dir = NULL;
    char *path;
    if (p->base == HOME || p->base == CONFIG)
        return p->base == HOME ? path_home(p->below) : path_user_config(p->below);
    const char *named = p->variable != NULL ? getenv(p->variable) : NULL;
    if (p->base == FILE_ITSELF)
        return named != NULL && named[0] == '/' ? strdup(named) : NULL;
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

bool client_files_contain(const struct client_files *l, const char *path)
{
    struct stat st, other;
    for (size_t i = 0; stat(path, &st) == 0 && i < l->n; i++)
        if (stat(l->file[i].path, &other) == 0 && other.st_dev == st.st_dev &&
            other.st_ino == st.st_ino)
            return true;
    return false;
}

/* Takes ownership of `path`; NULL: out of memory. */
static int append(struct client_files *l, const char *client, char *path)
{
    if (path == NULL || !GROW(l->file, l->n, l->cap)) {
        free(path);
        return MI_ENOMEM;
    }
    l->file[l->n++] = (struct client_file){client, is_desktop(client), false, path};
    return 0;
}

int client_files_find(struct client_files *l)
{
    bool failed = false;
    for (size_t i = 0; i < MI_COUNT(places) && !failed; i++) {
        struct stat st;
        char *path = path_of(&places[i], &failed);
        bool found = path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode);
        if (found && !client_files_contain(l, path))
            failed = append(l, places[i].client, path) < 0;
        else
            free(path);
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
    const char *client = "-";
    for (size_t i = 0; i < MI_COUNT(places) && client[0] == '-'; i++)
        if (places[i].variable == NULL && ends_with(path, places[i].below))
            client = places[i].client;
    return append(l, client, strdup(path));
}

void client_files_close(struct client_files *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->file[i].path);
    free(l->file);
    *l = (struct client_files){0};
}
