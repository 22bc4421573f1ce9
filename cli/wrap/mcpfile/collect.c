#include "cli/wrap/mcpfile/collect.h"

#include "base/grow.h"
#include "cli/wrap/mcpfile/string.h"

#include <stdlib.h>

#define PATH_MAX_KEYS 4

/* Paths of the objects that contain servers. Each key in such an object is the name of a server. If
 * the path leads to a list instead, each element has a member `name`. "*" matches any key. */
static const struct place {
    enum mcpfile_format format;
    const char *path[PATH_MAX_KEYS + 1];
} places[] = {
    {MCPFILE_JSON, {"mcpServers"}},
    {MCPFILE_JSON, {"servers"}}, /* mcp.json of VS Code */
    /* settings.json of VS Code; the clients opencode (version 2) and OpenClaw */
    {MCPFILE_JSON, {"mcp", "servers"}},
    {MCPFILE_JSON, {"mcp"}},                         /* opencode (version 1) */
    {MCPFILE_JSON, {"projects", "*", "mcpServers"}}, /* Claude Code */
    {MCPFILE_JSON, {"context_servers"}},             /* Zed */
    /* the client Amp: this is one key, whose name contains a dot */
    {MCPFILE_JSON, {"amp.mcpServers"}},
    {MCPFILE_JSON, {"customizations", "vscode", "mcp", "servers"}}, /* devcontainer.json */
    /* the clients Codex and Vibe; in the file of Vibe the servers are a list */
    {MCPFILE_TOML, {"mcp_servers"}},
    {MCPFILE_YAML, {"extensions"}}, /* Goose */
    /* the client named Continue, in whose file the servers are a list */
    {MCPFILE_YAML, {"mcpServers"}},
    {MCPFILE_YAML, {"mcp_servers"}}, /* Hermes */
};

#define NO_LEVEL SIZE_MAX
/* maximum number of servers in a file, because each server is compared with all others */
#define SERVERS_MAX 10000

enum role {
    ROLE_NONE,
    ROLE_NAME, /* name of a server that is an element of a list */
    ROLE_COMMAND,
    ROLE_ARGS,
    ROLE_URL,
    ROLE_TYPE,
    ROLE_HEADERS,
    ROLE_ENV,
    ROLE_LOGIN,
    ROLE_LIMIT, /* ROLE_LIMIT + i: the time limit i of enum mcpfile_limit */
};

#define J (1u << MCPFILE_JSON)
#define T (1u << MCPFILE_TOML)
#define Y (1u << MCPFILE_YAML)
/* The members of a server. ROLE_LOGIN: this member says how the client signs in at a URL.
 * A server that is started as a command cannot sign in like this. */
static const struct {
    const char *name;
    unsigned formats; /* formats that have the member, as bits: 1 << enum mcpfile_format */
    int role;         /* enum role */
} members[] = {
    {"name", J | T | Y, ROLE_NAME},
    {"command", J | T | Y, ROLE_COMMAND},
    {"cmd", Y, ROLE_COMMAND},
    {"args", J | T | Y, ROLE_ARGS},
    {"url", J | T | Y, ROLE_URL},
    {"serverUrl", J, ROLE_URL},
    {"httpUrl", J, ROLE_URL},
    {"baseUrl", J, ROLE_URL},
    {"uri", Y, ROLE_URL},
    {"type", J | T | Y, ROLE_TYPE},
    {"transport", J | T | Y, ROLE_TYPE},
    {"transportType", J, ROLE_TYPE},
    {"headers", J | T | Y, ROLE_HEADERS},
    {"environment", J, ROLE_ENV},
    {"auth", J | T | Y, ROLE_LOGIN},
    {"authProviderType", J, ROLE_LOGIN},
    {"headersHelper", J, ROLE_LOGIN},
    {"oauth", J | T | Y, ROLE_LOGIN},
    {"apiKey", Y, ROLE_LOGIN},
    {"requestOptions", Y, ROLE_LOGIN},
    {"api_key_env", T, ROLE_LOGIN},
    {"bearer_token_env_var", T, ROLE_LOGIN},
    {"env_http_headers", T, ROLE_LOGIN},
    {"http_headers", T, ROLE_LOGIN},
    {"timeout", J | T | Y, ROLE_LIMIT + MCPFILE_TIMEOUT},
    {"tool_timeout_sec", J | T | Y, ROLE_LIMIT + MCPFILE_TOOL_TIMEOUT_SEC},
    {"startup_timeout_sec", J | T | Y, ROLE_LIMIT + MCPFILE_STARTUP_TIMEOUT_SEC},
    {"startup_timeout_ms", J | T | Y, ROLE_LIMIT + MCPFILE_STARTUP_TIMEOUT_MS},
    {"connect_timeout", Y, ROLE_LIMIT + MCPFILE_CONNECT_TIMEOUT},
    {"connectionTimeout", Y, ROLE_LIMIT + MCPFILE_CONNECTION_TIMEOUT},
    {"connectionTimeoutMs", J, ROLE_LIMIT + MCPFILE_CONNECTION_TIMEOUT},
    {"requestTimeoutMs", J, ROLE_LIMIT + MCPFILE_REQUEST_TIMEOUT},
};
/* Members of an object `timeout`. */
static const struct {
    const char *name;
    enum mcpfile_limit limit;
} timeouts[] = {
    {"startup", MCPFILE_TIMEOUT_STARTUP},
    {"request", MCPFILE_TIMEOUT_REQUEST},
};
#undef J
#undef T
#undef Y

