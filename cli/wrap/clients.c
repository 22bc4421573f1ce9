#include "cli/wrap/clients.h"

#include "base/buf.h"
#include "base/grow.h"
#include "base/read_all.h"
#include "cli/settings/paths.h"

#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* The clients that --client accepts. desktop: started from a desktop or as a service, with a short
 * PATH. */
static const struct client {
    const char *name;
    bool desktop;
} clients[] = {
    {"claude-code", false}, {"claude-desktop", true},
    {"cursor", true},       {"vscode", true},
    {"windsurf", true},     {"gemini", false},
    {"codex", false},       {"zed", true},
    {"opencode", false},    {"cline", true},
    {"copilot", false},     {"goose", true},
    {"jetbrains", true},    {"kiro", true},
    {"antigravity", true},  {"lmstudio", true},
    {"kilo", true},         {"warp", true},
    {"qwen", false},        {"droid", false},
    {"kimi", false},        {"grok", false},
    {"pi", false},          {"crush", false},
    {"trae", true},         {"qoder", true},
    {"amazon-q", false},    {"mastra", false},
    {"mcporter", false},    {"fx", false},
    {"abacus", true},       {"amp", false},
    {"vibe", false},        {"continue", true},
    {"hermes", true},       {"openclaw", true},
};

const struct client_file_fixed client_file_fixed[] = {
    [CLIENT_FILE_UNUSED] = {"unused",
                            "the client does not read this file, because .mcp.json exists"},
    [CLIENT_FILE_PLUGIN] = {"plugin",
                            "this file is part of a plugin or an extension, which replaces it at "
                            "each update; copy the server to a file of your own"},
    [CLIENT_FILE_MANAGED] = {"managed", "the file belongs to the administrator"},
    [CLIENT_FILE_SCRIPT] = {NULL, NULL},
};

enum base {
    ROOT,
    HOME,
    CONFIG,    /* $XDG_CONFIG_HOME, else ~/.config */
    DIRECTORY, /* the directory that the environment variable `variable` names */
    /* the environment variable contains the path of the file itself; `below` is NULL */
    FILE_ITSELF,
    HERE, /* the working directory */
};

#define MAC "Library/Application Support/"
#define CLINE "User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"
#define LIST_MAX ((size_t)1 << 20)     /* maximum size of installed_plugins.json in bytes */
#define PLUGINS "plugins/cache/*/*/*/" /* MARKETPLACE/PLUGIN/VERSION */

