#include "cli/wrap/mcpfile/collect.h"

#include "base/grow.h"
#include "cli/wrap/mcpfile/string.h"

#include <stdlib.h>

static bool level_is(struct mcpfile_scan *s, size_t level, const char *text)
{
    struct buf b = {0};
    if (level >= s->depth || s->level[level].n == 0)
        return false;
    mcpfile_string(s->f, s->level[level], &b);
    bool equal = !b.failed && slice_is(buf_slice(&b), text);
    s->no_memory |= b.failed;
    buf_close(&b);
    return equal;
}

/* The level of the server name if the path is a member of a server, else 0. */
static size_t name_level(struct mcpfile_scan *s)
{
    static const char *const places[][4] = {
        {"mcpServers"}, {"servers"}, {"mcp", "servers"}, {"projects", "*", "mcpServers"}};
    static const char *const toml[4] = {"mcp_servers"};
    size_t n = s->f->toml ? 1 : MI_COUNT(places);
    if (s->depth < 3 || s->depth > MCPFILE_LEVELS)
        return 0;
    for (size_t i = 0; i < n; i++) {
        const char *const *place = s->f->toml ? toml : places[i];
        size_t k = 0;
        while (k < s->depth && place[k] != NULL && (place[k][0] == '*' || level_is(s, k, place[k])))
            k++;
        if (place[k] == NULL && s->depth == k + 2 && s->level[k].n > 0)
            return k;
    }
    return 0;
}

bool mcpfile_is_args(struct mcpfile_scan *s)
{
    return name_level(s) > 0 && level_is(s, s->depth - 1, "args");
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

static char *level_text(struct mcpfile_scan *s, size_t level)
{
    struct buf b = {0};
    mcpfile_string(s->f, s->level[level], &b);
    char *text = b.failed ? NULL : strdup(buf_str(&b));
    s->no_memory |= text == NULL;
    buf_close(&b);
    return text;
}

static struct mcpfile_server *find_or_add_server(struct mcpfile_scan *s, size_t level)
{
    struct mcpfile *f = s->f;
    char *name = level_text(s, level);
    if (name == NULL)
        return NULL;
    for (size_t i = f->servers; i-- > 0;) {
        if (f->server[i].object == s->object && strcmp(f->server[i].name, name) == 0) {
            free(name);
            return &f->server[i];
        }
    }
    if (!GROW(f->server, f->servers, f->servers_cap)) {
        free(name);
        s->no_memory = true;
        return NULL;
    }
    struct mcpfile_server *new = &f->server[f->servers++];
    *new = (struct mcpfile_server){.name = name, .object = s->object};
    if (level == 3) /* projects.PATH.mcpServers.NAME */
        new->project = level_text(s, 1);
    return new;
}

static void note_command(struct mcpfile_server *server, const struct mcpfile_value *v)
{
    if (server->command_key.n > 0)
        server->odd = "it has two members `command`";
    else if (v->type != MCPFILE_STRING)
        server->odd = "its `command` is not a string";
    server->command = v->type == MCPFILE_STRING ? v->token : (struct span){0};
    server->command_key = v->key;
    server->command_end = v->end;
    server->on_line = v->on_line;
}

static void note_args(struct mcpfile_server *server, const struct mcpfile_value *v)
{
    if (server->args_key.n > 0)
        server->odd = "it has two members `args`";
    else if (v->type != MCPFILE_ARRAY || v->mixed)
        server->odd = "its `args` is not an array of strings";
    server->args = v->token;
    server->args_key = v->key;
    server->first_arg = v->first_arg;
    server->args_n = v->args_n;
}

void mcpfile_collect(struct mcpfile_scan *s, const struct mcpfile_value *v)
{
    static const char *const urls[] = {"url", "serverUrl", "httpUrl"};
    size_t level = name_level(s);
    size_t key = s->depth - 1;
    if (level == 0)
        return;
    bool command = level_is(s, key, "command");
    bool args = !command && level_is(s, key, "args");
    bool url = false;
    for (size_t i = 0; !command && !args && i < MI_COUNT(urls); i++)
        url |= level_is(s, key, urls[i]);
    struct mcpfile_server *server = command || args || url ? find_or_add_server(s, level) : NULL;
    if (server == NULL)
        return;
    if (command)
        note_command(server, v);
    else if (args)
        note_args(server, v);
    else
        server->remote = true;
}