/* Whether the key at this level of the current path is `text`. */
static bool level_key_equals(struct mcpfile_scan *s, size_t level, const char *text)
{
    struct buf b = {0};
    if (level >= s->depth || s->level[level].n == 0)
        return false;
    mcpfile_append_string(s->f, s->level[level], &b);
    bool equal = !b.failed && slice_is(buf_slice(&b), text);
    s->no_memory |= b.failed;
    buf_close(&b);
    return equal;
}

/* If the current path names a value that is `below` levels below a server, returns the level of the
 * server (its name, or its list element). Otherwise returns NO_LEVEL. */
static size_t find_path_level_of_server(struct mcpfile_scan *s, size_t below)
{
    if (s->depth < 1 + below || s->depth > MCPFILE_LEVELS)
        return NO_LEVEL;
    if (s->bare)
        return s->depth == 1 + below ? 0 : NO_LEVEL;
    for (size_t i = 0; i < MI_COUNT(places); i++) {
        const char *const *path = places[i].path;
        size_t k = 0;
        if (places[i].format != s->f->format)
            continue;
        while (path[k] != NULL && k < s->depth &&
               (path[k][0] == '*' || level_key_equals(s, k, path[k])))
            k++;
        if (path[k] == NULL && s->depth == k + 1 + below)
            return k;
    }
    return NO_LEVEL;
}

static int find_role_of_key_at_level(struct mcpfile_scan *s, size_t level)
{
    for (size_t i = 0; i < MI_COUNT(members); i++)
        if ((members[i].formats >> s->f->format & 1) != 0 &&
            level_key_equals(s, level, members[i].name))
            return members[i].role;
    return ROLE_NONE;
}

bool mcpfile_path_is_server(struct mcpfile_scan *s)
{
    return find_path_level_of_server(s, 0) != NO_LEVEL;
}

bool mcpfile_path_is_args(struct mcpfile_scan *s)
{
    if (find_path_level_of_server(s, 1) == NO_LEVEL)
        return false;
    int role = find_role_of_key_at_level(s, s->depth - 1);
    return role == ROLE_ARGS || role == ROLE_COMMAND;
}

void mcpfile_add_arg(struct mcpfile_scan *s, struct span token)
{
    struct mcpfile *f = s->f;
    if (!GROW(f->arg, f->args, f->args_cap)) {
        s->no_memory = true;
        return;
    }
    f->arg[f->args++] = token;
}

static void add_header(struct mcpfile_scan *s, const struct mcpfile_value *v)
{
    struct mcpfile *f = s->f;
    if (!GROW(f->header, f->headers, f->headers_cap)) {
        s->no_memory = true;
        return;
    }
    struct span value = v->type == MCPFILE_STRING ? v->token : (struct span){0};
    f->header[f->headers++] = (struct mcpfile_header){v->key, value};
}

static char *copy_text_of_path_level(struct mcpfile_scan *s, size_t level)
{
    struct buf b = {0};
    mcpfile_append_string(s->f, s->level[level], &b);
    char *text = b.failed ? NULL : strdup(buf_str(&b));
    s->no_memory |= text == NULL;
    buf_close(&b);
    return text;
}

/* Returns the server at this level of the path; adds the server if it is new. An element of a list
 * is found by the offset of its object. Any other server is also found by its name, because a TOML
 * table has no such offset. */