static const struct place {
    const char *client; /* name of the client; "-": no known client reads the file */
    enum base base;
    /* below: path below the base directory; `*` stands for any name that does not begin with a
     * dot */
    const char *below, *variable;
    /* if the kind is CLIENT_FILE_UNUSED, the file still counts as CLIENT_FILE_EDITED if the working
     * directory has no .mcp.json, or if the file was added by client_files_add() */
    enum client_file_kind kind;
} places[] = {
    /* The first row that matches a file applies. The rows of plugins come first, so that the file
     * of a plugin is recognized even if it is in the working directory. */
    {"claude-code", ROOT, "etc/claude-code/managed-mcp.json", NULL, CLIENT_FILE_MANAGED},
    {"claude-code", ROOT, MAC "ClaudeCode/managed-mcp.json", NULL, CLIENT_FILE_MANAGED},
    {"claude-code", HOME, ".claude/" PLUGINS ".mcp.json", NULL, CLIENT_FILE_PLUGIN},
    {"claude-code", HOME, ".claude/" PLUGINS ".claude-plugin/plugin.json", NULL,
     CLIENT_FILE_PLUGIN},
    {"claude-code", DIRECTORY, PLUGINS ".mcp.json", "CLAUDE_CONFIG_DIR", CLIENT_FILE_PLUGIN},
    {"claude-code", DIRECTORY, PLUGINS ".claude-plugin/plugin.json", "CLAUDE_CONFIG_DIR",
     CLIENT_FILE_PLUGIN},
    {"gemini", HOME, ".gemini/extensions/*/gemini-extension.json", NULL, CLIENT_FILE_PLUGIN},
    {"codex", HOME, ".codex/" PLUGINS ".mcp.json", NULL, CLIENT_FILE_PLUGIN},
    {"codex", DIRECTORY, PLUGINS ".mcp.json", "CODEX_HOME", CLIENT_FILE_PLUGIN},
    {"copilot", HOME, ".copilot/installed-plugins/*/*/.mcp.json", NULL, CLIENT_FILE_PLUGIN},
    {"copilot", DIRECTORY, "installed-plugins/*/*/.mcp.json", "COPILOT_HOME", CLIENT_FILE_PLUGIN},
    {"qwen", HOME, ".qwen/extensions/*/qwen-extension.json", NULL, CLIENT_FILE_PLUGIN},
    {"claude-code", HOME, ".claude.json"},
    {"claude-code", DIRECTORY, ".claude.json", "CLAUDE_CONFIG_DIR"},
    {"claude-code", HERE, ".mcp.json"},
    {"-", CONFIG, "claude-code/mcp.json"},
    {"claude-desktop", CONFIG, "Claude/claude_desktop_config.json"},
    {"claude-desktop", HOME, MAC "Claude/claude_desktop_config.json"},
    {"cursor", HOME, ".cursor/mcp.json"},
    {"cursor", HERE, ".cursor/mcp.json"},
    {"vscode", CONFIG, "Code/User/mcp.json"},
    {"vscode", CONFIG, "Code/User/profiles/*/mcp.json"},
    {"vscode", CONFIG, "Code - Insiders/User/mcp.json"},
    {"vscode", CONFIG, "Code - Insiders/User/profiles/*/mcp.json"},
    {"vscode", CONFIG, "VSCodium/User/mcp.json"},
    {"vscode", CONFIG, "VSCodium/User/profiles/*/mcp.json"},
    {"vscode", HOME, ".vscode-server/data/User/mcp.json"},
    {"vscode", HOME, ".vscode-server-insiders/data/User/mcp.json"},
    {"vscode", HOME, MAC "Code/User/mcp.json"},
    {"vscode", HOME, MAC "Code/User/profiles/*/mcp.json"},
    {"vscode", HOME, MAC "Code - Insiders/User/mcp.json"},
    {"vscode", HOME, MAC "Code - Insiders/User/profiles/*/mcp.json"},
    {"vscode", HOME, MAC "VSCodium/User/mcp.json"},
    {"vscode", HOME, MAC "VSCodium/User/profiles/*/mcp.json"},
    {"vscode", HERE, ".vscode/mcp.json"},
    {"vscode", HERE, ".devcontainer/devcontainer.json", NULL, CLIENT_FILE_CONTAINER},
    {"vscode", HERE, ".devcontainer/*/devcontainer.json", NULL, CLIENT_FILE_CONTAINER},
    {"vscode", HERE, ".devcontainer.json", NULL, CLIENT_FILE_CONTAINER},
    {"windsurf", HOME, ".codeium/windsurf/mcp_config.json"},
    /* the file of Windsurf's plugin for JetBrains IDEs */
    {"windsurf", HOME, ".codeium/mcp_config.json"},
    {"gemini", HOME, ".gemini/settings.json"},
    {"gemini", HERE, ".gemini/settings.json"},
    {"codex", HOME, ".codex/config.toml"},
    {"codex", DIRECTORY, "config.toml", "CODEX_HOME"},
    {"codex", HERE, ".codex/config.toml"},
    {"zed", CONFIG, "zed/settings.json"},
    {"zed", HERE, ".zed/settings.json"},
    {"opencode", CONFIG, "opencode/opencode.json"},
    {"opencode", CONFIG, "opencode/opencode.jsonc"},
    {"opencode", FILE_ITSELF, NULL, "OPENCODE_CONFIG"},
    {"opencode", HERE, "opencode.json"},
    {"opencode", HERE, "opencode.jsonc"},
    {"opencode", HERE, ".opencode/opencode.json"},
    {"opencode", HERE, ".opencode/opencode.jsonc"},
    {"cline", CONFIG, "Code/" CLINE},
    {"cline", CONFIG, "Code - Insiders/" CLINE},
    {"cline", CONFIG, "VSCodium/" CLINE},
    {"cline", HOME, MAC "Code/" CLINE},
    {"cline", HOME, MAC "Code - Insiders/" CLINE},
    {"cline", HOME, MAC "VSCodium/" CLINE},
    {"cline", HOME, ".cline/data/settings/cline_mcp_settings.json"},
    {"cline", DIRECTORY, "data/settings/cline_mcp_settings.json", "CLINE_DIR"},
    {"cline", FILE_ITSELF, NULL, "CLINE_MCP_SETTINGS_PATH"},
    {"copilot", HOME, ".copilot/mcp-config.json"},
    {"copilot", DIRECTORY, "mcp-config.json", "COPILOT_HOME"},
    {"copilot", HERE, ".github/mcp.json", NULL, CLIENT_FILE_UNUSED},
    {"goose", CONFIG, "goose/config.yaml"},
    {"jetbrains", HOME, ".junie/mcp/mcp.json"},
    {"jetbrains", HERE, ".junie/mcp/mcp.json"},
    {"jetbrains", HERE, ".air/mcp.json"},
    {"kiro", HOME, ".kiro/settings/mcp.json"},
    {"kiro", HOME, ".kiro/agents/*.json"},
    {"kiro", HERE, ".kiro/settings/mcp.json"},
    {"kiro", HERE, ".kiro/agents/*.json"},
    {"antigravity", HOME, ".gemini/config/mcp_config.json"},
    {"antigravity", HOME, ".gemini/antigravity/mcp_config.json"},
    {"lmstudio", HOME, ".lmstudio/mcp.json"},
    {"lmstudio", HOME, ".cache/lm-studio/mcp.json"},
    {"kilo", CONFIG, "kilo/kilo.json"},
    {"kilo", CONFIG, "kilo/kilo.jsonc"},
    {"kilo", HERE, "kilo.json"},
    {"kilo", HERE, "kilo.jsonc"},
    {"kilo", HERE, ".kilo/kilo.json"},
    {"kilo", HERE, ".kilo/kilo.jsonc"},
    {"kilo", HERE, ".kilocode/kilo.json"},
    {"kilo", HERE, ".kilocode/kilo.jsonc"},
    {"kilo", HERE, ".kilocode/mcp.json"},
    {"warp", HOME, ".warp/.mcp.json"},
    {"warp", HERE, ".warp/.mcp.json"},
    {"qwen", HOME, ".qwen/settings.json"},
    {"qwen", HERE, ".qwen/settings.json"},
    {"droid", HOME, ".factory/mcp.json"},
    {"droid", HERE, ".factory/mcp.json"},
    {"kimi", HOME, ".kimi-code/mcp.json"},
    {"kimi", DIRECTORY, "mcp.json", "KIMI_CODE_HOME"},
    {"kimi", HERE, ".kimi-code/mcp.json"},
    {"kimi", HOME, ".kimi/mcp.json"},
    {"grok", HOME, ".grok/config.toml"},
    {"grok", DIRECTORY, "config.toml", "GROK_HOME"},
    {"grok", HERE, ".grok/config.toml"},
    {"pi", HOME, ".pi/agent/mcp.json"},
    {"pi", DIRECTORY, "mcp.json", "PI_CODING_AGENT_DIR"},
    {"pi", HERE, ".pi/mcp.json"},
    {"crush", CONFIG, "crush/crush.json"},
    {"crush", CONFIG, "crush/crushrc", NULL, CLIENT_FILE_SCRIPT},
    {"crush", HERE, "crush.json"},
    {"crush", HERE, ".crush.json"},
    {"amp", CONFIG, "amp/settings.json"},
    {"amp", CONFIG, "amp/settings.jsonc"},
    {"amp", HERE, ".amp/settings.json"},
    {"amp", HERE, ".amp/settings.jsonc"},
    {"vibe", HOME, ".vibe/config.toml"},
    {"vibe", DIRECTORY, "config.toml", "VIBE_HOME"},
    {"vibe", HERE, ".vibe/config.toml"},
    {"continue", HOME, ".continue/config.yaml"},
    {"continue", HERE, ".continue/mcpServers/*.yaml"},
    {"continue", HERE, ".continue/mcpServers/*.json"},
    {"hermes", HOME, ".hermes/config.yaml"},
    {"hermes", DIRECTORY, "config.yaml", "HERMES_HOME"},
    {"openclaw", HOME, ".openclaw/openclaw.json"},
    {"openclaw", FILE_ITSELF, NULL, "OPENCLAW_CONFIG_PATH"},
    {"trae", CONFIG, "Trae/User/mcp.json"},
    {"trae", HOME, MAC "Trae/User/mcp.json"},
    {"trae", HERE, ".trae/mcp.json"},
    {"qoder", HOME, ".qoder/mcp.json"},
    {"amazon-q", HOME, ".aws/amazonq/mcp.json"},
    {"mastra", HOME, ".mastracode/mcp.json"},
    {"mcporter", HOME, ".mcporter/mcporter.json"},
    {"mcporter", HERE, "config/mcporter.json"},
    {"fx", HOME, ".fx/mcp.json"},
    {"abacus", HOME, ".abacusai/mcp.json"},
};