static struct mcpfile_server *find_or_add_server(struct mcpfile_scan *s, size_t level)
{
    struct mcpfile *f = s->f;
    bool element = s->level[level].n == 0;
    if (s->why != NULL)
        return NULL;
    char *name = element ? strdup("-") : copy_text_of_path_level(s, level);
    s->no_memory |= name == NULL;
    if (name == NULL)
        return NULL;
    for (size_t i = f->servers; i-- > 0;) {
        if (f->server[i].object == s->object && (element || strcmp(f->server[i].name, name) == 0)) {
            free(name);
            return &f->server[i];
        }
    }
    if (f->servers == SERVERS_MAX) {
        free(name);
        mcpfile_fail(s, f->text.p + (element ? s->object : s->level[level].at), "too many servers");
        return NULL;
    }
    if (!GROW(f->server, f->servers, f->servers_cap)) {
        free(name);
        s->no_memory = true;
        return NULL;
    }
    struct mcpfile_server *new = &f->server[f->servers++];
    *new = (struct mcpfile_server){.name = name, .object = s->object, .unnamed = element};
    /* the current path is projects.PATH.mcpServers.NAME */
    if (level == 3 && level_key_equals(s, 0, "projects"))
        new->project = copy_text_of_path_level(s, 1);
    return new;
}

/* Returns the time limit that the last key of the path sets in an object `timeout`; MCPFILE_NLIMITS
 * if the key is unknown. */
static enum mcpfile_limit find_limit_of_timeout_key(struct mcpfile_scan *s)
{
    for (size_t i = 0; i < MI_COUNT(timeouts); i++)
        if (level_key_equals(s, s->depth - 1, timeouts[i].name))
            return timeouts[i].limit;
    return MCPFILE_NLIMITS;
}

/* Records a limit of all servers (opencode): `experimental.mcp_timeout`, or `mcp.timeout` as a
 * number or object. */
static void record_limit_of_all_servers(struct mcpfile_scan *s, const struct mcpfile_value *v)
{
    enum mcpfile_limit limit = MCPFILE_NLIMITS;
    if (v->type != MCPFILE_OTHER || s->f->format != MCPFILE_JSON)
        return;
    if (s->depth == 2 &&
        ((level_key_equals(s, 0, "experimental") && level_key_equals(s, 1, "mcp_timeout")) ||
         (level_key_equals(s, 0, "mcp") && level_key_equals(s, 1, "timeout"))))
        limit = MCPFILE_TIMEOUT;
    else if (s->depth == 3 && level_key_equals(s, 0, "mcp") && level_key_equals(s, 1, "timeout"))
        limit = find_limit_of_timeout_key(s);
    if (limit != MCPFILE_NLIMITS)
        s->f->limit[limit] = v->token;
}

/* Records a member. Returns false if the server has this member already. */
static bool set_server_member(struct mcpfile_member *m, const struct mcpfile_value *v)
{
    bool first = m->key.n == 0;
    *m = (struct mcpfile_member){v->key, v->token, v->end, v->on_line};
    return first;
}

static void record_server_name(struct mcpfile_scan *s, struct mcpfile_server *server,
                               const struct mcpfile_value *v)
{
    struct buf b = {0};
    /* A server in a list has a member `name`. The name of any other server is its key. */
    if (!server->unnamed || v->type != MCPFILE_STRING)
        return;
    mcpfile_append_string(s->f, v->token, &b);
    char *name = b.failed ? NULL : strdup(buf_str(&b));
    s->no_memory |= name == NULL;
    if (name != NULL) {
        free(server->name);
        server->name = name;
        server->unnamed = false;
    }
    buf_close(&b);
}

static void record_server_args(struct mcpfile_server *server, const struct mcpfile_value *v)
{
    if (server->one_array || !set_server_member(&server->args, v))
        server->odd = server->one_array ? "`command` is an array, but the server also has `args`"
                                        : "the server has two members `args`";
    else if (v->type != MCPFILE_ARRAY || v->mixed)
        server->odd = "`args` is not an array of strings";
    else if (v->uneven)
        server->odd = "the first string of `args` is not on the same line as its dash";
    server->first_arg = v->first_arg;
    server->args_n = v->args_n;
    server->dashes = v->dashes;
}

static void record_server_command(const struct mcpfile *f, struct mcpfile_server *server,
                                  const struct mcpfile_value *v)
{
    bool array = v->type == MCPFILE_ARRAY && !v->mixed && v->args_n > 0 && !v->dashes;
    if (!set_server_member(&server->command, v))
        server->odd = "the server has two members `command`";
    else if (array && server->args.key.n > 0)
        server->odd = "`command` is an array, but the server also has `args`";
    else if (v->type != MCPFILE_STRING && !array)
        server->odd = "`command` is not a string";
    if (array && server->odd == NULL) {
        server->one_array = true;
        server->command.value = f->arg[v->first_arg];
        server->first_arg = v->first_arg + 1;
        server->args_n = v->args_n - 1;
    } else if (v->type != MCPFILE_STRING) {
        server->command.value = (struct span){0};
    }
}

static void record_server_url(struct mcpfile_server *server, const struct mcpfile_value *v)
{
    if (!set_server_member(&server->url, v))
        server->remote_odd = "the server has two URLs";
    else if (v->type != MCPFILE_STRING)
        server->remote_odd = "the URL is not a string";
}

static void record_server_headers(const struct mcpfile *f, struct mcpfile_server *server,
                                  const struct mcpfile_value *v)
{
    if (!set_server_member(&server->headers, v) || v->type != MCPFILE_TABLE)
        server->remote_odd = "`headers` is not one object";
    server->first_header = v->first_header;
    server->headers_n = v->headers_n;
    for (size_t i = 0; i < v->headers_n; i++)
        if (f->header[v->first_header + i].value.n == 0)
            server->remote_odd = "a value in `headers` is not a string";
}

/* Records a member of the server whose name or list element is at this level of the path. */
static void record_server_member(struct mcpfile_scan *s, size_t level, int role,
                                 const struct mcpfile_value *v)
{
    struct mcpfile_server *server = find_or_add_server(s, level);
    if (server == NULL)
        return;
    switch (role) {
    case ROLE_NONE:
        break;
    case ROLE_NAME:
        record_server_name(s, server, v);
        break;
    case ROLE_COMMAND:
        record_server_command(s->f, server, v);
        break;
    case ROLE_ARGS:
        record_server_args(server, v);
        break;
    case ROLE_URL:
        record_server_url(server, v);
        break;
    case ROLE_TYPE:
        if (!set_server_member(&server->type, v) || v->type != MCPFILE_STRING)
            server->remote_odd = "the server states its type more than once, or not as a string";
        else if (level == 2 && level_key_equals(s, 0, "mcp") &&
                 level_key_equals(s, level + 1, "transport"))
            server->remote_odd = "OpenClaw has no `transport` for a command; remove this member";
        break;
    case ROLE_HEADERS:
        record_server_headers(s->f, server, v);
        break;
    case ROLE_ENV:
        (void)set_server_member(&server->env, v);
        break;
    case ROLE_LOGIN:
        server->remote_odd = "the server has login settings that mcp-remote does not read";
        break;
    case ROLE_LIMIT + MCPFILE_TIMEOUT:
        server->limit[MCPFILE_TIMEOUT] = v->token;
        for (size_t i = 0; i < MI_COUNT(timeouts); i++) {
            server->limit[timeouts[i].limit] = s->limit[timeouts[i].limit];
            s->limit[timeouts[i].limit] = (struct span){0};
        }
        break;
    default:
        server->limit[role - ROLE_LIMIT] = v->token;
        break;
    }
}

void mcpfile_collect(struct mcpfile_scan *s, const struct mcpfile_value *v)
{
    record_limit_of_all_servers(s, v);
    s->has_list |= s->depth == 1 && level_key_equals(s, 0, "mcpServers");
    size_t level = find_path_level_of_server(s, 2);
    int role = level != NO_LEVEL ? find_role_of_key_at_level(s, level + 1) : ROLE_NONE;
    if (role == ROLE_HEADERS && s->f->format == MCPFILE_TOML && v->on_line) {
        /* The headers are a TOML table ([mcp_servers.headers] after [[mcp_servers]]) or lines
         * `headers.NAME =`. Headers on several lines cannot be replaced by one member. */
        struct mcpfile_server *server = find_or_add_server(s, level);
        if (server != NULL)
            server->remote_odd = "`headers` are not in braces";
    } else if (role == ROLE_HEADERS) {
        add_header(s, v);
    } else if (role == ROLE_LOGIN && s->f->format == MCPFILE_TOML) {
        record_server_member(s, level, role, v); /* in [mcp_servers.NAME.http_headers] */
    } else if (role == ROLE_LIMIT + MCPFILE_TIMEOUT &&
               find_limit_of_timeout_key(s) != MCPFILE_NLIMITS) {
        s->limit[find_limit_of_timeout_key(s)] = v->token;
    }
    level = find_path_level_of_server(s, 1);
    role = level != NO_LEVEL ? find_role_of_key_at_level(s, s->depth - 1) : ROLE_NONE;
    /* The table `mcp.servers.command` is a server with the name `command`, not a command. */
    bool is_server = v->type == MCPFILE_TABLE && level_key_equals(s, 0, "mcp") &&
                     level_key_equals(s, 1, "servers") && level == 1;
    if (role != ROLE_NONE && !is_server)
        record_server_member(s, level, role, v);
}