const char *client_name(size_t i)
{
    return i < MI_COUNT(clients) ? clients[i].name : NULL;
}

/* Returns the path of a file or pattern in `places`. Returns NULL if the base directory is unknown
 * or, with ENOMEM in errno, if memory ran out. */
static char *client_file_path(const struct place *p)
{
    char *dir = NULL;
    char *path;
    errno = 0;
    if (p->base == HOME || p->base == CONFIG)
        return p->base == HOME ? path_in_home(p->below) : path_in_user_config(p->below);
    const char *named = p->variable != NULL ? getenv(p->variable) : NULL;
    if (p->base == FILE_ITSELF)
        return named != NULL && named[0] == '/' ? strdup(named) : NULL;
    if (p->base == ROOT)
        dir = strdup("");
    else if (p->base == HERE)
        dir = getcwd(NULL, 0);
    else if (named != NULL && named[0] == '/')
        dir = strdup(named);
    if (dir == NULL)
        return NULL;
    for (size_t n = strlen(dir); n > 0 && dir[n - 1] == '/'; n--)
        dir[n - 1] = '\0';
    if (asprintf(&path, "%s/%s", dir, p->below) < 0)
        path = NULL;
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

/* Takes ownership of `path`; NULL means out of memory. Returns 0 or MI_ENOMEM. */
static int clients_append(struct client_files *l, const char *client, enum client_file_kind kind,
                          char *path)
{
    if (path == NULL || !GROW(l->file, l->n, l->cap)) {
        free(path);
        return MI_ENOMEM;
    }
    bool desktop = false;
    for (size_t i = 0; i < MI_COUNT(clients); i++)
        desktop |= clients[i].desktop && strcmp(client, clients[i].name) == 0;
    l->file[l->n++] = (struct client_file){client, desktop, kind, path};
    return 0;
}

/* Returns whether this version of a plugin is in use. Claude Code leaves old versions in its cache,
 * and lists the directories that it reads in installed_plugins.json. For clients without such a
 * list, returns true. */
static bool plugin_version_is_installed(const char *path)
{
    struct buf list = {0}, name = {0};
    const char *version = path;
    const char *cache = strstr(path, "/plugins/cache/");
    if (cache == NULL)
        return true;
    for (int i = 0; version != NULL && i < 3; i++) /* skips MARKETPLACE/PLUGIN/VERSION */
        version = strchr(i == 0 ? cache + strlen("/plugins/cache/") : version + 1, '/');
    if (version == NULL)
        return true;
    buf_printf(&name, "%.*s/plugins/installed_plugins.json", (int)(cache - path), path);
    bool known = !name.failed && read_all_of_file(buf_str(&name), LIST_MAX, &list) == 0;
    buf_clear(&name);
    buf_printf(&name, "\"%.*s\"", (int)(version - path), path);
    bool found = !known || strstr(buf_str(&list), buf_str(&name)) != NULL;
    buf_close(&list);
    buf_close(&name);
    return found;
}

/* Takes ownership of `path`. Adds the file, unless it does not exist, is in the list already, or
 * belongs to a version of a plugin that is not in use. */
static int append_client_file_if_new(struct client_files *l, const struct place *p, char *path)
{
    struct stat st;
    bool edited = p->kind == CLIENT_FILE_UNUSED && access(".mcp.json", F_OK) != 0;
    if (path != NULL && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
        !client_files_contain(l, path) &&
        (p->kind != CLIENT_FILE_PLUGIN || plugin_version_is_installed(path)))
        return clients_append(l, p->client, edited ? CLIENT_FILE_EDITED : p->kind, path);
    free(path);
    return 0;
}

/* Adds the files that match `path`, whose last `n` bytes are a pattern (glob(7)); the bytes before
 * them are literal. */
static int append_files_matching(struct client_files *l, const struct place *p, const char *path,
                                 size_t n)
{
    struct buf pattern = {0};
    glob_t found = {0};
    const char *end = path + strlen(path) - n;
    for (const char *c = path; c < end; c++)
        buf_printf(&pattern, strchr("*?[\\", *c) != NULL ? "\\%c" : "%c", *c);
    buf_adds(&pattern, end);
    int status = pattern.failed ? GLOB_NOSPACE : glob(buf_str(&pattern), 0, NULL, &found);
    int st = status == GLOB_NOSPACE ? MI_ENOMEM : 0;
    for (size_t i = 0; st == 0 && status == 0 && i < found.gl_pathc; i++) {
        char *copy = strdup(found.gl_pathv[i]);
        st = copy != NULL ? append_client_file_if_new(l, p, copy) : MI_ENOMEM;
    }
    globfree(&found);
    buf_close(&pattern);
    return st;
}

int client_files_find(struct client_files *l)
{
    bool failed = false;
    for (size_t i = 0; i < MI_COUNT(places) && !failed; i++) {
        const struct place *p = &places[i];
        char *path = client_file_path(p);
        failed = path == NULL && errno == ENOMEM;
        if (path != NULL && p->below != NULL && strchr(p->below, '*') != NULL) {
            failed = append_files_matching(l, p, path, strlen(p->below)) < 0;
            free(path);
        } else {
            failed |= append_client_file_if_new(l, p, path) < 0;
        }
    }
    return failed ? MI_ENOMEM : 0;
}

/* Whether the end of the path matches the pattern. */
static bool path_ends_with_pattern(const char *path, const char *pattern)
{
    for (; path != NULL; path = strchr(path, '/')) {
        path += *path == '/';
        if (fnmatch(pattern, path, FNM_PATHNAME | FNM_PERIOD) == 0)
            return true;
    }
    return false;
}

int client_files_add(struct client_files *l, const char *path)
{
    const struct place *best = NULL;
    /* `path` may be relative, and lack directory names of the pattern: so its resolved path is
     * compared as well */
    char *real = realpath(path, NULL);
    for (size_t i = 0; i < MI_COUNT(places); i++)
        if (places[i].variable == NULL &&
            (path_ends_with_pattern(path, places[i].below) ||
             path_ends_with_pattern(real, places[i].below)) &&
            (best == NULL || strlen(places[i].below) > strlen(best->below)))
            best = &places[i];
    free(real);
    bool edited = best == NULL || best->kind == CLIENT_FILE_UNUSED;
    return clients_append(l, best != NULL ? best->client : "-",
                          edited ? CLIENT_FILE_EDITED : best->kind, strdup(path));
}

void client_files_close(struct client_files *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->file[i].path);
    free(l->file);
    *l = (struct client_files){0};
}
